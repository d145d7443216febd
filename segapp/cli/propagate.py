"""``segapp propagate``: marks of some pages of a stack or film carried to all."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from segapp.app.stack import Stack
from segapp.cli.arguments import add_settings, make_folder, new_parser, settings_from
from segapp.cli.console import add_output_options, print_result
from segapp.io.export.stacks import STACK_FORMATS

if TYPE_CHECKING:
    import argparse


_EXAMPLES = """\
  segapp propagate cells.ome.tif --strokes cells.segapp --out result
  segapp propagate frames --strokes frames --out result --as masks coco mp4
  segapp propagate dog.mp4 --strokes dog.segapp --out result --as gif --until 0.7

STACK is a multi-page TIFF, OME-TIFF, GIF, WebP, OME-Zarr image, film or folder of numbered
frames. A project is that of one page: the window and segapp.Stack write it."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands, "propagate", "carry marks of some pages of a stack or film to all", _EXAMPLES
    )
    parser.add_argument("stack", metavar="STACK", type=Path)
    parser.add_argument(
        "--strokes",
        metavar="PROJECT",
        type=Path,
        nargs="+",
        required=True,
        help="projects of pages of the stack, or folders with such projects",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="where to write")
    parser.add_argument(
        "--as",
        dest="formats",
        metavar="FORMAT",
        nargs="+",
        choices=STACK_FORMATS,
        default=["labels"],
        help=f"any of {', '.join(STACK_FORMATS)} (default: labels)",
    )
    parser.add_argument(
        "--until",
        metavar="CONFIDENCE",
        type=float,
        default=0.0,
        help="report pages of less confidence than this, from 0 to 1, as unsure",
    )
    add_settings(parser)
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    stack = Stack(arguments.stack)
    for path in arguments.strokes:
        stack.load(path)
    stack.settings = settings_from(arguments).settings(stack.settings)
    start = time.perf_counter()
    with tqdm(total=len(stack), unit="page", disable=None, leave=False) as bar:
        for step in stack.propagation():
            if step is not None:
                bar.update()
    seconds = time.perf_counter() - start
    make_folder(arguments.out)
    files = [str(path) for path in stack.export(arguments.out, arguments.formats)]
    pages = [
        {
            "page": page + 1,
            "image": str(stack.paths[page]),
            "marked": page in stack.marked,
            "confidence": round(stack.answer(page).confidence, 4),
            "unsure": stack.answer(page).confidence < arguments.until,
        }
        for page in range(len(stack))
    ]
    result = {
        "stack": str(arguments.stack),
        "pages": pages,
        "tracks": len(stack.tracks),
        "files": files,
        "seconds": round(seconds, 3),
    }
    unsure = [f"page {each['page']} is unsure" for each in pages if each["unsure"]]
    print_result(arguments, result, [*files, *unsure])
    return 0
