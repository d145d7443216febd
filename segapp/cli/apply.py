"""``segapp apply``: a learnt model applied to other images of its kind."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from segapp.cli.arguments import (
    add_format,
    add_page,
    export_choices_from,
    make_folder,
    new_parser,
    page_from,
)
from segapp.cli.console import (
    SOME_FAILED,
    CommandError,
    add_output_options,
    print_beside_progress,
    print_result,
)
from segapp.cli.segment import result_summary
from segapp.engine.learnt_model import load_model
from segapp.engine.loading import open_encoder
from segapp.io.export.formats import default_format, formats
from segapp.io.folder_files import folder_display
from segapp.io.images import load_image
from segapp.model.document import Document
from segapp.model.validation import SegappError, failure_message

if TYPE_CHECKING:
    import argparse

    from segapp.engine.learnt_model import LearntModel
    from segapp.engine.loading import EncodeImage
    from segapp.io.export.formats import ExportFormat


_log = logging.getLogger(__name__)

_EXAMPLES = """\
  segapp segment one.jpg --strokes one.segapp --out one.png --save-model cells.shlmodel
  segapp apply cells.shlmodel two.jpg three.jpg --out masks
  segapp apply cells.shlmodel *.tif --out results --as numpy

A model that was learnt with an encoder needs the same one: segapp encoder list."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    parser = new_parser(commands, "apply", "apply a learnt model to other images", _EXAMPLES)
    parser.add_argument("model", metavar="MODEL", type=Path)
    parser.add_argument("images", metavar="IMAGE", type=Path, nargs="+")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="where to write")
    add_page(parser)
    add_format(parser)
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    model = load_model(arguments.model)
    name = arguments.format or default_format(len(model.classes)).name
    entry = formats(export_choices_from(arguments))[name]
    if entry.name == "strokes":
        raise CommandError("--as: a learnt model has no strokes to write.")
    out = make_folder(arguments.out)
    results: list[dict[str, Any]] = []
    names: set[str] = set()
    images = [page_from(arguments, image) for image in arguments.images]
    with ExitStack() as stack:
        sight = _sight(model, stack)
        for image in tqdm(images, unit="image", disable=None):
            target = out / (_new_name(image, names) + entry.suffix)
            try:
                results.append(_apply(model, image, target, entry, sight))
            except Exception as error:  # noqa: BLE001 - one image, not the others
                _log.debug("image %s", image, exc_info=True)
                message = failure_message(error)
                print_beside_progress(f"{image}: {message}")
                results.append({"image": str(image), "error": message})
    failed = sum("error" in result for result in results)
    files = [name for result in results for name in result.get("files", [])]
    print_result(arguments, {"images": len(results), "failed": failed, "results": results}, files)
    return SOME_FAILED if failed else 0


def _sight(model: LearntModel, stack: ExitStack) -> EncodeImage:
    """Return what the model's encoder sees with, for as long as the stack is open."""
    digest = model.settings.encoder
    try:
        return stack.enter_context(open_encoder(model.settings))
    except SegappError as error:
        raise CommandError(
            f"The model was learnt with the encoder {digest[:12]}…, which is not there: add it by "
            "segapp encoder add."
        ) from error


def _apply(
    model: LearntModel, image: Path, target: Path, entry: ExportFormat, sight: EncodeImage
) -> dict[str, Any]:
    picture = load_image(image, folder_display(image))
    labelling = model.apply(picture.rgb, picture.channels, sight(picture.rgb))
    document = Document(model.classes, display=picture.display)
    files = entry.write(target, labelling, document, picture)
    return result_summary(labelling, document, picture) | {"files": [str(path) for path in files]}


def _new_name(image: Path, taken: set[str]) -> str:
    """Name the result like the image, with a number where an earlier one has the name."""
    name, count = image.stem, 1
    while name.casefold() in taken:
        count += 1
        name = f"{image.stem} {count}"
    taken.add(name.casefold())
    return name
