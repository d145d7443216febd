"""Pictures as an encoder sees them: found on disk, or read by the network and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.encoders.fitting import fitted
from segapp.encoders.installed import Installed
from segapp.encoders.kept_features import KeptFeatures
from segapp.encoders.network_file import EncoderError
from segapp.encoders.running import RunningNetwork, what_is_lacking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.fitting import FittedPicture
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

    def fitted(self, rgb: NDArray[np.uint8]) -> FittedPicture:
        """Return a picture as the network will see it."""
        return fitted(rgb, self.encoder)

    def found(self, picture: FittedPicture) -> EncodedPicture | None:
        """Return what is known of a picture already."""
        return self._kept.find(picture, self.encoder)

    def read(self, picture: FittedPicture) -> EncodedPicture:
        """Let the network read a picture, and keep that; raises like `RunningNetwork.encode`."""
        encoded = self._running.encode(self.encoder, picture)
        self._kept.keep(picture, self.encoder, encoded)
        return encoded

    def of(self, rgb: NDArray[np.uint8]) -> EncodedPicture:
        """Return what the encoder sees, known or read."""
        picture = self.fitted(rgb)
        known = self.found(picture)
        return self.read(picture) if known is None else known

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
