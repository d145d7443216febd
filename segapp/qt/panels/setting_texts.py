"""Names, explanations and example pictures of settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPalette, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from segapp.model.settings import FeatureGroup

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent


@dataclass(frozen=True, slots=True)
class SettingText:
    """Label and explanation of one field of `Settings` or `CleanUp`."""

    label: str
    tip: str


def tr(text: str) -> str:
    """Translate a text of the settings."""
    return QCoreApplication.translate("Settings", text)


def setting_texts() -> dict[str, SettingText]:
    """Return the texts by field name, in the order of the panel."""
    return {
        "features": SettingText(
            tr("Features"), tr("What the learner looks at. Each group gets kernels of its own.")
        ),
        "bits": SettingText(
            tr("Bits"),
            tr("Length of the hash code of a pixel. More bits tell more apart and take longer."),
        ),
        "codewords": SettingText(
            tr("Codewords a class"),
            tr("How many codes may stand for one class: more for classes of many looks."),
        ),
        "transductive": SettingText(
            tr("Learn from unmarked pixels"),
            tr("Let the pixels without strokes choose their codeword while learning."),
        ),
        "refine": SettingText(
            tr("Follow the edges"),
            tr("Draws the outline along the picture's edges, pixel by pixel."),
        ),
        "smallest_area": SettingText(
            tr("Smallest part"),
            tr("Specks with fewer pixels than this vanish. 0 keeps all."),
        ),
        "fill_holes": SettingText(
            tr("Fill holes"), tr("Closes holes in an object that no stroke has marked.")
        ),
        "smoothing": SettingText(
            tr("Smoothing"), tr("Rounds off edges over so many pixels. 0 is off.")
        ),
        "keep_touching": SettingText(
            tr("Keep only marked parts"),
            tr("Drops parts of an object that touch none of its strokes."),
        ),
        "threshold": SettingText(
            tr("Less or more"),
            tr("To the right more is taken for the object, to the left less. For two classes."),
        ),
        "smoothness": SettingText(
            tr("Smoothness"),
            tr("Higher gives simpler outlines, lower follows every detail."),
        ),
        "colour_likelihood": SettingText(
            tr("Colour evidence"),
            tr("Higher lets a pixel's own colour pull the outline, lower its surroundings."),
        ),
        "unlabelled_weight": SettingText(
            tr("Weight of unmarked pixels"),
            tr("How much an unmarked pixel counts against a marked one, while strokes are few."),
        ),
        "locality": SettingText(
            tr("Hold what is far away"),
            tr(
                "How strongly the answer stays as it was far from the newest stroke. "
                "0 lets every stroke change the whole picture."
            ),
        ),
        "few_strokes": SettingText(
            tr("Few strokes"),
            tr(
                "Up to so many strokes, unmarked pixels count fully; with more strokes they "
                "count less and less. 0 leaves their weight alone."
            ),
        ),
        "samples": SettingText(
            tr("Samples"),
            tr("Learn from small regions of the picture, or from its colours alone."),
        ),
        "prototypes": SettingText(
            tr("Number of samples"),
            tr("How many regions or colours are learnt from. More is finer and slower."),
        ),
        "bandwidths": SettingText(
            tr("Widths of the kernels"),
            tr("Sigmas of the Gaussian kernels, with commas; none: the paper's eleven kernels."),
        ),
        "position_bandwidths": SettingText(
            tr("Widths for position"),
            tr("Sigmas of the kernels on position, with commas; 1 is the picture's longer side."),
        ),
        "stroke_bandwidths": SettingText(
            tr("Widths for strokes"),
            tr("Sigmas of the kernels on features that come from the strokes, with commas."),
        ),
        "p": SettingText(
            tr("Norm of the weights (p)"),
            tr("Near 1 few kernels count, higher spreads the weight over more of them."),
        ),
        "passes": SettingText(
            tr("Passes"),
            tr("How often learning goes over all bits, at the most."),
        ),
        "lambda1": SettingText(
            tr("Cost of errors (λ₁)"),
            tr("How strictly the marked pixels are followed."),
        ),
        "lambda2": SettingText(
            tr("Pull between codewords (λ₂)"),
            tr("How strongly the codewords of one class are drawn together."),
        ),
        "seed": SettingText(
            tr("Seed"),
            tr("Start of the random numbers: the same seed gives the same answer."),
        ),
    }


def feature_texts() -> dict[FeatureGroup, SettingText]:
    """Return the texts of the feature groups."""
    return {
        FeatureGroup.RGB: SettingText(tr("RGB"), tr("Red, green and blue, as in the paper.")),
        FeatureGroup.COLOUR: SettingText(tr("Colour"), tr("Colour as the eye sees it (Lab).")),
        FeatureGroup.TEXTURE: SettingText(
            tr("Texture"), tr("How much the colours vary around a pixel.")
        ),
        FeatureGroup.CHANNELS: SettingText(
            tr("All channels"),
            tr("Everything that the instrument measured, at its full depth, shown or not."),
        ),
        FeatureGroup.LIKELIHOOD: SettingText(
            tr("Colours of the strokes"), tr("How well a colour fits the strokes of each class.")
        ),
        FeatureGroup.NEARNESS: SettingText(
            tr("Nearness to the strokes"),
            tr("How far it is to the strokes of each class, around the picture's edges."),
        ),
        FeatureGroup.POSITION: SettingText(tr("Position"), tr("Where in the picture a pixel is.")),
    }


def preset_texts() -> dict[str, SettingText]:
    """Return the texts of the presets by name."""
    return {
        "best": SettingText(
            tr("One object"),
            tr("Finds the object that your strokes touch; what looks alike elsewhere stays out."),
        ),
        "alike": SettingText(
            tr("All alike"),
            tr("Finds everything that looks like your strokes, wherever it is in the picture."),
        ),
        "paper": SettingText(
            tr("As in paper"),
            tr("Colour alone, as published: rough edges and stray specks; for comparison."),
        ),
    }


# By the setting's name, and the value that is shown. "#" is the object, "o" a stroke on it.
EXAMPLES: dict[str, tuple[int | bool, str, str]] = {
    "smallest_area": (
        4,
        """
        ................
        ..######........
        .########....#..
        .##oooo##.......
        .########..##...
        ..######........
        ..........#.....
        ................
        """,
        """
        ................
        ..######........
        .########.......
        .##oooo##.......
        .########.......
        ..######........
        ................
        ................
        """,
    ),
    "fill_holes": (
        True,
        """
        ................
        ...##########...
        ..####...#####..
        ..###....#####..
        ..####..######..
        ..#oooooooo###..
        ...##########...
        ................
        """,
        """
        ................
        ...##########...
        ..############..
        ..############..
        ..############..
        ..#oooooooo###..
        ...##########...
        ................
        """,
    ),
    "smoothing": (
        1,
        """
        ................
        ...#.####.##....
        ..###########...
        ..##########....
        .############...
        ..##oooo####....
        ...##.###.##....
        ................
        """,
        """
        ................
        ....########....
        ..##########....
        ..###########...
        ..##########....
        ..##oooo####....
        ...########.....
        ................
        """,
    ),
    "keep_touching": (
        True,
        """
        ................
        ..#####....##...
        .#######..####..
        .##ooo##..####..
        .#######..####..
        ..#####....##...
        ................
        ................
        """,
        """
        ................
        ..#####.........
        .#######........
        .##ooo##........
        .#######........
        ..#####.........
        ................
        ................
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
        self._pictures = (before.split(), after.split())
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
