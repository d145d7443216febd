"""``segapp export``: a project's answer in any of the formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.commands.options import (
    CommandError,
    add_json,
    add_settings,
    chosen_format,
    chosen_settings,
    made_folder,
    new_parser,
    tell,
)
from segapp.commands.segment import described, labelled
from segapp.commands.speech import say
from segapp.files.export import FORMATS
from segapp.files.images import load_image
from segapp.files.project_file import Project, load_project
from segapp.learning.training import Trainer

if TYPE_CHECKING:
    import argparse

    from segapp.values.picture import Picture

_EXAMPLES = """\
  segapp export cat.segapp --as mask
  segapp export cat.segapp --as cutout coco-polygons labelme
  segapp export cat.segapp --as mask --out masks/cat.png

formats:
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    listed = "\n".join(f"  {entry.name:<16} {entry.title}" for entry in FORMATS.values())
    parser = new_parser(commands, "export", "write a project's result", _EXAMPLES + listed)
    parser.add_argument("project", metavar="PROJECT", type=Path)
    parser.add_argument(
        "--as",
        dest="formats",
        metavar="FORMAT",
        choices=FORMATS,
        nargs="+",
        required=True,
        help="one or more formats, listed below",
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        type=Path,
        help="a file, or a folder that exists (default: beside the project, named PROJECT-FORMAT)",
    )
    parser.add_argument("--image", metavar="FILE", type=Path, help="the image, if it was moved")
    add_settings(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do the command."""
    project = load_project(arguments.project)
    targets = _targets(arguments)
    picture = _picture(project, arguments.image)
    settings = chosen_settings(arguments).settings(project.settings)
    trainer = Trainer(picture.rgb)
    if project.answer is not None:
        trainer.recall(project.answer)
    labelling = labelled(trainer, project.document, settings)
    files: list[str] = []
    for name, target in targets.items():
        made_folder(target.parent)
        written = FORMATS[name].write(target, labelling, project.document, picture)
        files += [str(path) for path in written]
    result = described(labelling, project.document, picture) | {"files": files}
    tell(arguments, result, files)
    return 0


def _targets(arguments: argparse.Namespace) -> dict[str, Path]:
    project, out = arguments.project, arguments.out
    if out is not None and not out.is_dir():
        if len(arguments.formats) > 1:
            raise CommandError(f"--out: several formats want a folder that exists, got {out}.")
        return {chosen_format(arguments.formats[0], out).name: out}
    folder = project.parent if out is None else out
    return {
        name: folder / f"{project.stem}-{name}{FORMATS[name].suffix}" for name in arguments.formats
    }


def _picture(project: Project, image: Path | None) -> Picture:
    path = image or project.image_path
    if image is None and not path.is_file():
        raise CommandError(f"The project's image {path} is not there: say where it is by --image.")
    picture = load_image(path)
    if project.image_sha256 and picture.sha256 != project.image_sha256:
        say(f"{path.name} is not the image that the project was made with.", sys.stderr)
    return picture
