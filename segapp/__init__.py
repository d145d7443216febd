"""Interactive image segmentation by supervised hash learning (*SHL).

>>> import segapp
>>> result = segapp.segment("cat.jpg", "cat-strokes.png")  # doctest: +SKIP
>>> result.export("cat.json", format="coco-rle")  # doctest: +SKIP

`segment` answers all strokes of an image at once; a `Segmenter` takes them one by one, with
undo, and saves them as a project that the window opens.
"""

TYPE_CHECKING = False  # importing `typing` would take too long before Ctrl-C is handled
if TYPE_CHECKING:
    from pathlib import Path

    from segapp.app.result import Result, SegmentationModel
    from segapp.app.segmenter import Segmenter, segment
    from segapp.app.stack import Stack
    from segapp.io.images import load_image
    from segapp.io.project import load_project
    from segapp.model.answer import NotEnoughStrokes
    from segapp.model.document import Document, Stroke
    from segapp.model.settings import PRESETS, Settings
    from segapp.model.validation import SegappError

    __version__: str

_HOMES = {
    "PRESETS": "model.settings",
    "Document": "model.document",
    "NotEnoughStrokes": "model.answer",
    "Result": "app.result",
    "SegappError": "model.validation",
    "SegmentationModel": "app.result",
    "Segmenter": "app.segmenter",
    "Settings": "model.settings",
    "Stack": "app.stack",
    "Stroke": "model.document",
    "load_image": "io.images",
    "load_project": "io.project",
    "segment": "app.segmenter",
}
"""Imported when they are asked for: the window and the commands need few of them at a time."""

__all__ = [
    "PRESETS",
    "Document",
    "NotEnoughStrokes",
    "Result",
    "SegappError",
    "SegmentationModel",
    "Segmenter",
    "Settings",
    "Stack",
    "Stroke",
    "__version__",
    "load_image",
    "load_model",
    "load_project",
    "segment",
]


def load_model(path: "str | Path") -> "SegmentationModel":
    """Read a model that `SegmentationModel.save` or ``segapp segment`` has written."""
    from segapp.app.result import SegmentationModel

    return SegmentationModel.load(path)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from shlcore import version_of

        return version_of("segapp")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
