"""Names, explanations and example drawings of settings."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPalette, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from segapp.model.settings import FeatureGroup
from segapp.qt.i18n import translated_table

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from segapp.model.settings import Settings

# "name | label", with the explanation below, in the order of the panel.
SETTINGS = """
features | Features
    Image properties that the learner uses. Each group has its own kernels.
bits | Bits
    Length of a pixel's hash code. More bits distinguish more and take longer.
codewords | Codewords per class
    How many codes may represent one class: more for classes with varied appearance.
transductive | Learn from unmarked pixels
    Lets pixels without strokes choose their codeword while learning.
refine | Follow the edges
    Draws the outline along the image's edges, pixel by pixel.
smallest_area | Minimum region size
    Removes regions smaller than this, in pixels. 0 keeps all.
fill_holes | Fill holes
    Closes holes in an object that no stroke has marked.
smoothing | Edge smoothing
    Rounds edges by this many pixels. 0 is off.
keep_touching | Keep only marked parts
    Removes parts of an object that touch none of its strokes.
threshold | Object size
    Drag right to include more, left to include less. For two classes.
smoothness | Outline simplicity
    Higher values give simpler outlines, lower ones follow every detail.
colour_likelihood | Colour evidence
    Higher values trust a pixel's own colour, lower ones its surroundings.
unlabelled_weight | Weight of unmarked pixels
    How much an unmarked pixel counts compared with a marked one, while strokes are few.
locality | Keep distant areas unchanged
    How strongly the result is kept far from the newest stroke. 0 lets every stroke change the
    whole image.
few_strokes | Few strokes
    Up to this many strokes, unmarked pixels count fully; with more strokes they count less and
    less. 0 keeps their weight constant.
samples | Samples
    Learn from small regions of the image, or from its colours alone.
prototypes | Number of samples
    Number of regions or colours to learn from. More is finer and slower.
bandwidths | Widths of the kernels
    Sigmas of the Gaussian kernels, separated by commas; none: the paper's eleven kernels.
position_bandwidths | Widths for position
    Sigmas of the kernels on position, separated by commas; 1 is the image's longer side.
stroke_bandwidths | Widths for strokes
    Sigmas of the kernels on features that come from the strokes, separated by commas.
p | Norm of the weights (p)
    Near 1, few kernels count; higher values spread the weight over more of them.
passes | Passes
    How often learning goes over all bits, at most.
lambda1 | Cost of errors (λ₁)
    How strictly the result follows the marked pixels.
lambda2 | Codeword attraction (λ₂)
    How strongly the codewords of one class are drawn together.
seed | Seed
    Start of the random numbers: the same seed gives the same result.
"""
FEATURES = """
rgb | RGB
    Red, green and blue, as in the paper.
colour | Colour
    Colour as the eye sees it (Lab).
texture | Texture
    How much the colours vary around a pixel.
channels | All channels
    All measured values at their full depth, shown or not.
likelihood | Colours of the strokes
    How well a colour fits the strokes of each class.
nearness | Nearness to the strokes
    Distance to the strokes of each class, around the image's edges.
descriptors | Surroundings
    Colours and edges around a pixel, at three scales. An encoder takes their place.
position | Position
    Place of a pixel in the image.
"""
PRESETS = """
best | One object
    Finds the object that your strokes touch; similar areas elsewhere are left out.
alike | All similar
    Finds everything that looks like your strokes, anywhere in the image.
paper | Paper
    As in the paper: colour alone, rough edges and stray specks; for comparison.
"""


@dataclass(frozen=True, slots=True)
class SettingText:
    """Label and explanation of a setting, a feature group or a preset."""

    label: str
    tip: str


def _texts(table: str) -> dict[str, SettingText]:
    return {name: SettingText(label, tip) for (name, label), tip in translated_table(table)}


def setting_texts() -> dict[str, SettingText]:
    """Return the texts by field name, in the order of the panel."""
    return _texts(SETTINGS)


def feature_texts() -> dict[FeatureGroup, SettingText]:
    """Return the texts of the feature groups."""
    return {FeatureGroup(name): text for name, text in _texts(FEATURES).items()}


def preset_texts() -> dict[str, SettingText]:
    """Return the texts of the presets by name."""
    return _texts(PRESETS)


def flat_values(settings: Settings) -> dict[str, Any]:
    """Return all values by name, including those of the clean-up."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return values | asdict(values.pop("clean_up"))


def _example(*, value: int, drawings: str) -> tuple[int, list[str], list[str]]:
    rows = [line.split() for line in drawings.splitlines() if line.strip()]
    return value, [before for before, _ in rows], [after for _, after in rows]


# By setting: its value, and drawings before and after. "#" is the object, "o" a stroke on it.
EXAMPLES = {
    "smallest_area": _example(
        value=4,
        drawings="""
        ................    ................
        ..######........    ..######........
        .########....#..    .########.......
        .##oooo##.......    .##oooo##.......
        .########..##...    .########.......
        ..######........    ..######........
        ..........#.....    ................
        ................    ................
        """,
    ),
    "fill_holes": _example(
        value=True,
        drawings="""
        ................    ................
        ...##########...    ...##########...
        ..####...#####..    ..############..
        ..###....#####..    ..############..
        ..####..######..    ..############..
        ..#oooooooo###..    ..#oooooooo###..
        ...##########...    ...##########...
        ................    ................
        """,
    ),
    "smoothing": _example(
        value=1,
        drawings="""
        ................    ................
        ...#.####.##....    ....########....
        ..###########...    ..##########....
        ..##########....    ..###########...
        .############...    ..##########....
        ..##oooo####....    ..##oooo####....
        ...##.###.##....    ...########.....
        ................    ................
        """,
    ),
    "keep_touching": _example(
        value=True,
        drawings="""
        ................    ................
        ..#####....##...    ..#####.........
        .#######..####..    .#######........
        .##ooo##..####..    .##ooo##........
        .#######..####..    .#######........
        ..#####....##...    ..#####.........
        ................    ................
        ................    ................
        """,
    ),
}
_CELL = 4
_GAP = 26  # between both drawings, for the arrow


class BeforeAfter(QWidget):
    """Two drawings of the effect of a setting."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _, before, after = EXAMPLES[name]
        self._pictures = before, after
        self.setAccessibleName(self.tr("An example, before and after"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the size of both drawings side by side."""
        rows = self._pictures[0]
        return QSize(2 * len(rows[0]) * _CELL + _GAP, len(rows) * _CELL + 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw both in reading order, and an arrow between them."""
        del event
        painter = QPainter(self)
        width = len(self._pictures[0][0]) * _CELL
        onward = -1 if self.isRightToLeft() else 1
        for left, rows in zip((0, width + _GAP), self._pictures[::onward], strict=True):
            self._draw(painter, left, rows)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle, centre = len(self._pictures[0]) * _CELL / 2, width + _GAP / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.palette().color(QPalette.ColorRole.PlaceholderText))
        points = ((-4 * onward, -4), (4 * onward, 0), (-4 * onward, 4))
        painter.drawPolygon(QPolygonF([QPointF(centre + x, middle + y) for x, y in points]))
        painter.end()

    def _draw(self, painter: QPainter, left: float, rows: list[str]) -> None:
        ground = QRectF(left, 0, len(rows[0]) * _CELL, len(rows) * _CELL)
        painter.fillRect(ground, self.palette().color(QPalette.ColorRole.Midlight))
        group = QPalette.ColorGroup.Normal if self.isEnabled() else QPalette.ColorGroup.Disabled
        thing = self.palette().color(group, QPalette.ColorRole.Accent)
        stroke = self.palette().color(group, QPalette.ColorRole.WindowText)
        for y, row in enumerate(rows):
            for x, sign in enumerate(row):
                if sign != ".":
                    cell = QRectF(left + x * _CELL, y * _CELL, _CELL, _CELL)
                    painter.fillRect(cell, stroke if sign == "o" else thing)
