"""The encoder of the settings reads the open picture, and those after it, beside the learner."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.app.learning import wants_encoder
from segapp.model.display import DEFAULT_DISPLAY
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.encoders.feature_cache import FeatureExtractor
    from segapp.model.display import DisplaySettings
    from segapp.model.picture import EncoderFeatures
    from segapp.qt.session.session import Session


class Sight(Enum):
    """How far the encoder is."""

    OFF = "off"
    READING = "reading"
    SEEN = "seen"
    AHEAD = "reading ahead"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SightState:
    """How far the encoder is, and what is to be said of it."""

    sight: Sight = Sight.OFF
    started: float = 0.0  # of `time.monotonic`
    seconds: float = 0.0  # that the open picture took; 0 when it was known
    place: int = 0  # among the pictures that are read ahead
    total: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    encoded: EncoderFeatures
    seconds: float


@dataclass(frozen=True, slots=True)
class _ReadAhead:
    place: int
    total: int


class _Reading:
    """Work that another thread may end at once, whatever the network is doing."""

    def __init__(
        self, rgb: NDArray[np.uint8], digest: str, ahead: list[Path], display: DisplaySettings
    ) -> None:
        self._rgb, self._digest = rgb, digest
        self._ahead, self._display = ahead, display
        self._extractor: FeatureExtractor | None = None
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        if self._extractor is not None:
            self._extractor.stop()

    def run(self) -> Iterator[_Seen | _ReadAhead]:
        from segapp.encoders.feature_cache import FeatureExtractor  # loaded by nobody else
        from segapp.encoders.ipc import EncodingStopped

        with FeatureExtractor.with_identity(self._digest) as extractor, suppress(EncodingStopped):
            self._extractor = extractor
            if self._stopped:
                return
            start = time.monotonic()
            picture = extractor.prepare(self._rgb)
            known = extractor.cached(picture)
            if known is not None:
                yield _Seen(known, 0.0)
            else:
                yield _Seen(extractor.extract(picture), time.monotonic() - start)
            yield from self._read_ahead(extractor)

    def _read_ahead(self, extractor: FeatureExtractor) -> Iterator[_ReadAhead]:
        from segapp.io.images import load_image
        from segapp.io.pages import ImageError

        for place, path in enumerate(self._ahead, start=1):
            if self._stopped:
                return
            yield _ReadAhead(place, len(self._ahead))
            with suppress(ImageError, OSError, MemoryError):  # told when it is opened
                extractor.features(load_image(path, self._display).rgb)


class Seeing(QObject):
    """Follows picture and settings of a session; the learner need not wait for it."""

    changed = Signal()
    failed = Signal(object, str)  # the error, and details for who wants to report them

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self.state = SightState()
        self.ahead: Callable[[], tuple[list[Path], DisplaySettings]] = _nothing
        """Returns the pictures that are read after the open one, and how they are shown."""
        self._pixels: NDArray[np.uint8] | None = None  # that are read, or have been
        self._encoder = ""
        self._reading: _Reading | None = None
        self._jobs = Jobs("seeing", self)
        for moved in (session.picture_changed, session.shown_anew, session.settings_changed):
            moved.connect(self.look)

    def look(self) -> None:
        """Read the picture if the settings want it and nobody does so already."""
        picture, settings = self._session.picture, self._session.settings
        if picture is None or not wants_encoder(settings):
            self._forget()
            self._set(SightState())
            return
        same = self._pixels is picture.rgb and self._encoder == settings.encoder
        under_way = self.state.sight is Sight.READING
        if not same or (not under_way and self._session.answers.encoded is None):
            self._forget()
            self._pixels, self._encoder = picture.rgb, settings.encoder
            self._set(SightState(Sight.READING, time.monotonic()))
            ahead, display = self.ahead()
            self._reading = _Reading(picture.rgb, settings.encoder, ahead, display)
            self._jobs.run(self._reading.run, self._take, self._fail, self._end)

    def stop(self) -> None:
        """Read no more; `look` begins again."""
        if self.state.sight is Sight.READING:
            self._cancel()
            self._set(SightState(Sight.FAILED))

    def close(self, timeout: float | None = None) -> bool:
        """End the network and wait for the thread; say whether it has ended."""
        self._cancel()
        return self._jobs.close(timeout)

    def _forget(self) -> None:
        self._cancel()
        self._pixels = self._session.answers.encoded = None

    def _cancel(self) -> None:
        if self._reading is not None:
            self._reading.stop()
            self._reading = None
        self._jobs.cancel()

    def _take(self, item: _Seen | _ReadAhead) -> None:
        if isinstance(item, _ReadAhead):
            state = SightState(Sight.AHEAD, 0.0, self.state.seconds, item.place, item.total)
            self._set(state)
            return
        self._session.answers.encoded = item.encoded
        self._set(SightState(Sight.SEEN, seconds=item.seconds))
        self._session.answers.catch_up()

    def _end(self) -> None:
        self._reading = None
        if self.state.sight is Sight.AHEAD:
            self._set(SightState(Sight.SEEN, seconds=self.state.seconds))

    def _fail(self, error: Exception) -> None:
        if self.state.sight is not Sight.READING:  # the open picture has been seen
            return
        self._set(SightState(Sight.FAILED))
        self.failed.emit(error, details_of(error))

    def _set(self, state: SightState) -> None:
        if state != self.state:
            self.state = state
            self._session.answers.set_reading(reading=state.sight is Sight.READING)
            self.changed.emit()


def _nothing() -> tuple[list[Path], DisplaySettings]:
    return [], DEFAULT_DISPLAY
