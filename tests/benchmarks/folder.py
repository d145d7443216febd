"""Folders that learn: planted mistakes found, and strokes saved from picture to picture.

    python tests/benchmarks/folder.py mistakes FOLDER … [--pictures 16] [--wrong 0.05]
    python tests/benchmarks/folder.py strokes FOLDER … [--pictures 25] [--json FILE]
    python tests/benchmarks/folder.py order FOLDER … [--pictures 25]

Each FOLDER is ``cells`` or ``grains`` (made: cells of two colours or grains of two textures on an
uneven ground, 25 objects in each picture), a film with the folders ``images`` and ``masks``, or a
data set in the layout of Gulshan with a prefix of names (``gulshan:person_20``).

Mistakes: in the labels a share of the objects gets another class, is missing, or is shifted by a
27th of the width; `segapp.engine.folder_model` ranks areas, and one counts as found where its
point lies in a planted change.

Strokes and order: picture by picture the robot user marks the largest mistake until the IoU is
90 %: from one dab for each class, which count as strokes, or from the answer of a model of all
pictures before, where that was right enough about the newest ones.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from segapp.app.folder_learning import FolderLearner, code_index, usefulness
from segapp.batch.cases import find_cases, load_truth
from segapp.batch.robot_user import first_dabs, robot_stroke, score
from segapp.engine.folder_model import SETTINGS, RegionTable, review
from segapp.engine.preparation import PreparedPicture
from segapp.engine.trainer import Trainer
from segapp.io.images import load_image
from segapp.model.answer import NotEnoughStrokes, final_answer
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.document import Document
from segapp.model.labelling import InitialLabels
from segapp.model.settings import PRESETS

KINDS = tuple(ClassInfo(name, (40 * i, 90, 200)) for i, name in enumerate(("one", "other")))
KINDS = (*KINDS, ClassInfo("background", (0, 0, 0)))
SIZE, N_OBJECTS, SHIFT = (240, 320), 25, 1 / 27
LEAST_OBJECT = 0.002  # of a picture
LEVEL, MOST = 0.9, 20


def made_picture(kind, rng):
    """Return pixels and labels."""
    height, width = SIZE
    y, x = np.mgrid[:height, :width]
    ground = ndimage.gaussian_filter(rng.normal(0, 1, SIZE), 25)[..., None] * rng.uniform(100, 300)
    rgb = np.full((*SIZE, 3), (200, 190, 200.0)) + rng.normal(0, 6, (*SIZE, 3)) + ground
    labels, n_made = np.full(SIZE, 2, np.uint8), 0
    for _ in range(6 * N_OBJECTS):
        radius, flat = rng.uniform(9, 15), rng.uniform(0.75, 1.3)
        row, column = rng.uniform(radius, height - radius), rng.uniform(radius, width - radius)
        inside = ((y - row) * flat) ** 2 + ((x - column) / flat) ** 2 < radius**2
        if (labels[ndimage.binary_dilation(inside, iterations=2)] != 2).any():
            continue
        label, count = int(rng.integers(2)), np.count_nonzero(inside)
        labels[inside] = label
        n_made += 1
        noise = rng.normal(0, 10, (count, 3))
        if kind == "cells":
            colour = ((120, 60, 130), (70, 110, 160))[label] + rng.normal(0, 12, 3)
            rgb[inside] = colour + noise
        else:
            wave = 45 * np.sin(1.3 * (y if label else x) + rng.uniform(0, 6))
            rgb[inside] = 130 + wave[inside][:, None] + noise
        if n_made == N_OBJECTS:
            break
    return np.clip(rgb, 0, 255).astype(np.uint8), labels


def objects_of(labels, n_classes, background):
    """Yield the connected parts of all classes but the background."""
    for label in sorted(set(range(n_classes)) - {background}):
        parts, count = ndimage.label(labels == label)
        for number in range(1, count + 1):
            inside = parts == number
            if inside.mean() >= LEAST_OBJECT:
                yield inside, label


def planted(labels, classes, share, rng):
    """Return labels with mistakes, the mask of what has changed, and their number."""
    background = Document(classes).background
    wrong, changed, count = labels.copy(), np.zeros(labels.shape, bool), 0
    for inside, label in objects_of(labels, len(classes), background):
        if rng.uniform() >= share:
            continue
        count += 1
        way = rng.integers(3)
        others = sorted(set(range(len(classes))) - {label})
        wrong[inside] = others[0] if way == 0 else background
        changed |= inside
        if way == 2:
            shift = round(SHIFT * labels.shape[1])
            moved = np.roll(inside, tuple(rng.choice((-shift, shift), 2)), (0, 1))
            moved &= wrong == background
            wrong[moved] = label
            changed = (changed | moved) & ~(inside & moved)
    return wrong, changed, count


def find_mistakes(folders, n_pictures, share, seed):
    """Print the precision of the ranked areas of some folders."""
    print("| folder | pictures | planted | precision at 10 | at 20 | listed | of them planted |")
    print("|---|---|---|---|---|---|---|")
    for folder in folders:
        rng, learner, total, changes = np.random.default_rng(seed), None, 0, {}
        for number, (rgb, truth, classes) in enumerate(pictures_of(folder, n_pictures)):
            learner = learner or FolderLearner(classes)
            labels = finished_labels(truth, Document(classes).background)
            wrong, changed, count = planted(labels, classes, share, rng)
            learner.add(PreparedPicture(rgb), Path(f"{number:03}.png"), wrong)
            changes[f"{number:03}.png"], total = changed, total + count
        suspects = review(learner.model, list(learner.pictures.values()))
        hits = [bool(changes[each.name][int(each.y), int(each.x)]) for each in suspects]
        shares = [np.mean(hits[:most]) if hits else 0.0 for most in (10, 20)]
        print(
            f"| {Path(folder.rstrip('/')).name} | {len(changes)} | {total} | {shares[0]:.2f} "
            f"| {shares[1]:.2f} | {len(hits)} | {sum(hits)} |",
            flush=True,
        )


def pictures_of(folder, most):
    """Yield pixels, truth and classes of the pictures of a folder."""
    place, _, prefix = folder.partition(":")
    if place in ("cells", "grains"):
        rng = np.random.default_rng(0)
        for _ in range(most):
            rgb, labels = made_picture(place, rng)
            yield rgb, labels.astype(np.int16), KINDS
        return
    masks = Path(place) / "masks"
    if masks.is_dir():
        for path in sorted((Path(place) / "images").iterdir())[:most]:
            with Image.open(masks / f"{path.stem}.png") as image:
                inside = np.array(image.convert("L")) > 127
            yield load_image(path).rgb, np.where(inside, 0, 1).astype(np.int16), TWO_CLASSES
        return
    cases = [case for case in find_cases(place) if case.image.name.startswith(prefix)]
    for case in cases[:most]:
        picture = load_image(case.image)
        yield picture.rgb, load_truth(case.truth, picture.size, 2), TWO_CLASSES


def settings_of(folder):
    """Return the settings for one of many objects, or for the object of a picture."""
    return PRESETS["alike" if folder in ("cells", "grains") else "best"]


def strokes_to_level(trainer, settings, document, truth, n_before):
    """Return the number of strokes to the level, and the IoU of the beginning."""
    first = None
    for count in range(MOST + 1):
        try:
            labels = final_answer(trainer.updates(document, settings)).labelling.labels
        except NotEnoughStrokes:
            labels = np.full(truth.shape, document.background)
        value = score(labels, truth, len(document.classes), document.background)
        first = value if first is None else first
        if value >= LEVEL or count == MOST:
            break
        stroke = robot_stroke(labels, truth)
        if stroke is None:
            break
        document = document.with_stroke(stroke)
    return n_before + count, first


def finished_labels(truth, background):
    """Return the truth as an annotator leaves it; what is not judged is background."""
    return np.where(truth < 0, background, truth).astype(np.uint8)


def count_strokes(folders, most, path):
    """Print strokes to the level with and without the folder's model."""
    print("| folder | | first answer | pictures 1–9 | from picture 10 on | all |")
    print("|---|---|---|---|---|---|")
    curves = {}
    for folder in folders:
        learner, alone, helped, first = None, [], [], []
        settings = settings_of(folder)
        for number, (rgb, truth, classes) in enumerate(pictures_of(folder, most)):
            trainer, picture = Trainer(rgb), PreparedPicture(rgb)
            learner = learner or FolderLearner(classes)
            dabs = first_dabs(truth, len(classes))
            document = Document(classes, dabs).as_one_state()
            count, begun = strokes_to_level(trainer, settings, document, truth, len(dabs))
            alone.append(count)
            if learner.model is not None and learner.is_reliable:
                answer = final_answer(learner.model.updates(picture))
                initial = InitialLabels.from_labelling(answer.labelling, "folder")
                document = Document(classes, initial=initial)
                count, begun = strokes_to_level(Trainer(rgb), settings, document, truth, 0)
            helped.append(count)
            first.append(begun)
            labels = finished_labels(truth, document.background)
            learner.add(picture, Path(f"{number:03}.png"), labels)
        name = Path(folder.rstrip("/")).name
        curves[name] = {"alone": alone, "folder": helped, "first": first}
        for title, counts in (("dabs on each", alone), ("the folder learns", helped)):
            cells = (np.mean(counts[:9]), np.mean(counts[9:] or [np.nan]), np.mean(counts))
            started = f"{np.mean(first[9:] or first):.3f}" if counts is helped else ""
            text = " | ".join(f"{each:.1f}" for each in cells)
            print(f"| {name} | {title} | {started} | {text} |", flush=True)
    if path is not None:
        path.write_text(json.dumps(curves, indent=1))


def compare_orders(folders, most):
    """Print the mean IoU of first answers for the pictures left, by the order of learning."""
    shown = (1, 2, 3, 5, 8)
    print(f"| folder | order | {' | '.join(f'{n} learnt' for n in shown)} |")
    print("|---|---|" + "---|" * len(shown))
    for folder in folders:
        pictures = list(pictures_of(folder, most))
        prepared = [PreparedPicture(rgb) for rgb, _, _ in pictures]
        tables = [RegionTable.of(picture) for picture in prepared]
        for title in ("most useful next", "random, mean of 3"):
            seeds = (0,) if title.startswith("most") else (1, 2, 3)
            curves = [learnt_in_order(pictures, prepared, tables, shown, seed) for seed in seeds]
            cells = " | ".join(f"{value:.3f}" for value in np.mean(curves, axis=0))
            print(f"| {Path(folder.rstrip('/')).name} | {title} | {cells} |", flush=True)


def learnt_in_order(pictures, prepared, tables, shown, seed):
    """Return the mean IoU over all pictures by regions, after so many were learnt."""
    classes, values = pictures[0][2], []
    learner, left = FolderLearner(classes), list(range(len(pictures)))
    rng = np.random.default_rng(seed)
    for count in range(1, max(shown) + 1):
        chosen = left[0] if seed == 0 else int(rng.choice(left))
        if seed == 0 and learner.model is not None:
            index = code_index(list(learner.pictures.values()))
            useful = {n: usefulness(learner, index, Path(str(n)), tables[n]).value for n in left}
            chosen = max(useful, key=useful.get)
        left.remove(chosen)
        _, truth, _ = pictures[chosen]
        background = Document(classes).background
        labels = finished_labels(truth, background)
        learner.add(prepared[chosen], Path(f"{chosen:03}.png"), labels)
        if count in shown:
            values.append(
                np.mean([region_iou(learner, pictures[n], prepared[n], tables[n]) for n in left])
            )
    return values


def region_iou(learner, picture, prepared, table):
    """Return the IoU of the likeliest class of each region, painted."""
    _, truth, classes = picture
    regions = prepared.table(SETTINGS).prototypes.index_map
    labels = learner.model.scores(table).argmax(axis=1)[regions]
    times = prepared.times
    coarse = truth[::times, ::times]
    return score(labels, coarse, len(classes), Document(classes).background)


def main():
    """Run one of the three measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("mistakes", "strokes", "order"))
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--pictures", type=int, default=25)
    parser.add_argument("--wrong", type=float, default=0.05, help="share of the objects")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "mistakes":
        find_mistakes(arguments.folders, arguments.pictures, arguments.wrong, arguments.seed)
    elif arguments.what == "strokes":
        count_strokes(arguments.folders, arguments.pictures, arguments.json)
    else:
        compare_orders(arguments.folders, arguments.pictures)


if __name__ == "__main__":
    main()
