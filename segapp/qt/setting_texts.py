"""What each setting is called, what it does, and between which bounds it lies."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from segapp.settings import FeatureGroup


@dataclass(frozen=True, slots=True)
class SettingText:
    """Label, explanation and bounds of one field of `Settings` or `CleanUp`."""

    label: str
    tip: str
    low: float = 0
    high: float = 100
    advanced: bool = False


def tr(text: str) -> str:
    """Translate a text of the settings."""
    return QCoreApplication.translate("Settings", text)


def setting_texts() -> dict[str, SettingText]:
    """Return the texts by the field's name, in the order of the panel."""
    return {
        "features": SettingText(
            tr("Features"), tr("What the learner looks at. Each group gets kernels of its own.")
        ),
        "bits": SettingText(
            tr("Bits"),
            tr("Length of the hash code of a pixel. More bits tell more apart and take longer."),
            1,
            32,
        ),
        "codewords": SettingText(
            tr("Codewords a class"),
            tr("How many codes may stand for one class: more for classes of many looks."),
            1,
            8,
        ),
        "transductive": SettingText(
            tr("Learn from unmarked pixels"),
            tr("Let the pixels without strokes choose their codeword while learning."),
        ),
        "refine": SettingText(
            tr("Follow the edges"),
            tr("Fit the answer to the picture's edges pixel by pixel after learning."),
        ),
        "smallest_area": SettingText(
            tr("Smallest part"),
            tr("Parts with fewer pixels than this join what surrounds them. 0 keeps all."),
            0,
            1_000_000,
        ),
        "fill_holes": SettingText(
            tr("Fill holes"), tr("Close holes in an object that no stroke has marked.")
        ),
        "smoothing": SettingText(
            tr("Smoothing"), tr("Radius in pixels over which edges are smoothed. 0 is off."), 0, 50
        ),
        "keep_touching": SettingText(
            tr("Keep only marked parts"),
            tr("Drop parts of an object that touch none of its strokes."),
        ),
        "prototypes": SettingText(
            tr("Samples"),
            tr("How many groups of similar pixels are learnt from. More is finer and slower."),
            50,
            20_000,
            advanced=True,
        ),
        "lambda1": SettingText(
            tr("Cost of errors (λ₁)"),
            tr("How strictly the marked pixels are followed."),
            0.001,
            1e6,
            advanced=True,
        ),
        "lambda2": SettingText(
            tr("Pull between codewords (λ₂)"),
            tr("How strongly the codewords of one class are drawn together."),
            0,
            1e6,
            advanced=True,
        ),
        "seed": SettingText(
            tr("Seed"),
            tr("Start of the random numbers: the same seed gives the same answer."),
            0,
            2**31 - 1,
            advanced=True,
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
        FeatureGroup.POSITION: SettingText(tr("Position"), tr("Where in the picture a pixel is.")),
    }


def preset_texts() -> dict[str, SettingText]:
    """Return what is known of the presets by name."""
    return {
        "best": SettingText(tr("Best"), tr("The strongest settings that we know.")),
        "paper": SettingText(
            tr("As in the paper"), tr("Colour alone, as published; for comparison.")
        ),
    }
