"""Speed from the start to the export at any size: one table and one plot.

    python tests/benchmarks/speed.py [--peers] [--sizes 0.2,1,4,12,50,100] [--plot speed.png]

Every size runs in a process of its own. Seconds are those of one core (CPU time), so that they
mean the same on a busy machine; pauses of the window are by the clock, and tell what was stolen.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
PARTS = ("sizes", "peers", "growth", "painting", "window", "folder", "batch")


def part(name, *words):
    """Run a part in a process of its own and return what it prints."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {  # what was compiled is kept, as users have it
        "PYTHONPATH": os.pathsep.join((str(HERE.parents[1]), str(HERE))),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "QT_QPA_PLATFORM": "offscreen",
    }
    command = [sys.executable, str(HERE / name), *map(str, words)]
    print("…", name, *words, file=sys.stderr, flush=True)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def part_text(name, *words):
    """Run a benchmark that prints tables of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(HERE.parents[1]), str(HERE)))}
    print("…", name, *words, file=sys.stderr, flush=True)
    subprocess.run(
        [sys.executable, str(HERE / name), *map(str, words)], env=environment, check=False
    )


def later(case):
    """Return the median of the later strokes, near and far."""
    return float(np.median(case["seconds"]["near"] + case["seconds"]["far"]))


def table(head, rows):
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(
            f"| {' | '.join(cell if isinstance(cell, str) else f'{cell:.3g}' for cell in row)} |"
        )
    print(flush=True)


def exponent(sizes, seconds):
    """Fit ``seconds = c * size^e`` and return e."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def show_sizes(sizes, strokes):
    cases = [part("speed_case.py", size, "--strokes", strokes) for size in sizes]
    cases = [case for case in cases if case is not None]
    first = later(cases[0])
    print("## A later stroke against the smallest picture, and what each step takes (s)\n")
    rows = []
    for case in cases:
        seconds = {name: float(np.median(values)) for name, values in case["seconds"].items()}
        per_pixel = 1e3 * (case["peak_gigabytes"] - case["opened_gigabytes"]) / case["megapixels"]
        rows.append(
            [case["megapixels"], f"**{later(case) / first:.2f}**", later(case)]
            + [1e3 * seconds["look"]]
            + [seconds[name] for name in ("near", "far", "first", "open", "prepare", "export")]
            + [1e3 * seconds["return"], 1e3 * max(case["seconds"]["slider"])]
            + [case["peak_gigabytes"], per_pixel, case["iou"]]
        )
    table(
        [
            "MP",
            "ratio",
            "later",
            "first look (ms)",
            "near",
            "far",
            "first",
            "open",
            "prepare",
            "export",
            "stored result (ms)",
            "slider, longest (ms)",
            "peak GB",
            "bytes a pixel beyond the opened picture",
            "IoU",
        ],
        rows,
    )
    print("Where a later stroke's time goes (ms):\n")
    names = list(dict.fromkeys(name for case in cases for name in case["steps"]))
    table(
        ["MP", *names],
        [[c["megapixels"], *(1e3 * c["steps"].get(n, 0.0) for n in names)] for c in cases],
    )
    return cases


def show_peers(sizes):
    print("## Others, for the same strokes\n")
    for size in sizes:
        found = part("speed_peers.py", size)
        if found is None:
            continue
        ours = found["seconds"]["*SHL"]
        table(
            [f"at {size:g} MP", "ours is faster by", "s", "IoU"],
            [
                [name, f"**{value / ours:.1f}**", value, found["iou"][name]]
                for name, value in found["seconds"].items()
            ],
        )


def show_growth(cases, quick):
    """Show how the time of a later stroke grows with each size of the problem."""
    print("## Growth: exponent e of seconds ~ size^e\n")
    rows = []
    if len(cases) > 1:
        pixels, seconds = [c["megapixels"] for c in cases], [later(c) for c in cases]
        rows.append(
            ["pixels", f"{pixels[0]:.2g} to {pixels[-1]:.3g} MP", exponent(pixels, seconds)]
        )
    # A quick run takes the first two, as all go the same way.
    for name, option, values in (
        ("strokes", "--strokes", (4, 8, 16, 32)),
        ("classes", "--classes", (2, 3, 4, 6)),
        ("regions", "--prototypes", (300, 600, 1200, 2400)),
        ("bits", "--bits", (3, 5, 10, 20)),
    )[: 2 if quick else None]:
        values = values[:2] if quick else values
        small = ("--strokes", 2) if quick and option != "--strokes" else ()
        size = 0.02 if quick else 0.2
        found = [part("speed_case.py", size, *small, option, value) for value in values]
        seconds = [later(case) for case in found if case is not None]
        rows.append([name, f"{values[0]} to {values[-1]}", exponent(values, seconds)])
    table(["over", "range", "exponent"], rows)


def show_painting(sizes):
    print("## Painting by colour (`paper`, `apply`) against a NumPy table look-up\n")
    rows = []
    for size in sizes:
        found = part("speed_painting.py", size)
        if found is not None:
            ratio = found["painting"] / found["look_up"]
            rows.append([size, f"**{ratio:.2f}**", found["painting"], found["look_up"]])
    table(["MP", "ratio", "painting s", "look-up s"], rows)


def show_window(sizes, turns, *, quick):
    print("## The window: ms of a brush move (95 %), and longest pauses while it is painted in\n")
    print(
        f"For each stroke the median of {turns} runs, and of these the longest; in brackets\n"
        "the single longest, with what other machines took of all cores meanwhile, and the\n"
        "longest in which they took nothing.\n"
    )
    rows = []
    moves, strokes = (10, 2) if quick else (100, 8)
    for size in sizes:
        brush = part("speed_window.py", "brush", size, "--moves", moves)
        words = ("pauses", size, "--strokes", strokes)
        found = [part("speed_window.py", *words) for _ in range(turns)]
        runs = [run for run in found if run is not None]
        if brush is None or not runs:
            continue
        rows.append([size, max(brush["p95_milliseconds"].values())])
        for places in (("near", "far"), ("first",), ("drawing", "afterwards"), ("ready",)):
            rows[-1].append(longest_pauses(runs, places))
        for name in ("first", "near", "far"):
            waited = [each for run in runs for each in run["seconds_to_answer"][name]]
            rows[-1].append(float(np.median(waited)))
        rows[-1].append(max(run["peak_gigabytes"] for run in runs))
    doing = ["later strokes", "first stroke", "the hand's moves, saving", "loading, preparing"]
    until = ["s until the first answer is drawn", "near", "far", "peak GB"]
    table(["MP", "brush", *doing, *until], rows)
    show_start(turns)


def show_start(turns):
    """Show how long the program takes to start, warm: what it loads was loaded before."""
    found = [part("speed_window.py", "start") for _ in range(turns + 1)][1:]
    seconds = [each["seconds"] for each in found if each is not None]
    if seconds:
        told = f"{np.median(seconds):.2f} s of CPU ({min(seconds):.2f} to {max(seconds):.2f})"
        picture = np.median([each["picture_seconds"] for each in found if each is not None])
        print(f"From the program to a usable window: {told}, to a picture {picture:.2f} s.\n")


def longest_pauses(runs, places):
    def of(name):
        return np.array([[each for place in places for each in run[name][place]] for run in runs])

    clock, stolen = of("longest_milliseconds"), of("stolen_milliseconds")
    usual = np.median(clock, axis=0).max()
    single = np.unravel_index(clock.argmax(), clock.shape)
    calm = of("undisturbed_milliseconds").max()
    return f"{usual:.0f} ({clock[single]:.0f}, {stolen[single]:.0f} stolen; {calm:.0f})"


def show_batch(counts, turns, *words):
    print("## `segapp batch` on two processes; each has to load its libraries first\n")
    rows = []
    for images in counts:
        found = part("speed_batch.py", "--images", images, "--turns", turns, *words)
        if found is not None:
            more = found["cores_of_two"] / found["cores_of_one"]
            ratio = found["one"] / found["two"]
            rows.append([str(images), f"**{ratio:.2f}**", more, f"{found['loops']:.2f}"])
    head = ["images", "times as fast as one", "seconds of both cores, against one"]
    table([*head, "plain loops on both cores"], rows)


def plot(cases, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    sizes = [case["megapixels"] for case in cases]
    for name in ("prepare", "first", "near", "far", "export"):
        values = [np.median(case["seconds"][name]) for case in cases]
        axes.loglog(sizes, values, marker="o", label=name)
    axes.loglog(sizes, later(cases[0]) * np.array(sizes) / sizes[0], ":", color="0.5")
    axes.annotate(
        "in proportion to the pixels",
        (sizes[-1], later(cases[0]) * sizes[-1] / sizes[0]),
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        color="0.4",
    )
    axes.set_xticks(sizes, [f"{size:.3g}" for size in sizes])
    axes.minorticks_off()
    axes.set(xlabel="megapixels", ylabel="seconds of one core", title="What a stroke costs")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="0.2,1,4,12,50,100", help="megapixels")
    parser.add_argument("--strokes", type=int, default=8, help="after the first two")
    parser.add_argument("--peers", action="store_true", help="against other programs, too")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--plot", type=Path, help="a PNG of seconds over megapixels")
    parser.add_argument("--quick", action="store_true", help="fewer points, to see that it runs")
    options = parser.parse_args()
    sizes = [float(size) for size in options.sizes.split(",")]
    parts = options.parts.split(",")
    cases = show_sizes(sizes, options.strokes) if "sizes" in parts else []
    if options.peers and "peers" in parts:
        small = [size for size in sizes if size <= 1]
        show_peers(small[:1] if options.quick else small)
    if "growth" in parts:
        show_growth(cases, options.quick)
    if "painting" in parts:
        show_painting(sizes[:1] if options.quick else sizes)
    if "window" in parts:
        turns = 1 if options.quick else 5
        show_window(sizes[:1] if options.quick else sizes, turns, quick=options.quick)
    if "folder" in parts:
        pictures = 2 if options.quick else 150
        part_text("day.py", "--only", "folder", "--pictures", pictures, "--megapixels", 0.2)
    if "batch" in parts:
        show_batch(*(((2,), 1, "--loop", 10**5) if options.quick else ((8, 32), 3)))
    if options.plot is not None and cases:
        plot(cases, options.plot)


if __name__ == "__main__":
    main()
