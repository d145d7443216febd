"""Arguments and output that the commands share."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from segapp.imaging.components import Scale
from segapp.io.export.formats import FORMATS, ExportChoices, ExportFormat, formats
from segapp.io.pages import MAX_PAGES, with_page
from segapp.model.settings import (
    DEFAULT_PRESET,
    PRESETS,
    FeatureGroup,
    SettingsChoice,
    setting_names,
)
from segapp.model.validation import SegappError, sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def print_line(text: str, stream: TextIO | None = None) -> None:
    """Print a line on standard output, or on another stream."""
    stream = sys.stdout if stream is None else stream
    print(printable(text, stream), file=stream)


def printable(text: str, stream: TextIO) -> str:
    """Return a line with what the stream cannot show replaced."""
    encoding = stream.encoding or "utf-8"
    return sanitize(text).encode(encoding, "replace").decode(encoding)


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object; with names that the stream cannot show, in ASCII alone.

    The bytes of a name that is not UTF-8 come as Python keeps them, in half surrogates.
    """
    line = json.dumps(result, ensure_ascii=False)
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(result)
    print(line)


SOME_FAILED = 3
"""Exit code when the command was done, but not for every image."""

_BY_SUFFIX = {
    ".png": "mask",
    ".json": "coco-rle",
    ".npz": "numpy",
    ".tif": "confidence-tiff",
    ".csv": "measures",
}


class CommandError(SegappError):
    """What was asked cannot be done; the message is one sentence for the user."""


def new_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    examples: str,
) -> argparse.ArgumentParser:
    """Add a command with its examples to the help."""
    return commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add ``--preset`` and ``--set``."""
    parser.add_argument(
        "--preset",
        choices=PRESETS,
        help=f"settings to start from (default: the project's, or {DEFAULT_PRESET})",
    )
    parser.add_argument(
        "--set",
        dest="changes",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"change one setting; may be repeated. Names: {', '.join(setting_names())}",
    )

    encoder = parser.add_mutually_exclusive_group()
    encoder.add_argument(
        "--encoder", metavar="NAME", help="let this vision network take part: segapp encoder list"
    )
    encoder.add_argument(
        "--without-encoder",
        action="store_true",
        help="let none take part, not even where a project was made with one",
    )


def chosen_settings(arguments: argparse.Namespace) -> SettingsChoice:
    """Return what ``--preset``, ``--set`` and ``--encoder`` ask for."""
    choice = SettingsChoice(arguments.preset, tuple(arguments.changes))
    if arguments.without_encoder:
        return replace(choice, encoder="")
    settings = choice.settings(None)
    unnamed = FeatureGroup.ENCODER in settings.features and not settings.encoder
    if arguments.encoder is None and not unnamed:
        return choice
    from segapp.encoders.feature_cache import resolve_encoder  # loaded by nobody else

    return replace(choice, encoder=resolve_encoder(arguments.encoder).identity)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--as``."""
    listed = "; ".join(f"{entry.name}: {entry.title}" for entry in FORMATS.values())
    parser.add_argument(
        "--as", dest="format", choices=FORMATS, metavar="FORMAT", help=f"format. {listed}"
    )
    add_choices(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Add what can be chosen about exports besides their format."""
    parser.add_argument(
        "--edge",
        metavar="PIXELS",
        type=_edge,
        help="soften cut-outs and alpha within so many pixels of the outline; "
        "hard: not at all (default: by the picture's size)",
    )
    parser.add_argument(
        "--class",
        dest="only",
        metavar="NAME",
        help="mask, cutout and alpha of this class alone (default: of all but the background)",
    )
    add_scale(parser)


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Add what can be chosen about measures."""
    parser.add_argument(
        "--pixel-size",
        metavar="LENGTH",
        type=float,
        default=1.0,
        help="side of a pixel, for measures (default: 1)",
    )
    parser.add_argument(
        "--unit", metavar="NAME", default="px", help="of --pixel-size, µm for instance"
    )
    parser.add_argument("--split", action="store_true", help="measure parts that touch as several")


def _edge(text: str) -> float:
    if text == "hard":
        return 0.0
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"wanted pixels or hard, got {text!r}") from None


def chosen_exports(arguments: argparse.Namespace) -> ExportChoices:
    """Return what `add_choices` asked."""
    try:
        scale = Scale(arguments.pixel_size, arguments.unit)
        edge, only = getattr(arguments, "edge", None), getattr(arguments, "only", None)
        return ExportChoices(edge, scale, arguments.split, only)
    except SegappError as error:
        raise CommandError(f"{error}.") from error


def chosen_format(name: str | None, path: Path, choices: ExportChoices) -> ExportFormat:
    """Choose a format by its name or, without one, by the file's suffix."""
    suffix = path.suffix.lower()
    if name is None:
        name = _BY_SUFFIX.get(".tif" if suffix == ".tiff" else suffix)
        if name is None:
            raise CommandError(
                f"--out: wanted a name that ends in {', '.join(_BY_SUFFIX)}, got {path.name!r}."
            )
    entry = formats(choices)[name]
    if suffix != entry.suffix and (suffix, entry.suffix) != (".tiff", ".tif"):
        raise CommandError(
            f"--out: {name} is written to a name that ends in {entry.suffix}, got {path.name!r}."
        )
    return entry


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add ``--page``."""
    parser.add_argument(
        "--page",
        metavar="N",
        type=int,
        help="which page of a file with several, from 1; stack[3].tif means page 3 too",
    )


def chosen_page(arguments: argparse.Namespace, image: Path) -> Path:
    """Return the page of an image that ``--page`` asks for."""
    if arguments.page is None:
        return image
    if not 1 <= arguments.page <= MAX_PAGES:
        raise CommandError(f"--page: wanted 1 to {MAX_PAGES}, got {arguments.page}.")
    return with_page(image, arguments.page)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def make_folder(path: Path) -> Path:
    """Make a folder for results, with its parents, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"The folder {path} cannot be made: {error.strerror or error}."
        ) from error
    return path


def print_result(
    arguments: argparse.Namespace, result: dict[str, Any], lines: Sequence[str]
) -> None:
    """Print the result: for a program, or as lines for people."""
    if arguments.json:
        print_json(result)
    else:
        for line in lines:
            print_line(line)
