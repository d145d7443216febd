"""The encoders of this user: each a folder with the network and what is known of it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from segapp.encoders.encoder import check_name, encoder_from_plain, encoder_to_plain
from segapp.encoders.head import HeadFile
from segapp.encoders.network_file import EncoderError
from segapp.values.checked import from_json
from segapp.values.wording import quoted, reason, shown

if TYPE_CHECKING:
    from segapp.encoders.encoder import Encoder

_NETWORK, _HEAD, _FACTS, _LICENCE = "network.onnx", "head.onnx", "encoder.json", "licence.txt"
_LARGEST_FACTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Installed:
    """The encoders in a folder.

    Parameters
    ----------
    root
        Has a folder for each of them.
    """

    root: Path

    @classmethod
    def of_user(cls) -> Installed:
        """Return those in the user's data folder."""
        return cls(platformdirs.user_data_path("segapp", appauthor=False) / "encoders")

    def names(self) -> list[str]:
        """List all names, of damaged ones too."""
        try:
            found = [entry.name for entry in os.scandir(self.root) if entry.is_dir()]
        except OSError:
            return []
        return sorted((name for name in found if not name.startswith(".")), key=str.casefold)

    def encoders(self) -> list[Encoder]:
        """List those that are whole."""
        found = []
        for name in self.names():
            try:
                found.append(self.named(name))
            except EncoderError:
                continue  # told by who names it
        return found

    def named(self, name: str) -> Encoder:
        """Return the encoder of a name, or say what there is."""
        folder = self._folder(name)
        if folder is None:
            names = self.names()
            there = f"there are {', '.join(names)}" if names else "there is none yet"
            raise EncoderError(f"There is no encoder {quoted(name)}: {there}.")
        try:
            with (folder / _FACTS).open("rb") as file:
                encoder = encoder_from_plain(from_json(file.read(_LARGEST_FACTS), _FACTS))
            (folder / _NETWORK).stat()
            if encoder.head is not None:
                (folder / _HEAD).stat()
        except (OSError, ValueError) as error:
            raise EncoderError(
                f"The encoder {shown(name)} is damaged ({reason(error)}): remove it and add it "
                "anew."
            ) from error
        return replace(encoder, name=folder.name)

    def with_identity(self, identity: str) -> Encoder | None:
        """Return the encoder that settings and files call so."""
        return next((each for each in self.encoders() if each.identity == identity), None)

    def network(self, encoder: Encoder) -> Path:
        """Return where an encoder's network is."""
        return self.root / encoder.name / _NETWORK

    def head(self, encoder: Encoder) -> HeadFile | None:
        """Return where its head is, and what is taken of it, if it has one."""
        if encoder.head is None:
            return None
        path = self.root / encoder.name / _HEAD
        return HeadFile(path, encoder.head.digest, encoder.head.output)

    def licence(self, encoder: Encoder) -> str:
        """Return what was said of its licence when it was added; nothing where nobody did."""
        try:
            return (self.root / encoder.name / _LICENCE).read_text("utf-8")
        except (OSError, ValueError):
            return ""

    def check_new(self, name: str, identity: str) -> None:
        """Refuse a name or a network that is there already."""
        try:
            check_name(name)
        except ValueError as error:
            raise EncoderError(f"{error}.") from error
        if self._folder(name) is not None:
            raise EncoderError(f"There is an encoder {name} already: remove it, or say --name.")
        if (same := self.with_identity(identity)) is not None:
            raise EncoderError(f"This network is there already, by the name {same.name}.")

    def add(
        self, encoder: Encoder, network: Path, licence: str = "", head: Path | None = None
    ) -> None:
        """Copy a network, with its head if it has one; it is there whole or not at all."""
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
        """Delete an encoder, whole or damaged."""
        folder = self._folder(name)
        if folder is None:
            self.named(name)  # says what there is
        else:
            shutil.rmtree(folder)

    def _folder(self, name: str) -> Path | None:
        """Find a folder by its name alone: no path leads out of here."""
        same = (each for each in self.names() if each.casefold() == name.casefold())
        found = next(same, None)
        return None if found is None else self.root / found
