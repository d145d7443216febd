"""Pictures as an encoder sees them: found on disk, or read by the network and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.encoders.installed import Installed
from segapp.encoders.kept_features import KeptFeatures
from segapp.encoders.network_file import EncoderError
from segapp.encoders.running import RunningNetwork, what_is_lacking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder
    from segapp.values.encoded import EncodedPicture


class MissingEncoderError(EncoderError):
    """Settings want a network that this user does not have."""


class Encoding:
    """Reads one picture after the other with one encoder, whose process starts when needed.

    One thread asks; any thread may `stop`.
    """

    def __init__(
        self, encoder: Encoder, installed: Installed, kept: KeptFeatures | None = None
    ) -> None:
        self.encoder = encoder
        self._kept = KeptFeatures.of_user() if kept is None else kept
        network, head = installed.network(encoder), installed.head(encoder)
        self._running = RunningNetwork(encoder.name, network, encoder.digest, head=head)

    @classmethod
    def with_identity(cls, identity: str) -> Encoding:
        """Return the encoding by a network that the user has; else a sentence says so."""
        installed = Installed.of_user()
        return cls(wanted(installed, identity), installed)

    def __enter__(self) -> Encoding:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def found(self, rgb: NDArray[np.uint8]) -> EncodedPicture | None:
        """Return what is known of a picture already."""
        path = self._kept.path(rgb, self.encoder)
        return self._kept.find(path, (rgb.shape[0], rgb.shape[1]), self.encoder)

    def of(self, rgb: NDArray[np.uint8]) -> EncodedPicture:
        """Return what the encoder sees; raises like `RunningNetwork.encode`."""
        path = self._kept.path(rgb, self.encoder)
        encoded = self._kept.find(path, (rgb.shape[0], rgb.shape[1]), self.encoder)
        if encoded is None:
            encoded = self._running.encode(self.encoder, rgb)
            self._kept.keep(path, encoded)
        return encoded

    def stop(self) -> None:
        """End the network's process now."""
        self._running.stop()

    def close(self) -> None:
        """End the network's process between two pictures."""
        self._running.close()


def wanted(installed: Installed, identity: str) -> Encoder:
    """Return the encoder of that identity, or say that it is missing and what there is to do."""
    if not identity:
        raise EncoderError("Which encoder is meant is not said: name it by --encoder.")
    encoder = installed.with_identity(identity)
    if encoder is None:
        raise MissingEncoderError(
            f"The encoder with the digest {identity[:12]}… is not there: add it by segapp encoder "
            "add, or go on without it by --without-encoder."
        )
    return encoder


def usable(name: str | None) -> Encoder:
    """Return the encoder of a name, or the only one there is, if it can run here."""
    installed = Installed.of_user()
    names = installed.names()
    if name is None:
        if len(names) != 1:
            there = f"there are {', '.join(names)}" if names else "there is none yet"
            raise EncoderError(f"Which encoder is meant is not said by --encoder: {there}.")
        name = names[0]
    encoder = installed.named(name)
    if lack := what_is_lacking():
        raise EncoderError(lack)
    return encoder
