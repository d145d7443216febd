"""Installed encoders."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from segapp.encoders.encoder import (
    EncoderError,
    HeadFile,
    check_name,
    encoder_from_plain,
    encoder_to_plain,
)
from segapp.model.validation import from_json, reason, sanitize, short_repr

if TYPE_CHECKING:
    from segapp.encoders.encoder import Encoder


_NETWORK, _HEAD, _FACTS, _LICENCE = "network.onnx", "head.onnx", "encoder.json", "licence.txt"
_MAX_FACTS_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class EncoderRegistry:
    """The installed encoders: ``root`` has a folder for each of them."""

    root: Path

    @classmethod
    def for_user(cls) -> EncoderRegistry:
        """Return the registry in the user's data folder."""
        return cls(platformdirs.user_data_path("segapp", appauthor=False) / "encoders")

    def names(self) -> list[str]:
        """Return all names, also of damaged encoders."""
        try:
            names = [entry.name for entry in os.scandir(self.root) if entry.is_dir()]
        except OSError:
            return []
        return sorted((name for name in names if not name.startswith(".")), key=str.casefold)

    def encoders(self) -> list[Encoder]:
        """Return all encoders whose files are complete."""
        encoders = []
        for name in self.names():
            try:
                encoders.append(self.get(name))
            except EncoderError:
                continue  # `get` reports it
        return encoders

    def get(self, name: str) -> Encoder:
        """Return the encoder of a name; an error lists the names there are."""
        folder = self._folder(name)
        if folder is None:
            names = self.names()
            there = f"there are {', '.join(names)}" if names else "there is none yet"
            raise EncoderError("There is no encoder {}: {}.", short_repr(name), there)
        try:
            with (folder / _FACTS).open("rb") as file:
                encoder = encoder_from_plain(from_json(file.read(_MAX_FACTS_BYTES), _FACTS))
            (folder / _NETWORK).stat()
            if encoder.head is not None:
                (folder / _HEAD).stat()
        except (OSError, ValueError) as error:
            raise EncoderError(
                "The encoder {} is damaged ({}): remove it and add it again.",
                sanitize(name),
                reason(error),
            ) from error
        return replace(encoder, name=folder.name)

    def find(self, identity: str) -> Encoder | None:
        """Return the encoder of that identity, if it is installed."""
        return next((each for each in self.encoders() if each.identity == identity), None)

    def network_path(self, encoder: Encoder) -> Path:
        """Return the file of an encoder's network."""
        return self.root / encoder.name / _NETWORK

    def head_file(self, encoder: Encoder) -> HeadFile | None:
        """Return the file of its head and the values taken from it, if it has one."""
        if encoder.head is None:
            return None
        path = self.root / encoder.name / _HEAD
        return HeadFile(path, encoder.head.digest, encoder.head.output)

    def licence(self, encoder: Encoder) -> str:
        """Return the licence that was stored with it, else an empty text."""
        try:
            return (self.root / encoder.name / _LICENCE).read_text("utf-8")
        except (OSError, ValueError):
            return ""

    def check_new(self, name: str, identity: str) -> None:
        """Refuse a name or a network that is there already."""
        check_name(name)
        if self._folder(name) is not None:
            raise EncoderError(
                "There is already an encoder {}: remove it, or give another --name.", name
            )
        if (same := self.find(identity)) is not None:
            raise EncoderError("This network is already installed as {}.", same.name)

    def add(
        self, encoder: Encoder, network: Path, licence: str = "", head: Path | None = None
    ) -> None:
        """Copy a network, with its head if it has one, atomically."""
        self.check_new(encoder.name, encoder.identity)
        self.root.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".adding-", dir=self.root))
        try:
            shutil.copyfile(network, beside / _NETWORK)
            if head is not None:
                shutil.copyfile(head, beside / _HEAD)
            (beside / _FACTS).write_text(json.dumps(encoder_to_plain(encoder), indent=1))
            if licence:
                (beside / _LICENCE).write_text(licence, "utf-8")
            beside.chmod(0o755)
            beside.rename(self.root / encoder.name)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise

    def remove(self, name: str) -> None:
        """Delete an encoder, complete or damaged."""
        folder = self._folder(name)
        if folder is None:
            self.get(name)  # raises with the names there are
        else:
            shutil.rmtree(folder)

    def _folder(self, name: str) -> Path | None:
        """Find a folder by its name alone, so that no path leads out of ``root``."""
        same = (each for each in self.names() if each.casefold() == name.casefold())
        match = next(same, None)
        return None if match is None else self.root / match
