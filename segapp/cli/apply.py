"""``segapp apply``: a learnt model applied to other images of its kind."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from segapp.app.result import SegmentationModel
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
from segapp.io.export.formats import default_format, formats
from segapp.model.validation import SegappError, failure_message, sanitize

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


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
    model = SegmentationModel.load(arguments.model)
    name = arguments.format or default_format(len(model.classes)).name
    entry = formats(export_choices_from(arguments))[name]
    if entry.name == "strokes":
        raise CommandError("--as: a learnt model has no strokes to write.")
    out = make_folder(arguments.out)
    results: list[dict[str, Any]] = []
    names: set[str] = set()
    images = [page_from(arguments, image) for image in arguments.images]
    with _opened(model):
        for image in tqdm(images, unit="image", disable=None):
            target = out / (_new_name(image, names) + entry.suffix)
            try:
                result = model.apply(image)
                files = entry.write(target, result.labelling, result.document, result.picture)
                summary = result_summary(result.labelling, result.document, result.picture)
                results.append(summary | {"files": [str(path) for path in files]})
            except Exception as error:  # noqa: BLE001 - one image, not the others
                _log.debug("image %s", image, exc_info=True)
                message = failure_message(error)
                print_beside_progress(f"{image}: {message}")
                results.append({"image": str(image), "error": message})
    failed = sum("error" in result for result in results)
    written = [name for result in results for name in result.get("files", [])]
    summary = {"images": len(results), "failed": failed, "results": results}
    print_result(arguments, summary, written)
    return SOME_FAILED if failed else 0


@contextmanager
def _opened(model: SegmentationModel) -> Iterator[None]:
    """Keep the process of the model's encoder, if it has one."""
    with ExitStack() as stack:
        try:
            stack.enter_context(model)
        except SegappError as error:
            from segapp.encoders.packages import published_name

            identity = model.learnt.settings.encoder
            name = published_name(identity)
            how = "add it by segapp encoder add" if name is None else f"segapp encoder get {name}"
            raise CommandError(
                f"The model was learnt with the encoder {name or identity[:12] + '…'}, "
                f"which is not there: {how}."
            ) from error
        yield


def _new_name(image: Path, taken: set[str]) -> str:
    """Name the result like the image, with a number where an earlier one has the name."""
    stem, count = sanitize(image.stem), 1
    name = stem
    while name.casefold() in taken:
        count += 1
        name = f"{stem} {count}"
    taken.add(name.casefold())
    return name
