"""Error of soft edges, on composites whose alpha is known.

    python tests/benchmarks/matting.py [--sheet FILE.png] [--scale 1]
    python tests/benchmarks/matting.py --fur FILE.png [--megapixels 12]

Objects with hair, fur, motion blur, defocus and glass are put before the sample pictures. Each
method gets the binary mask (alpha above one half) and a band around its outline, nothing else.
The feather gets the best of six widths, chosen with the truth in hand. Errors are root mean
squares over the band, from 0 to 1: of alpha, and of the object put before white with its colours.
With `--fur`, one large picture is cut out with the default edge, from
the best mask and from one without single hairs, and two places of its outline are drawn pixel by
pixel: seen, binary, soft, truth.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import pymatting
from PIL import Image, ImageDraw
from scipy.ndimage import (
    binary_opening,
    distance_transform_edt,
    gaussian_filter,
    uniform_filter1d,
)

from segapp.imaging.matting import default_band_width, soft_edge

SAMPLES = Path(__file__).parents[2] / "assets/samples"
OBJECTS = ("astronaut", "leaf", "coffee")
SCENES = ("fruit", "coffee", "leaf")
FEATHERS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)


def main():
    """Print the table and draw the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sheet", type=Path, help="draw before and after")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the pictures")
    parser.add_argument("--fur", type=Path, help="cut out large fur, draw it, and no table")
    parser.add_argument("--megapixels", type=float, default=12.0)
    arguments = parser.parse_args()
    if arguments.fur:
        cut_out_fur(arguments.fur, arguments.megapixels)
        return
    side = round(400 * arguments.scale)
    errors, colours, seconds, rows = {}, {}, {}, []
    for kind, drawn in KINDS.items():
        for number, (front, back) in enumerate(zip(OBJECTS, SCENES, strict=True)):
            truth = drawn(side, np.random.default_rng(number))
            fore, behind = sample(front, side), sample(back, side)
            seen = np.rint(255 * over(truth, fore, behind)).astype(np.uint8)
            mask = truth > 0.5
            band = max(6, round(side * 0.04))
            near = np.where(mask, distance_transform_edt(mask), distance_transform_edt(~mask))
            doubtful = near <= band
            for name, (alpha, object_rgb), took in answers(seen, mask, doubtful, band, truth):
                wrong = (alpha - truth)[doubtful]
                shown = over(alpha, object_rgb, 1.0) - over(truth, fore, 1.0)
                errors.setdefault((kind, name), []).append(np.mean(wrong**2))
                colours.setdefault((kind, name), []).append(np.mean(shown[doubtful] ** 2))
                seconds.setdefault(name, []).append(took)
                if number == 0 and name in ("binary mask", "soft edge"):
                    rows.append(over(alpha, object_rgb, np.array([0.9, 0.2, 0.6])))
            if number == 0:
                rows += [seen / 255.0, over(truth, fore, np.array([0.9, 0.2, 0.6]))]
    report(errors, colours, seconds)
    if arguments.sheet:
        draw_sheet(arguments.sheet, rows)


def cut_out_fur(path, megapixels):
    """Cut out one large picture with the usual edge; print time, memory and errors.

    The mask is once the best there is, alpha above one half, and once what people have: all
    single hairs are cut off (opened by a thousandth of the side).
    """
    side = round(1000 * megapixels**0.5)
    truth, fore = fur(side, np.random.default_rng(0))
    behind = gaussian_filter(sample("fruit", side).astype(np.float32), (side / 60, side / 60, 0))
    seen = np.rint(255 * over(truth, fore, behind)).astype(np.uint8)
    best, width = truth > 0.5, default_band_width(seen.shape[:2])
    cut_off = binary_opening(best, iterations=max(1, round(side / 700)))
    near = np.where(best, distance_transform_edt(best), distance_transform_edt(~best)) <= width
    rows = []
    for name, mask in (("best mask", best), ("hairs cut off", cut_off)):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        matte = finished(soft_edge(seen, mask, width))
        took = time.process_time() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        errors = [
            np.sqrt(np.mean((alpha - truth)[near] ** 2)) for alpha in (mask, matte.alpha / 255.0)
        ]
        print(f"{name}: binary {errors[0]:.4f}, soft {errors[1]:.4f} within {width:.0f} pixels")
        print(f"{megapixels:g} MP: {took:.1f} CPU s, peak grew by {grown:.0f} MB")
        rows += list(places(seen, mask, matte, truth, fore))
    sheet = np.rint(255 * np.clip(np.vstack(rows), 0, 1)).astype(np.uint8)
    Image.fromarray(sheet).save(path)


def places(seen, mask, matte, truth, fore):
    """Draw two places of the outline pixel by pixel: seen, binary, soft, truth."""
    side, ground = len(seen), np.float32([0.9, 0.2, 0.6])
    reach = min(300, side // 4)
    for top, left in ((0.24, 0.5), (0.5, 0.77)):
        y, x = round(top * side) - reach // 2, round(left * side) - reach // 2
        box = np.s_[y : y + reach, x : x + reach]
        colours = seen[box] / 255.0
        yield np.hstack(
            [
                colours,
                over(mask[box].astype(float), colours, ground),
                over(matte.alpha[box] / 255.0, matte.rgb[box] / 255.0, ground),
                over(truth[box], fore[box], ground),
            ]
        )


def answers(seen, mask, doubtful, band, truth):
    """Yield what each method says: alpha and colours, and its CPU seconds."""
    rgb = seen / 255.0
    yield "binary mask", (mask.astype(float), rgb), 0.0
    feathers = [gaussian_filter(mask.astype(float), width) for width in FEATHERS]
    best = min(feathers, key=lambda alpha: np.mean((alpha - truth)[doubtful] ** 2))
    yield "Gaussian feather, best width", (best, rgb), 0.0
    start = time.process_time()
    matte = finished(soft_edge(seen, mask, band))
    yield (
        "soft edge",
        (matte.alpha / 255.0, matte.rgb / 255.0),
        time.process_time() - start,
    )
    start = time.process_time()
    alpha = pymatting.estimate_alpha_cf(rgb, np.where(doubtful, 0.5, mask))
    pure = pymatting.estimate_foreground_ml(rgb, alpha)
    yield "PyMatting, closed form", (alpha, pure), time.process_time() - start


def finished(steps):
    """Return what a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def over(alpha, front, back):
    """Put an object before something else."""
    return alpha[..., None] * front + (1 - alpha[..., None]) * back


def sample(name, side):
    """Return a sample picture as a square."""
    image = Image.open(SAMPLES / f"{name}.jpg").convert("RGB").resize((side, side))
    return np.asarray(image) / 255.0


def blob(side, rng):
    """Return a wavy disc, its edge one pixel soft."""
    y, x = np.mgrid[:side, :side] - side / 2
    angle = np.arctan2(y, x)
    waves = sum(rng.normal(0, 0.02) * np.sin(k * angle + rng.uniform(0, 6)) for k in range(2, 7))
    return np.clip(side * (0.27 + waves) - np.hypot(x, y) + 0.5, 0, 1)


def strands(side, rng, count, length, thickness):
    """Return a disc with hair around it, drawn at four times the size and reduced."""
    large = Image.fromarray((255 * (blob(side, rng) > 0.5)).astype(np.uint8)).resize(
        (4 * side,) * 2
    )
    pen = ImageDraw.Draw(large)
    for angle in rng.uniform(0, 2 * np.pi, count):
        bend, reach = rng.normal(0, 0.15), 0.27 + rng.uniform(0.2, 1) * length
        way = np.linspace(0.24, reach, 8)
        turn = angle + bend * (way - 0.24) / length
        points = 4 * side * np.stack([0.5 + way * np.cos(turn), 0.5 + way * np.sin(turn)], axis=1)
        pen.line([tuple(point) for point in points], fill=255, width=max(1, round(4 * thickness)))
    return np.asarray(large.resize((side, side), Image.Resampling.BOX)) / 255.0


def fur(side, rng):
    """Return alpha and colours of a furry disc: bent hairs of many browns."""
    unit = side / 3464  # lengths are meant for 12 MP
    body = blob(side, rng) > 0.5
    depth = distance_transform_edt(body)
    down, across = np.gradient(gaussian_filter(body.astype(np.float32), 12 * unit))
    roots = np.argwhere((depth > 0) & (depth < 25 * unit))
    roots = roots[rng.integers(0, len(roots), round(0.06 * len(roots) / unit))]
    alpha, colours = Image.new("L", (2 * side,) * 2), Image.new("RGB", (2 * side,) * 2)
    pens = ImageDraw.Draw(alpha), ImageDraw.Draw(colours)
    for y, x in roots[np.argsort(depth[tuple(roots.T)])]:
        turn = np.arctan2(-down[y, x], -across[y, x]) + rng.normal(0, 0.35)
        turn = turn + rng.normal(0, 0.6) * np.linspace(0, 1, 9)
        step = rng.uniform(20, 75) * unit / 9
        way = np.stack([x + step * np.cumsum(np.cos(turn)), y + step * np.cumsum(np.sin(turn))], 1)
        brown = np.clip(np.array([150, 105, 62]) * rng.uniform(0.45, 1.45), 0, 255)
        thick = rng.uniform(2.4, 6.4) * unit
        for k in range(8):
            shade = 1 - 0.55 * max(0, (k - 3) / 5)
            line, broad = [tuple(2 * way[k]), tuple(2 * way[k + 1])], round(thick * (1 - k / 9))
            pens[0].line(line, fill=round(255 * shade), width=max(1, broad))
            pens[1].line(line, fill=tuple(np.int_(shade * brown)), width=max(1, broad))
    hair, painted = (
        np.asarray(image.resize((side, side), Image.Resampling.BOX), np.float32) / 255
        for image in (alpha, colours)
    )
    grain = gaussian_filter(rng.normal(0, 1, (side, side)), 1.2 * unit).astype(np.float32)
    coat = np.float32([0.55, 0.38, 0.22]) * (1 + grain[..., None])
    own = np.where(hair[..., None] > 0, painted / np.maximum(hair, 1e-3)[..., None], coat)
    inside = gaussian_filter((depth > 6 * unit).astype(np.float32), 3 * unit)
    fore = own + inside[..., None] * 0.5 * (coat - own)
    return np.maximum(hair, inside), np.clip(fore, 0, 1)


def glass(side, rng):
    """Return a disc with a rim that lets a third of the light through."""
    whole = blob(side, rng)
    depth = distance_transform_edt(whole > 0.5)
    return whole * np.where(depth < 0.03 * side, 0.67, 1.0)


KINDS = {
    "hair": lambda side, rng: strands(side, rng, 220, 0.05, 0.8),
    "fur": lambda side, rng: strands(side, rng, 1200, 0.025, 0.6),
    "motion blur": lambda side, rng: uniform_filter1d(blob(side, rng), max(3, side // 25), axis=1),
    "defocus": lambda side, rng: gaussian_filter(blob(side, rng), side / 130),
    "glass": glass,
}


def report(errors, colours, seconds):
    """Print errors, and the ratio that matters."""
    names = list(dict.fromkeys(name for _, name in errors))
    print("| error of alpha | " + " | ".join(KINDS) + " | all | before white | CPU s |")
    print("|---" * (len(KINDS) + 4) + "|")
    total = {}
    for name in names:
        row = [np.mean(errors[kind, name]) for kind in KINDS]
        total[name] = np.sqrt(np.mean(row))
        shown = np.sqrt(np.mean([np.mean(colours[kind, name]) for kind in KINDS]))
        cells = [f"{np.sqrt(value):.4f}" for value in (*row, np.mean(row))]
        took = np.mean(seconds[name])
        print(f"| {name} | " + " | ".join(cells) + f" | {shown:.4f} | {took:.2f} |")
    ratio = total["soft edge"] / total["PyMatting, closed form"]
    print(f"\nsoft edge / PyMatting: {ratio:.3f}")


def draw_sheet(path, pictures):
    """Draw a row a kind: binary, soft, what was seen, and the truth."""
    rows = [np.hstack(pictures[k : k + 4]) for k in range(0, len(pictures), 4)]
    sheet = np.rint(255 * np.clip(np.vstack(rows), 0, 1)).astype(np.uint8)
    Image.fromarray(sheet).save(path)


if __name__ == "__main__":
    main()
