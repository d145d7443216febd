"""Results of a segmentation, and learnt models that give them on other images."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.app.inputs import picture_of
from segapp.engine.loading import load_model, open_encoder, save_model
from segapp.model.answer import final_answer
from segapp.model.document import Document
from segapp.model.explanation import PixelExplanation
from segapp.model.picture import Scale
from segapp.model.validation import SegappError
from shlcore.parallel import limit_threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from segapp.app.inputs import ImageInput
    from segapp.engine.learnt_model import LearntModel
    from segapp.engine.loading import EncodeImage
    from segapp.model.answer import Answer, Report, Update
    from segapp.model.classes import ObjectMap
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """The segmentation of an image.

    Parameters
    ----------
    picture
        The image.
    document
        Its classes and strokes.
    answer
        The labelling, and the insight into the learner.
    """

    picture: Picture
    document: Document
    answer: Answer

    @property
    def labelling(self) -> Labelling:
        """Labels, margins and hash codes."""
        return self.answer.labelling

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their labels."""
        return tuple(info.name for info in self.document.classes)

    @property
    def labels(self) -> NDArray[np.uint8]:
        """The class of each pixel, ``H x W``, counted from 0 as in `classes`."""
        return self.answer.labelling.labels

    @property
    def objects(self) -> ObjectMap:
        """The object of each pixel, with class and number of each."""
        from segapp.imaging.objects import objects_of

        return objects_of(self.labelling, self.document, self.picture.rgb)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether a pixel belongs to an object, which is any class but the background."""
        from segapp.io.export.rasters import object_pixels

        return object_pixels(self.labelling, self.document)

    @property
    def shares(self) -> dict[str, float]:
        """The share of the image's pixels that each class has."""
        return {
            name: float((self.labels == index).mean()) for index, name in enumerate(self.classes)
        }

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The margin of each pixel, ``H x W``: 0 is undecided, strokes have the maximum.

        It is the difference of the hinge distances to the best and the second-best class's
        codeword.
        """
        return self.answer.labelling.margin

    @property
    def codes(self) -> NDArray[np.uint32]:
        """The hash code of each pixel, ``H x W``, first bit lowest."""
        return self.answer.labelling.codes

    @property
    def codewords(self) -> NDArray[np.int8] | None:
        """The codewords, ``classes x codewords x bits``; ``None`` without a fit."""
        return None if self.answer.insight is None else self.answer.insight.codewords

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels, "colour, sigma 0.125" for instance."""
        return () if self.answer.insight is None else self.answer.insight.kernels

    @property
    def kernel_weights(self) -> NDArray[np.float64] | None:
        """The learnt weights, ``bits x kernels``; ``None`` without a fit."""
        return None if self.answer.insight is None else self.answer.insight.kernel_weights

    @property
    def objective(self) -> tuple[float, ...]:
        """The value of eq. (6) after each block of the fit; it never rises."""
        return () if self.answer.insight is None else self.answer.insight.objective

    def explain(self, x: float, y: float, *, check: bool = True) -> PixelExplanation:
        """Explain the class of a pixel by strokes, kernels and codewords.

        Parameters
        ----------
        x, y
            In pixels; the centre of the top left pixel is (0.5, 0.5).
        check
            Whether strokes with large shares are left out on trial, each alone, which takes
            some answers' time: see `PixelExplanation.effects`.

        Raises
        ------
        SegappError
            When the point is outside, or the answer was not learnt from strokes.
        """
        if self.answer.explain is None:
            raise SegappError(
                "There is nothing to explain: the result was not learnt from strokes."
            )
        explanations: Iterator[PixelExplanation | Report] = self.answer.explain(x, y)
        if not check:
            explanations = islice(explanations, 1)
        with limit_threads(1):
            *_, last = (item for item in explanations if isinstance(item, PixelExplanation))
        return last

    def export(  # noqa: PLR0913 - each keyword is of some formats, as in Pillow
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002 - the word of imageio, scikit-image and Pillow
        *,
        only: str | None = None,
        edge: float | None = None,
        background: tuple[int, int, int] | str | Path | None = None,
        pixel_size: float | None = None,
        unit: str = "px",
        split: bool = False,
        per: str = "object",
    ) -> tuple[Path, ...]:
        """Write the result, and return the files that were written.

        Parameters
        ----------
        path
            A file; its folder must exist.
        format
            ``mask``, ``indexed``, ``classes``, ``cutout``, ``alpha``, ``coco-rle``,
            ``coco-polygons``, ``labelme``, ``labels``, ``labels-ome``, ``rois``, ``confidence``,
            ``confidence-tiff``, ``numpy``, ``strokes`` or ``measures``; ``None`` chooses by the
            file's ending.
        only
            Name of the one class that a mask, cut-out or alpha is of.
        edge
            Pixels within which a cut-out is softened: 0 is hard, ``None`` is automatic.
        background
            Of a cut-out: a colour as three numbers from 0 to 255 or as text (``"white"``,
            ``"#ffcc00"``), or the path of an image; ``None`` is transparent.
        pixel_size, unit
            Length of a pixel's side, for measures and label images; ``None`` is that of the file.
        split
            Whether objects that touch are told apart by cuts at their necks.
        per
            ``part``, ``object`` or ``class``: the pixels of one annotation.

        Raises
        ------
        SegappError
            When there is no such format or class, or the ending is another format's.
        """
        from segapp.io.export.datasets import AnnotationScope
        from segapp.io.export.formats import ExportChoices, choose_format, default_format
        from segapp.io.export.rasters import backdrop_from_text

        path = Path(path)
        backdrop = backdrop_from_text(background) if isinstance(background, str) else background
        scale = None if pixel_size is None else Scale(pixel_size, unit)
        choices = ExportChoices(edge, scale, only, backdrop, AnnotationScope(per))
        entry = choose_format(path, format, choices)
        if format is None and entry.name == "mask" and only is None:
            entry = default_format(len(self.document.classes))
        document, labelling = self.document, self.labelling
        if split:
            document, labelling = document.with_all_split(), replace(labelling, objects=None)
        return entry.write(path, labelling, document, self.picture)


class SegmentationModel:
    """Hash functions and codewords learnt on one image, for images of its kind.

    As a context manager it keeps the process of its encoder, if it has one, from image to image:

    .. code-block:: python

        with segapp.load_model("cells.shlmodel") as model:
            masks = [model.apply(path).mask for path in paths]
    """

    def __init__(self, learnt: LearntModel) -> None:
        self.learnt = learnt
        self._stack = ExitStack()
        self._encode: EncodeImage | None = None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` or ``segapp segment --save-model`` has written."""
        return cls(load_model(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""
        save_model(self.learnt, Path(path))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their labels."""
        return tuple(info.name for info in self.learnt.classes)

    def apply(self, image: ImageInput) -> Result:
        """Segment another image: a path, a picture, or an array as for `segapp.segment`."""
        picture = picture_of(image)
        document = Document(self.learnt.classes, display=picture.display)
        with limit_threads(1):
            return Result(picture, document, final_answer(self.updates(picture)))

    def updates(self, picture: Picture) -> Iterator[Update]:
        """Yield reports, and the answer last."""
        with self._encoder() as encode:
            features = encode(picture.rgb)
        yield from self.learnt.updates(picture.rgb, picture.channels, features)

    @contextmanager
    def _encoder(self) -> Iterator[EncodeImage]:
        if self._encode is not None:
            yield self._encode
            return
        with open_encoder(self.learnt.settings) as encode:
            yield encode

    def __enter__(self) -> Self:
        self._encode = self._stack.enter_context(open_encoder(self.learnt.settings))
        return self

    def __exit__(self, *_: object) -> None:
        self._encode = None
        self._stack.close()
