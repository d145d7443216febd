"""``segapp explain``: the reasons for the class of a pixel, as JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segapp.app.inputs import load_inputs
from segapp.app.segmenter import Segmenter
from segapp.cli.arguments import add_page, add_settings, new_parser, page_from, settings_from
from segapp.cli.console import CommandError, add_output_options, print_json, print_line
from segapp.imaging.rasterise import mark_patch
from segapp.model.validation import SegappError
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from segapp.app.result import Result

_EXAMPLES = """\
  segapp explain cat.jpg --strokes cat.segapp --at 120,80
  segapp explain cat.jpg --strokes cat-strokes.png --at 120,80 --at 30.5,200 --out why.json
  segapp explain cat.jpg --strokes cat.segapp --at 120,80 --shares-only

Strokes are numbered from 1 in their order; strokes of a PNG part by part, listed as "strokes".
Those with the largest shares are left out on trial, which takes a second or two."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    parser = new_parser(commands, "explain", "explain the class of pixels", _EXAMPLES)
    parser.add_argument("image", metavar="IMAGE", type=Path)
    add_page(parser)
    parser.add_argument(
        "--strokes",
        metavar="FILE",
        type=Path,
        required=True,
        help="a project, or a PNG with one channel: 0 for unmarked pixels, classes from 1",
    )
    parser.add_argument(
        "--at",
        metavar="X,Y",
        dest="points",
        type=_point,
        action="append",
        required=True,
        help="a pixel, counted from the top left corner; may be repeated",
    )
    parser.add_argument(
        "--shares-only", action="store_true", help="leave no strokes out on trial: quicker"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="where to write the JSON")
    add_settings(parser)
    add_output_options(parser)


def _point(text: str) -> tuple[float, float]:
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"wanted X,Y in pixels, got {text!r}") from None
    return x, y


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    settings = settings_from(arguments)
    picture, strokes = load_inputs(page_from(arguments, arguments.image), arguments.strokes, None)
    document = strokes.document.with_separate_patches()
    segmenter = Segmenter(picture, document, settings=settings.settings(strokes.settings))
    result = segmenter.result
    height, width = picture.size
    outside = [(x, y) for x, y in arguments.points if not (0 <= x < width and 0 <= y < height)]
    if outside:
        x, y = outside[0]
        raise CommandError(f"--at: wanted a pixel of {width} x {height}, got {x:g},{y:g}.")
    check = not arguments.shares_only
    plain: dict[str, Any] = {
        "image": str(picture.path),
        "strokes": _listed_strokes(result),
        "pixels": [
            result.explain(x, y, check=check).to_plain(result.classes) for x, y in arguments.points
        ],
    }
    if arguments.out is not None:
        try:
            with atomic_write(arguments.out) as file:
                file.write(json.dumps(plain, ensure_ascii=False, indent=2).encode())
        except OSError as error:
            raise SegappError(
                "{} cannot be written: {}.", str(arguments.out), error.strerror or str(error)
            ) from error
    if arguments.json or arguments.out is None:
        print_json(plain)
    else:
        for pixel in plain["pixels"]:
            print_line(f"{pixel['x']:g},{pixel['y']:g}: {pixel['sentence']}")
    return 0


def _listed_strokes(result: Result) -> list[dict[str, Any]]:
    """Return number, class and bounding box (left, top, right, bottom) of each stroke."""
    listed = []
    for number, mark in enumerate(result.document.strokes, start=1):
        patch = mark_patch(mark, result.picture.size)
        box = (
            None
            if patch is None
            else [patch.left, patch.top, patch.left + patch.width, patch.top + patch.height]
        )
        name = None if mark.label is None else result.classes[mark.label]
        listed.append({"number": number, "class": name, "box": box})
    return listed
