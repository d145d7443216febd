"""``segapp export``: the result of a project, or of a folder, in any format."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from segapp.app.segmenter import Segmenter
from segapp.batch.folder_export import (
    EXPORT_FOLDER,
    ExportFinished,
    ExportStatus,
    FolderExport,
    ImageExported,
)
from segapp.cli.arguments import (
    add_choices,
    add_dataset,
    add_settings,
    export_choices_from,
    format_from,
    make_folder,
    new_parser,
    settings_from,
)
from segapp.cli.console import (
    SOME_FAILED,
    CommandError,
    add_output_options,
    print_beside_progress,
    print_result,
)
from segapp.cli.segment import result_summary, segment_with_progress, warn_of_other_image
from segapp.io.export.datasets import AnnotationScope
from segapp.io.export.formats import (
    DEFAULT_EXPORT,
    FOLDER_FORMATS,
    FORMATS,
    folder_formats,
    formats,
)
from segapp.io.images import load_image
from segapp.io.pages import page_file
from segapp.io.project import Project, load_project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from segapp.io.export.datasets import DatasetFormat
    from segapp.io.export.formats import ExportFormat
    from segapp.model.picture import Picture


_EXAMPLES = """\
  segapp export cat.segapp --as mask
  segapp export cat.segapp --as cutout coco-polygons labelme
  segapp export cat.segapp --as mask --out masks/cat.png
  segapp export photos --as coco-rle --done                one file for the finished images
  segapp export photos --as yolo --out dataset
  segapp export cells --measures --pixel-size 0.65 --unit µm --split

formats of a project, and of each image of a folder:
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    listed = _listed(list(FORMATS.values()))
    whole = [entry for entry in FOLDER_FORMATS.values() if entry.is_folder_wide]
    listed += "\n\nformats of a folder as a whole:\n" + _listed(whole)
    parser = new_parser(
        commands, "export", "write a project's result, or a folder's", _EXAMPLES + listed
    )
    parser.add_argument(
        "project",
        metavar="PROJECT | FOLDER",
        type=Path,
        help="a project, or a folder of images with their projects; run again, an export of "
        "a folder continues where it was stopped",
    )
    parser.add_argument(
        "--as",
        dest="formats",
        metavar="FORMAT",
        choices=FOLDER_FORMATS,
        nargs="+",
        default=[],
        help="one or more formats, listed below",
    )
    parser.add_argument(
        "--measures",
        action="store_true",
        help="write area, place and more as CSV, of a folder as one table: like --as measures",
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        type=Path,
        help="a file, or a folder that exists (default: beside the project, named "
        f"PROJECT-FORMAT; for a folder, {EXPORT_FOLDER}/FORMAT in it)",
    )
    parser.add_argument(
        "--projects",
        metavar="DIR",
        type=Path,
        help="of a folder, where its projects are (default: beside the images)",
    )
    parser.add_argument(
        "--done", action="store_true", help="of a folder, only the finished images"
    )
    parser.add_argument(
        "--relearn",
        action="store_true",
        help="learn again, where a project holds its result or an export is written already",
    )
    parser.add_argument("--image", metavar="FILE", type=Path, help="the image, if it was moved")
    add_choices(parser)
    add_dataset(parser)
    add_settings(parser)
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if arguments.measures and "measures" not in arguments.formats:
        arguments.formats = [*arguments.formats, "measures"]
    if not arguments.formats:
        raise CommandError("--as: wanted one or more formats, got none.")
    if arguments.project.is_dir():
        return _export_folder(arguments)
    for name in arguments.formats:
        if name not in FORMATS:
            raise CommandError(f"--as: {name} is for a folder, got {arguments.project.name}.")
    project = load_project(arguments.project)
    if arguments.split:
        project = replace(project, document=project.document.with_all_split())
    table = formats(export_choices_from(arguments))
    targets = _targets(arguments)
    picture = _picture(project, arguments.image)
    segmenter = Segmenter(picture, project, settings=settings_from(arguments))
    stored = None if arguments.relearn else segmenter.stored_answer()
    labelling = segment_with_progress(segmenter) if stored is None else stored.labelling
    files: list[str] = []
    for name, target in targets.items():
        make_folder(target.parent)
        written = table[name].write(target, labelling, project.document, picture)
        files += [str(path) for path in written]
    result = result_summary(labelling, project.document, picture) | {"files": files}
    print_result(arguments, result, files)
    return 0


def _listed(entries: Sequence[ExportFormat | DatasetFormat]) -> str:
    return "\n".join(f"  {entry.name:<16} {entry.title}" for entry in entries)


def _export_folder(arguments: argparse.Namespace) -> int:
    """Write a folder in each format, continuing where the command was stopped."""
    folder, choice = arguments.project, settings_from(arguments)
    if arguments.image is not None:
        raise CommandError("--image: is for a project, got a folder.")
    table = folder_formats(export_choices_from(arguments))
    counts: Counter[str] = Counter()
    files: list[str] = []
    failures: list[dict[str, str]] = []
    for name in arguments.formats:
        out = arguments.out or folder / EXPORT_FOLDER / name
        if len(arguments.formats) > 1 and arguments.out is not None:
            out = arguments.out / name
        export = replace(
            FolderExport.of_folder(folder, table[name], make_folder(out)),
            project_folder=arguments.projects or folder,
            per=AnnotationScope(arguments.per),
            done_only=arguments.done,
            choice=choice,
            relearn=arguments.relearn,
            split=arguments.split,
        )
        if not export.images:
            raise CommandError(f"There is no image in {folder}.")
        with tqdm(unit="image", disable=None) as bar:
            for step in export.run():
                if isinstance(step, ExportFinished):
                    files += [str(path) for path in step.files or (out,)]
                elif isinstance(step, ImageExported):
                    bar.total = step.total
                    bar.update()
                    counts[step.status.value] += 1
                    if step.status is ExportStatus.FAILED:
                        print_beside_progress(f"{step.image}: {step.message}")
                        failures.append({"image": str(step.image), "error": step.message})
    result = {status.value: counts[status.value] for status in ExportStatus} | {
        "failures": failures,
        "files": files,
    }
    summary = ", ".join(f"{count} {word}" for word, count in counts.items())
    print_result(arguments, result, [*files, summary or "no image is finished yet"])
    return SOME_FAILED if failures else 0


def _targets(arguments: argparse.Namespace) -> dict[str, Path]:
    project, out = arguments.project, arguments.out
    if out is not None and not out.is_dir():
        if len(arguments.formats) > 1:
            raise CommandError(f"--out: several formats want a folder that exists, got {out}.")
        return {format_from(arguments.formats[0], out, DEFAULT_EXPORT).name: out}
    folder = project.parent if out is None else out
    return {
        name: folder / f"{project.stem}-{name}{FORMATS[name].suffix}" for name in arguments.formats
    }


def _picture(project: Project, image: Path | None) -> Picture:
    path = image or project.image_path
    if image is None and not page_file(path).is_file():
        raise CommandError(f"The project's image {path} is not there: say where it is by --image.")
    picture = load_image(path, project.document.display)
    warn_of_other_image(project, picture)
    return picture
