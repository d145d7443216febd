"""Arguments that the commands share."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from segapp.cli.console import CommandError
from segapp.io.export.datasets import AnnotationScope
from segapp.io.export.formats import FORMATS, ExportChoices, ExportFormat, choose_format
from segapp.io.export.polygon_formats import DEFAULT_SPLIT, DatasetSplit, PictureCopies
from segapp.io.export.rasters import backdrop_from_text
from segapp.io.pages import MAX_PAGES, with_page
from segapp.model.picture import Scale
from segapp.model.settings import (
    DEFAULT_PRESET,
    PRESETS,
    SettingsChoice,
    setting_names,
    wants_encoder,
)
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from pathlib import Path


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


def settings_from(arguments: argparse.Namespace) -> SettingsChoice:
    """Return the settings of ``--preset``, ``--set`` and ``--encoder``."""
    choice = SettingsChoice(arguments.preset, tuple(arguments.changes))
    if arguments.without_encoder:
        return replace(choice, encoder="")
    settings = choice.settings(None)
    unnamed = wants_encoder(settings) and not settings.encoder
    if arguments.encoder is None and not unnamed:
        return choice
    from segapp.encoders.feature_cache import resolve_encoder  # seldom used, and slow to import

    return replace(choice, encoder=resolve_encoder(arguments.encoder).identity)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add ``--as``."""
    listed = "; ".join(f"{entry.name}: {entry.title}" for entry in FORMATS.values())
    parser.add_argument(
        "--as", dest="format", choices=FORMATS, metavar="FORMAT", help=f"format. {listed}"
    )
    add_choices(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Add the options of exports besides their format."""
    parser.add_argument(
        "--edge",
        metavar="PIXELS",
        type=_edge,
        help="soften cut-outs and alpha within this many pixels of the outline; "
        "hard: not at all (default: by the image's size)",
    )
    parser.add_argument(
        "--background",
        metavar="COLOUR|FILE",
        type=backdrop_from_text,
        help="put cut-outs before a colour (#ffcc00, white) or an image (default: transparent)",
    )
    parser.add_argument(
        "--class",
        dest="only",
        metavar="NAME",
        help="mask, cutout and alpha of this class alone (default: of all but the background)",
    )
    parser.add_argument(
        "--per",
        choices=[per.value for per in AnnotationScope],
        default=AnnotationScope.OBJECT.value,
        help="one annotation for each connected part, object or class (default: object)",
    )
    add_scale(parser)


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Add the options of measures."""
    parser.add_argument(
        "--pixel-size",
        metavar="LENGTH",
        type=float,
        help="side of a pixel, for measures and label images (default: as the file or its "
        "folder tells, else 1 px)",
    )
    parser.add_argument(
        "--unit", metavar="NAME", default="px", help="of --pixel-size, µm for instance"
    )
    parser.add_argument(
        "--split",
        action="store_true",
        help="tell objects of a class apart that touch, by cuts at their necks",
    )


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """Add the options of data sets for training."""
    parser.add_argument(
        "--pictures",
        choices=[copies.value for copies in PictureCopies],
        default=PictureCopies.COPY.value,
        help="of yolo, what images holds (default: copy)",
    )
    parser.add_argument(
        "--val",
        metavar="SHARE",
        type=float,
        default=DEFAULT_SPLIT.share,
        help="of yolo, the share of pictures for validation (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=0,
        help="of yolo, another one chooses other pictures for validation (default: 0)",
    )


def _edge(text: str) -> float:
    if text == "hard":
        return 0.0
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"wanted pixels or hard, got {text!r}") from None


def export_choices_from(arguments: argparse.Namespace) -> ExportChoices:
    """Return the values of `add_choices`."""
    given = {
        name: getattr(arguments, name)
        for name in ("edge", "only")
        if getattr(arguments, name, None) is not None
    }
    try:
        if arguments.pixel_size is not None:
            given["scale"] = Scale(arguments.pixel_size, arguments.unit)
        if "per" in arguments:
            given["per"] = AnnotationScope(arguments.per)
        if "pictures" in arguments:
            given["copies"] = PictureCopies(arguments.pictures)
            given["split"] = DatasetSplit(arguments.val, arguments.seed)
        given["backdrop"] = getattr(arguments, "background", None)
        return ExportChoices(**given)
    except SegappError as error:
        raise CommandError(f"{error}.") from error


def format_from(name: str | None, path: Path, choices: ExportChoices) -> ExportFormat:
    """Return the format of ``--as`` or, without it, of the suffix of ``--out``."""
    try:
        return choose_format(path, name, choices)
    except SegappError as error:
        raise CommandError(f"--out: {error}.") from error


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add ``--page``."""
    parser.add_argument(
        "--page",
        metavar="N",
        type=int,
        help="which page of a file with several, from 1; stack[3].tif means page 3 too",
    )


def page_from(arguments: argparse.Namespace, image: Path) -> Path:
    """Return the page of an image that ``--page`` asks for."""
    if arguments.page is None:
        return image
    if not 1 <= arguments.page <= MAX_PAGES:
        raise CommandError(f"--page: wanted 1 to {MAX_PAGES}, got {arguments.page}.")
    return with_page(image, arguments.page)


def make_folder(path: Path) -> Path:
    """Create a folder for results, with its parents, unless it exists."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"The folder {path} cannot be made: {error.strerror or error}."
        ) from error
    return path
