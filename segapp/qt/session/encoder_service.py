"""Encoder features of the open image, computed in a process beside the trainer."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.settings import wants_encoder
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.app.segmenter import Segmenter
    from segapp.encoders.feature_cache import FeatureExtractor
    from segapp.model.display import DisplaySettings
    from segapp.model.picture import EncoderFeatures
    from segapp.qt.session.answer_service import AnswerService

    Upcoming = Callable[[], tuple[list[Path], DisplaySettings]]


class EncoderStage(Enum):
    """The progress of the encoder."""

    OFF = "off"
    READING = "reading"
    READY = "ready"
    READING_AHEAD = "reading ahead"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EncoderStatus:
    """The progress of the encoder, in numbers."""

    stage: EncoderStage = EncoderStage.OFF
    started: float = 0.0  # of `time.monotonic`
    seconds: float = 0.0  # for the open image; 0 when its features were in the cache
    number: int = 0  # of the image that is read ahead, from 1
    total: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _ImageRead:
    features: EncoderFeatures
    seconds: float


@dataclass(frozen=True, slots=True)
class _ReadingAhead:
    number: int
    total: int


class _Reading:
    """A job that another thread can end at once, whatever the network is doing."""

    def __init__(
        self,
        rgb: NDArray[np.uint8],
        digest: str,
        upcoming: list[Path],
        display: DisplaySettings,
    ) -> None:
        self._rgb, self._digest = rgb, digest
        self._upcoming, self._display = upcoming, display
        self._extractor: FeatureExtractor | None = None
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        if self._extractor is not None:
            self._extractor.stop()

    def run(self) -> Iterator[_ImageRead | _ReadingAhead]:
        from segapp.encoders.feature_cache import FeatureExtractor  # which most sessions never use
        from segapp.encoders.ipc import EncodingStopped

        with FeatureExtractor.with_identity(self._digest) as extractor, suppress(EncodingStopped):
            self._extractor = extractor
            if self._stopped:
                return
            start = time.monotonic()
            fitted = extractor.prepare(self._rgb)
            known = extractor.cached(fitted)
            if known is not None:
                yield _ImageRead(known, 0.0)
            else:
                yield _ImageRead(extractor.extract(fitted), time.monotonic() - start)
            yield from self._read_ahead(extractor)

    def _read_ahead(self, extractor: FeatureExtractor) -> Iterator[_ReadingAhead]:
        from segapp.io.images import load_image
        from segapp.io.pages import ImageError

        for number, path in enumerate(self._upcoming, start=1):
            if self._stopped:
                return
            yield _ReadingAhead(number, len(self._upcoming))
            with suppress(ImageError, OSError, MemoryError):  # reported when it is opened
                extractor.features(load_image(path, self._display).rgb)


class EncoderService(QObject):
    """Features of the open image, then of the next images of its folder.

    The features go to the segmenter, and the answer follows.
    """

    changed = Signal()
    failed = Signal(object, str)  # the error, and a traceback for reports

    def __init__(self, answers: AnswerService, parent: QObject) -> None:
        super().__init__(parent)
        self._answers = answers
        self._segmenter: Segmenter | None = None
        self._upcoming: Upcoming = _nothing
        self.status = EncoderStatus()
        self._pixels: NDArray[np.uint8] | None = None  # being read, or read
        self._encoder = ""
        self._reading: _Reading | None = None
        self._jobs = Jobs("seeing", self)

    def read_ahead(self, upcoming: Upcoming) -> None:
        """Ask ``upcoming`` from now on for the images to read after the open one."""
        self._upcoming = upcoming

    def follow(self, segmenter: Segmenter) -> None:
        """Attend to an image and its settings, which may have changed."""
        self._segmenter = segmenter
        self.update()

    def update(self) -> None:
        """Read the image if the settings want it and it is neither read nor being read."""
        segmenter = self._segmenter
        if segmenter is None or not wants_encoder(segmenter.settings):
            self._forget()
            self._set(EncoderStatus())
            return
        rgb, encoder = segmenter.picture.rgb, segmenter.settings.encoder
        same = self._pixels is rgb and self._encoder == encoder
        under_way = self.status.stage is EncoderStage.READING
        if not same or (not under_way and segmenter.encoder_features is None):
            self._forget()
            self._pixels, self._encoder = rgb, encoder
            self._set(EncoderStatus(EncoderStage.READING, time.monotonic()))
            self._reading = _Reading(rgb, encoder, *self._upcoming())
            self._jobs.run(self._reading.run, self._take, self._fail, self._end)

    def stop(self) -> None:
        """Stop reading the image; `update` begins again."""
        if self.status.stage is EncoderStage.READING:
            self._cancel()
            self._set(EncoderStatus(EncoderStage.FAILED))

    def close(self, timeout: float | None = None) -> bool:
        """End the network and wait for the thread; return whether it has ended."""
        self._cancel()
        return self._jobs.close(timeout)

    def _forget(self) -> None:
        self._cancel()
        self._pixels = None
        if self._segmenter is not None:
            self._segmenter.attach_features(None)

    def _cancel(self) -> None:
        if self._reading is not None:
            self._reading.stop()
            self._reading = None
        self._jobs.cancel()

    def _take(self, item: _ImageRead | _ReadingAhead) -> None:
        if isinstance(item, _ReadingAhead):
            stage, seconds = EncoderStage.READING_AHEAD, self.status.seconds
            self._set(EncoderStatus(stage, 0.0, seconds, item.number, item.total))
            return
        if self._segmenter is not None:
            self._segmenter.attach_features(item.features)
        self._set(EncoderStatus(EncoderStage.READY, seconds=item.seconds))
        self._answers.catch_up()

    def _end(self) -> None:
        self._reading = None
        if self.status.stage is EncoderStage.READING_AHEAD:
            self._set(EncoderStatus(EncoderStage.READY, seconds=self.status.seconds))

    def _fail(self, error: Exception) -> None:
        if self.status.stage is not EncoderStage.READING:  # the open image has been read
            return
        self._set(EncoderStatus(EncoderStage.FAILED))
        self.failed.emit(error, details_of(error))

    def _set(self, status: EncoderStatus) -> None:
        if status != self.status:
            self.status = status
            self._answers.set_reading(reading=status.stage is EncoderStage.READING)
            self.changed.emit()


def _nothing() -> tuple[list[Path], DisplaySettings]:
    return [], DEFAULT_DISPLAY
