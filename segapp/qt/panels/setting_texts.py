"""What each setting is called and what it does."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from segapp.values.settings import FeatureGroup


@dataclass(frozen=True, slots=True)
class SettingText:
    """Label and explanation of one field of `Settings` or `CleanUp`."""

    label: str
    tip: str
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
            tr("Fit the answer to the picture's edges pixel by pixel after learning."),
        ),
        "smallest_area": SettingText(
            tr("Smallest part"),
            tr("Parts with fewer pixels than this join what surrounds them. 0 keeps all."),
        ),
        "fill_holes": SettingText(
            tr("Fill holes"), tr("Close holes in an object that no stroke has marked.")
        ),
        "smoothing": SettingText(
            tr("Smoothing"), tr("Radius in pixels over which edges are smoothed. 0 is off.")
        ),
        "keep_touching": SettingText(
            tr("Keep only marked parts"),
            tr("Drop parts of an object that touch none of its strokes."),
        ),
        "smoothness": SettingText(
            tr("Smoothness"),
            tr("How much a long outline costs: higher gives simpler outlines."),
        ),
        "colour_likelihood": SettingText(
            tr("Colour evidence"),
            tr("How much a pixel's own colour counts when the outline is drawn."),
        ),
        "unlabelled_weight": SettingText(
            tr("Weight of unmarked pixels"),
            tr("How much an unmarked pixel counts against a marked one, while strokes are few."),
            advanced=True,
        ),
        "few_strokes": SettingText(
            tr("Few strokes"),
            tr(
                "Up to so many strokes, unmarked pixels count fully; with more strokes they "
                "count less and less. 0 leaves their weight alone."
            ),
            advanced=True,
        ),
        "samples": SettingText(
            tr("Samples"),
            tr("Learn from small regions of the picture, or from its colours alone."),
            advanced=True,
        ),
        "prototypes": SettingText(
            tr("Number of samples"),
            tr("How many regions or colours are learnt from. More is finer and slower."),
            advanced=True,
        ),
        "bandwidths": SettingText(
            tr("Widths of the kernels"),
            tr("Sigmas of the Gaussian kernels, with commas; none: the paper's eleven kernels."),
            advanced=True,
        ),
        "position_bandwidths": SettingText(
            tr("Widths for position"),
            tr("Sigmas of the kernels on position, with commas; 1 is the picture's longer side."),
            advanced=True,
        ),
        "stroke_bandwidths": SettingText(
            tr("Widths for strokes"),
            tr("Sigmas of the kernels on features that come from the strokes, with commas."),
            advanced=True,
        ),
        "p": SettingText(
            tr("Norm of the weights (p)"),
            tr("Near 1 few kernels count, higher spreads the weight over more of them."),
            advanced=True,
        ),
        "passes": SettingText(
            tr("Passes"),
            tr("How often learning goes over all bits, at the most."),
            advanced=True,
        ),
        "lambda1": SettingText(
            tr("Cost of errors (λ₁)"),
            tr("How strictly the marked pixels are followed."),
            advanced=True,
        ),
        "lambda2": SettingText(
            tr("Pull between codewords (λ₂)"),
            tr("How strongly the codewords of one class are drawn together."),
            advanced=True,
        ),
        "seed": SettingText(
            tr("Seed"),
            tr("Start of the random numbers: the same seed gives the same answer."),
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
    """Return what is known of the presets by name."""
    return {
        "best": SettingText(tr("Best"), tr("The strongest settings that we know.")),
        "paper": SettingText(
            tr("As in the paper"), tr("Colour alone, as published; for comparison.")
        ),
    }
