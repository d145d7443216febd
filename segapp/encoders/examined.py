"""Networks before they are kept: judged by their files, then by a trial."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from segapp.encoders.encoder import Fit, identity_of
from segapp.encoders.head import described_head, head_file
from segapp.encoders.network_file import EncoderError, read_network
from segapp.encoders.running import RunningNetwork, what_is_lacking
from segapp.encoders.signatures import described

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.signatures import Wishes


def examined(
    name: str,
    path: Path,
    head_path: Path | None,
    wishes: Wishes,
    welcome: Callable[[str], None] = lambda _: None,
) -> Encoder:
    """Describe a network, and its head; `EncoderError` says why it is none to be used.

    Parameters
    ----------
    welcome
        Hears the encoder's identity before the trial, and may refuse it.
    """
    network = read_network(path)
    head_network = None if head_path is None else read_network(head_path)
    welcome(identity_of(network.digest, None if head_network is None else head_network.digest))
    head = None
    if head_path is not None and head_network is not None:
        head = head_file(head_path.absolute(), head_network)
    if lack := what_is_lacking():
        raise EncoderError(lack)
    with RunningNetwork(path.name, path.absolute(), network.digest, head=head) as running:
        encoder = described(name, network, wishes, running.shapes)
        if encoder.fit is Fit.PAD:
            with suppress(EncoderError):  # what takes too long to be tried reads whole squares
                encoder = replace(encoder, steps=running.steps(encoder))
        if head is not None and head_network is not None:
            shape = running.head_shape(encoder)
            encoder = replace(encoder, head=described_head(head, head_network, encoder, shape))
    return encoder
