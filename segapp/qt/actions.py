"""Actions: the table of all commands, with icons, shortcuts and help."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QColor,
    QIcon,
    QImage,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QTextEdit,
    QToolButton,
    QWidget,
)

from segapp.io.desktop import ASSETS
from segapp.model.validation import SegappError
from segapp.qt.i18n import LANGUAGES, translated_table

if TYPE_CHECKING:
    from collections.abc import Iterator


# A command has two lines: "name | text | shortcut | icon | group", and its help. A shortcut in
# angle brackets is a standard key of Qt. Commands of a group are exclusive; "check" is no group,
# but a command that is on or off by itself.
COMMANDS = """
open | &Open… | <Open> | open-image
    Open an image or a project
open_folder | Open &Folder… | Ctrl+Shift+O | open-folder
    Work through all images of a folder
previous | &Previous Image | PgUp | previous
    Go to the previous image of the folder
next | &Next Image | PgDown | next
    Go to the next image of the folder
save | &Save Project | <Save> | save
    Save strokes and settings as a project
save_as | Save Project &As… | Ctrl+Shift+S
    Save the project under another name
export | &Export… | Ctrl+E | export
    Write the result as mask, cut-out, COCO, …
save_model | Save Learnt &Model…
    Save the learnt model, to apply it to other images
apply_model | Appl&y Model…
    Segment this image with a saved model
quit | &Quit | Ctrl+Q
    Close the window

done | &Done | D | | check
    Flag this image as done, or remove the flag
next_undone | Next &Unfinished | Shift+PgDown
    Go to the next unfinished image
carry_over | &Reuse from Previous Image | Ctrl+Shift+K | | check
    Segment each image without strokes by what was learnt on the previous one
apply_to_undone | &Apply to All Unfinished
    Segment all unfinished images without strokes by what was learnt here
next_useful | Mo&st Useful Image | Ctrl+PgDown
    Go to the unfinished image from which the folder's model would learn most
sort_useful | &List Most Useful First | | | check
    List unfinished images in the order in which the folder's model would learn from them
review | Find &Mistakes…
    List areas of the finished images of which the others suggest another class
find_similar | Find More Li&ke This | Ctrl+F
    List the images that have something like the object under the pointer
share_classes | Use These Classes in the &Folder | Ctrl+Shift+L
    Give all images of the folder these classes
take_classes | Use &the Folder's Classes
    Give this image the classes of its folder
import_classes | &Import Class List…
    Read classes of segapp, labelme (labels.txt) or CVAT (JSON)
export_folder | E&xport Folder | Ctrl+Shift+E
    Write all images of the folder as COCO, YOLO, Pascal VOC, masks, …

play | &Play | Ctrl+Space | play | check
    Show the pages of the stack one after the other
next_time | &Next Point of Time | Alt+PgDown
    Go to the same slice at the next point of time
previous_time | P&revious Point of Time | Alt+PgUp
    Go to the same slice at the previous point of time
propagate | Propagate to &All Pages | Ctrl+G | propagate
    Carry the marks of all pages to the pages without marks
propagate_next | Propagate to Next &Marked Page
    Carry the marks to the pages from here to the next one with marks
propagate_sure | Propagate Until &Unsure
    Carry the marks on until a result is unsure
undo_propagation | Undo Propa&gation
    Take the last propagation back on all pages
unsure_page | Least &Certain Page | Ctrl+Shift+G
    Go to the page whose result is least certain, to correct it
interpolate | &Interpolate Slices
    Fill the pages between two marked ones by the distance to their boundaries
project_max | Ma&ximum Projection
    Show the brightest value of all pages at each pixel
project_mean | M&ean Projection
    Show the mean of all pages
export_stack | Expor&t Stack…
    Write labels, objects, tracks and a film of all pages

undo | &Undo | <Undo> | undo
    Revert the last edit
redo | &Redo | Ctrl+Shift+Z | redo
    Repeat the reverted edit
clear | &Clear Strokes | Ctrl+Del | clear
    Remove all strokes (undo brings them back)
import_strokes | &Import Strokes…
    Read strokes from a palette PNG: 0 nothing, 1 first class, 2 second class, …
copy_picture | C&opy Image | Ctrl+Alt+C
    Copy the image to the clipboard
copy_mask | Copy &Mask | <Copy> | copy
    Copy the black and white mask to the clipboard
copy_cutout | Copy Cu&t-Out | Ctrl+Shift+C
    Copy the cut-out object to the clipboard
paste | &Paste Image | <Paste> | paste
    Open the image, or the file, from the clipboard

brush | &Brush | B | brush | tool
    Paint: each mouse button has its class, as the class list shows
eraser | &Eraser | E | eraser | tool
    Erase strokes where you paint
hand | &Hand | M | hand | tool
    Move the image (or hold Space, or the middle button, at any time)
larger | &Larger Brush | ]
    Make the brush larger (Ctrl+wheel)
smaller | &Smaller Brush | [
    Make the brush smaller (Ctrl+wheel)
swap | S&wap Classes | X | swap
    Exchange the classes of left and right button
keep_others | &Keep Other Classes | K | | check
    Paint around what other classes have marked, instead of over it
add_class | &Add Class | Ctrl+Shift+N | add
    Add another class
rename_class | &Rename Class… | F2 | rename
    Give the chosen class another name
recolour_class | Class &Colour…
    Give the chosen class another colour
background_class | Class &Is Background
    Make the chosen class the background: no object in exported files
class_up | &Move Class Up | Alt+Up | up
    Move the chosen class up the list, with its strokes
class_down | Mo&ve Class Down | Alt+Down | down
    Move the chosen class down the list, with its strokes
delete_class | &Delete Class | | delete
    Delete the chosen class with its strokes

line | Straight &Line | L | line | tool
    Paint a line from where you press to where you release
box | Bo&x | Shift+B | box | tool
    Mark a box from corner to corner
lasso | L&asso | A | lasso | tool
    Mark everything inside the drawn line
polygon | &Polygon | P | polygon | tool
    Mark a polygon: click each corner, double-click or Return ends
around_box | Box Aro&und the Object | Shift+O | around_box | tool
    Everything outside the box is background, its middle the object
around | Lasso Aroun&d the Object | O | around | tool
    Everything outside is background, the middle the object
fill | F&ill | F | fill | tool
    Assign the clicked region to a class
propose | &Outline Object under the Pointer | |  | check
    Outline the object that a click would take: before the first stroke, and while Q is held
explain | E&xplain a Pixel | Shift+W | explain | tool
    Show why the clicked pixel has its class: strokes glow by their share (or hold W)

new_object | &New Object | I | new_object
    Let the next stroke begin another object of the left button's class
select_object | &Select Objects | V | select_object | tool
    Click an object to choose it and go on painting it; Shift adds to the choice
cut_object | C&ut Objects | C | cut_object | tool
    Draw a line that cuts objects apart; with the right button, one that joins them
split_class | Cut at N&ecks | Shift+C | | check
    Propose cuts where objects of this class touch: at narrow necks, and at edges of the image
accept_objects | &Accept Proposals | Shift+I
    Make the proposed objects of this class lasting ones, each with its number
join_objects | &Join Objects | J | join
    Make the chosen objects one, also where their parts do not touch
rename_object | &Rename Object… | Shift+F2
    Give the chosen object a name
move_object | &Move to the Class in Use | T
    Choose a class by its digit, then give it the chosen objects
crowd_object | &Crowd | G | | check
    The chosen object stands for many that are not told apart
occluded_object | &Occluded | Shift+G | | check
    Something hides a part of the chosen object
delete_object | &Delete Object | Shift+Del | delete
    Retouch the chosen objects as background; similar objects stay

retouch | Re&touch the Result | R | retouch | check
    Paint over the result itself: nothing is learnt from it, and later strokes do not change it
lock_class | L&ock Class | Ctrl+K
    Keep the left button's class unchanged, whatever is learnt later
lock_part | Lock Part u&nder the Pointer | Shift+K
    Keep the part under the pointer unchanged, whatever is learnt later
drop_retouches | Drop Reto&uches and Locks
    Show the result as it was learnt
load_truth | Compare with &Truth…
    Show the IoU of each result with a mask that is known to be right
refine_edge | Refine &Hair and Fur | Shift+R | | check
    Paint over hair: there the soft edge takes in all it finds; the right button takes it back
drop_hair | &Drop Painted Hair
    Remove all that is painted as hair
import_mask | Import Mas&k…
    Start from a mask of another program: black and white, classes, COCO or LabelMe

live | &Live Update | Ctrl+L | live | check
    Update after every stroke
update | &Update Now | F5 | update
    Learn from the strokes as they are
learn_anew | Relearn from &All Strokes | Ctrl+F5
    Learn from all strokes at once instead of one after the other
stop | &Stop | Shift+F5 | stop
    Stop learning and keep what is shown
spot | &Go to Least Certain Spot | N | spot
    Go to the spot where the result is least certain
mark_spot | &Mark the Least Certain Spot | |  | check
    Ring the spot where a stroke helps most

view_overlay | &Overlay | Ctrl+1 | view-overlay | view
    The classes' colours over the image
view_outline | O&utline | Ctrl+2 | view-outline | view
    The outline of each class
view_mask | &Mask | Ctrl+3 | view-mask | view
    Black and white, or the classes' colours
view_cut-out | &Cut-Out | Ctrl+4 | view-cutout | view
    Everything but the background, with the edge and the background of exports
view_confidence | Con&fidence | Ctrl+5 | view-confidence | view
    Dark where the result is uncertain, bright where it is certain
view_codes | &Hash Codes | Ctrl+6 | view-codes | view
    A colour for each hash code
view_components | What the E&ncoder Sees | Ctrl+7 | | view
    Areas that are similar to the encoder have similar colours
show_strokes | Show &Strokes | S | | check
    Show or hide the strokes
show_scale_bar | Show Scale &Bar | |  | check
    Show a bar of a round length where the size of a pixel is known
hide_answer | Hi&de Result | Shift+H | | check
    Show the image alone (or hold H)
levels | Le&vels and Channels… | Ctrl+Shift+V
    Choose black point, white point and the channels to show
zoom_in | Zoom &In | <ZoomIn> | zoom-in
    Zoom in
zoom_out | &Zoom Out | <ZoomOut> | zoom-out
    Zoom out
fit | Fi&t in Window | Ctrl+0 | fit
    Show the whole image
actual_size | &Actual Size | Ctrl+Alt+0 | actual-size
    One image pixel on one screen pixel
hide_panels | Hide All &Panels | F9 | | check
    Give the image all the room (or Tab while you paint with mouse or pen)
full_screen | Full Sc&reen | F11 | | check
    Use the whole screen
theme_system | As the &System | |  | theme
    Follow the system's light or dark theme
theme_light | &Light | |  | theme
    Dark text on a light background
theme_dark | &Dark | |  | theme
    Light text on a dark background
language_system | As the &System | |  | language
    The window's language follows the system from the next start on

guide | &Guide
    How to use the program, step by step
shortcuts | &Shortcuts | F1 | help
    All keys and what the mouse does
problem | Report a &Problem…
    Collect versions and the log as a text; nothing is sent
about | &About
    Version and purpose of this program
"""


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table; texts are translated."""

    name: str
    text: str
    tip: str
    keys: str | QKeySequence.StandardKey | None = None
    icon: str | None = None
    group: str | None = None
    checkable: bool = False


def without_mnemonic(text: str) -> str:
    """Return a menu text without its mnemonic, as in "&Open…" or "打开(&O)…"."""
    return re.sub(r"\(&.\)|&", "", text).rstrip("…")


def all_commands() -> Iterator[Command]:
    """Yield all commands in the order of the menus."""
    for cells, tip in translated_table(COMMANDS):
        name, text, keys, icon, group = cells + [""] * (5 - len(cells))
        yield Command(
            name,
            text,
            tip,
            QKeySequence.StandardKey[keys[1:-1]] if keys.startswith("<") else keys or None,
            icon or None,
            None if group == "check" else group or None,
            checkable=bool(group),
        )
        if name == "language_system":
            tip = QCoreApplication.translate(
                "Actions", "The window's language from the next start on"
            )
            for language, title in LANGUAGES.items():
                name = f"language_{language}"
                yield Command(name, title, tip, group="language", checkable=True)


class Segmented(QFrame):
    """A row of exclusive buttons in one frame, styled by its object name."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("segmented")
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.group = QButtonGroup(self)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(1, 1, 1, 1)
        self._row.setSpacing(0)

    def add_action(self, action: QAction) -> QToolButton:
        """Add a button for a command of an exclusive group."""
        button = QToolButton()
        button.setDefaultAction(action)
        self._add(button, without_mnemonic(action.text()))
        return button

    def add_choice(self, text: str, tip: str, number: int) -> QToolButton:
        """Add a button with a number in `group`."""
        button = QToolButton()
        button.setText(text)
        button.setToolTip(tip)
        button.setCheckable(True)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.group.addButton(button, number)
        self._add(button, text)
        return button

    def _add(self, button: QToolButton, name: str) -> None:
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(name)
        self._row.addWidget(button)


_FIELDS = (QLineEdit, QTextEdit, QAbstractSpinBox)
_COMMANDING = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)
# Keys that edit text even with Ctrl; Qt's fields do not claim all of them.
_EDITING = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Left, Qt.Key.Key_Right)


class TypingGuard(QObject):
    """An event filter that keeps shortcuts from the focused text field."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow)

    def _follow(self, before: QWidget | None, now: QWidget | None) -> None:
        if isinstance(before, _FIELDS):
            before.removeEventFilter(self)
        if isinstance(now, _FIELDS):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Claim the keys that type or edit before a shortcut does."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and (event.key() in _EDITING or not event.modifiers() & _COMMANDING or _writes(event))
        ):
            event.accept()
            return True
        return super().eventFilter(watched, event)


class HeldKey(QObject):
    """A letter that acts while it is held, unless the focused widget takes letters."""

    held = Signal(bool)

    def __init__(self, key: Qt.Key, parent: QObject) -> None:
        super().__init__(parent)
        self._key = key
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow)

    def _follow(self, before: QWidget | None, now: QWidget | None) -> None:
        if before is not None:
            before.removeEventFilter(self)
            self.held.emit(False)  # noqa: FBT003 - a Qt signal
        if isinstance(now, QAbstractSpinBox) or (now is not None and not isinstance(now, _FIELDS)):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the key from the focused widget, as a list would search for it."""
        kinds = (QEvent.Type.KeyPress, QEvent.Type.KeyRelease)
        if not isinstance(event, QKeyEvent) or event.type() not in kinds:
            return super().eventFilter(watched, event)
        if event.key() != self._key or event.modifiers() & _COMMANDING:
            return super().eventFilter(watched, event)
        if not event.isAutoRepeat():
            self.held.emit(event.type() == QEvent.Type.KeyPress)
        return True


def _writes(event: QKeyEvent) -> bool:
    """Return whether a key types a character by AltGr, which is Ctrl+Alt on Windows."""
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    text = event.text().strip()
    return event.modifiers() & both == both and bool(text) and text.isprintable()


# Sizes of menus and tool bars on screens of scale 1 and 2.
_SIZES = (16, 20, 32, 40)


@cache
def _source(name: str) -> str:
    return (ASSETS / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def icon(name: str, palette: QPalette) -> QIcon:
    """Return an icon in the palette's text colour, faded when disabled."""
    made = QIcon()
    for mode, group in (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Normal),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    ):
        colour = palette.color(group, QPalette.ColorRole.ButtonText)
        for size in _SIZES:
            made.addPixmap(pixmap(name, size, colour), mode)
    return made


def pixmap(name: str, size: int, colour: QColor) -> QPixmap:
    """Render an icon in a size and colour."""
    return QPixmap.fromImage(_image(name, size, colour.name()))


@lru_cache(maxsize=1)  # the sizes of an icon are rendered in a row
def _renderer(name: str, colour: str) -> QSvgRenderer:
    source = _source(name).replace("currentColor", colour)
    return QSvgRenderer(QByteArray(source.encode("utf-8")))


@cache
def _image(name: str, size: int, colour: str) -> QImage:
    drawn = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    _renderer(name, colour).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return drawn


def application_icon() -> QIcon:
    """Return the icon of the application."""
    made = QIcon()
    for size in (16, 24, 32, 48, 64, 128, 256):
        made.addPixmap(pixmap("../icon", size, QColor()))
    return made


class Actions(QObject):
    """The commands as `QAction` objects, found by name."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._commands: dict[str, Command] = {}
        self._actions: dict[str, QAction] = {}
        self._groups: dict[str, QActionGroup] = {}
        for command in all_commands():
            self._add(command)

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    def _add(self, command: Command) -> None:
        action = QAction(command.text, self)
        action.setObjectName(command.name)
        action.setIconText(without_mnemonic(command.text))  # on buttons
        action.setCheckable(command.checkable)
        if command.group is not None:
            group = self._groups.setdefault(command.group, QActionGroup(self))
            group.addAction(action)
        self._commands[command.name] = command
        self._actions[command.name] = action
        self.set_keys(command.name, QKeySequence(command.keys or ""))

    def set_keys(self, name: str, keys: QKeySequence) -> None:
        """Set a command's shortcut, also in its tool tip."""
        self._actions[name].setShortcut(keys)
        self.explain(name)

    def explain(self, name: str, reason: str = "") -> None:
        """Set a command's tool tip: its help, or the reason why it is disabled."""
        action, tip = self._actions[name], reason or self._commands[name].tip
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        title = f"{self.name_of(name)} ({keys})" if keys else self.name_of(name)
        action.setToolTip(f"{title}\n{tip}")
        action.setStatusTip(tip)

    def name_of(self, name: str) -> str:
        """Return a command's text without its mnemonic."""
        return without_mnemonic(self._commands[name].text)

    def colour_icons(self, palette: QPalette) -> None:
        """Render the icons in the palette's colours."""
        for name, command in self._commands.items():
            if command.icon is not None:
                self._actions[name].setIcon(icon(command.icon, palette))

    def enable(self, *names: str, when: bool) -> None:
        """Enable several commands, or disable them."""
        for name in names:
            self._actions[name].setEnabled(when)


_TITLE = "segapp shortcuts"
_VERSION = 1
_PORTABLE = QKeySequence.SequenceFormat.PortableText


class ShortcutsError(SegappError):
    """A file is no valid file of shortcuts."""


class Shortcuts(QObject):
    """Shortcuts of the commands by name, as they are and by default."""

    changed = Signal()

    def __init__(self, actions: Actions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._defaults = {name: self.of(name) for name in actions}

    def of(self, name: str) -> str:
        """Return a command's shortcut, "Ctrl+Z" for instance, or an empty text."""
        return self._actions[name].shortcut().toString(_PORTABLE)

    def default(self, name: str) -> str:
        """Return a command's default shortcut."""
        return self._defaults[name]

    def set(self, name: str, keys: str) -> None:
        """Set a command's shortcut; an empty text removes it."""
        if keys != self.of(name):
            self._actions.set_keys(name, QKeySequence(keys, _PORTABLE))
            self.changed.emit()

    def reset(self, *names: str) -> None:
        """Reset commands, by default all, to their default shortcuts."""
        for name in names or tuple(self._defaults):
            self.set(name, self._defaults[name])

    def conflicts(self, name: str) -> tuple[str, ...]:
        """Return the names of other commands and actions with the same shortcut."""
        keys = self.of(name)
        if not keys:
            return ()
        others = [
            self._actions.name_of(other)
            for other in self._actions
            if other != name and self.of(other) == keys
        ]
        return (*others, *(meaning for held, meaning in _reserved_keys().items() if held == keys))

    # As text -----------------------------------------------------------------------------

    def changes(self) -> dict[str, str]:
        """Return the shortcuts that differ from the defaults."""
        return {
            name: self.of(name) for name in self._defaults if self.of(name) != self._defaults[name]
        }

    def to_text(self) -> str:
        """Return all shortcuts as the content of a file."""
        keys = {name: self.of(name) for name in self._defaults}
        return json.dumps({"format": _TITLE, "version": _VERSION, "keys": keys}, indent=1) + "\n"

    def from_text(self, text: str) -> int:
        """Set the shortcuts of a file; return the number of its unknown commands.

        An invalid file changes nothing and raises a `ShortcutsError`.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise ShortcutsError(_tr("This is not a shortcuts file: it is not JSON.")) from None
        if not isinstance(content, dict) or content.get("format") != _TITLE:
            raise ShortcutsError(
                _tr("This is not a shortcuts file: wanted “format”: “{}”.").format(_TITLE)
            )
        if content.get("version") != _VERSION:
            raise ShortcutsError(_tr("These shortcuts are from another version of the program."))
        return self.take(content.get("keys"))

    def take(self, keys: object) -> int:
        """Set shortcuts by command name; return the number of unknown names."""
        if not isinstance(keys, dict):
            raise ShortcutsError(_tr("“keys”: wanted a key for each command."))
        known = {name: text for name, text in keys.items() if name in self._defaults}
        for name, text in known.items():
            if not isinstance(text, str) or not _is_keys(text):
                raise ShortcutsError(
                    _tr("{}: wanted a key such as “Ctrl+Z”, got {!r:.60}.").format(name, text)
                )
        for name, text in known.items():
            self.set(name, text)
        return len(keys) - len(known)


def _is_keys(text: str) -> bool:
    sequence = QKeySequence(text, _PORTABLE)
    return not text or (sequence.count() == 1 and sequence.toString(_PORTABLE) == text)


def _reserved_keys() -> dict[str, str]:
    """Return the keys of the canvas and the classes, with their meanings."""
    digits = {str(n): _tr("class of the left button") for n in range(1, 10)}
    shifted = {f"Shift+{n}": _tr("class of the right button") for n in range(1, 10)}
    arrows = dict.fromkeys(("Left", "Right", "Up", "Down"), _tr("moving the brush"))
    return {
        **digits,
        **shifted,
        **arrows,
        "Space": _tr("dragging the image"),
        "H": _tr("showing the image alone"),
        "Esc": _tr("cancelling the stroke"),
        "Return": _tr("putting the brush down"),
        "Enter": _tr("putting the brush down"),
        "Tab": _tr("going to the next control, or hiding the panels while you paint"),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("Shortcuts", text)
