"""A substitute for Mnist1M: randomly shifted, rotated and bent digits of MNIST."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter
from tqdm import tqdm

from shlcore.atomic_file import atomic_write
from shlcore.experiments import options
from shlcore.experiments.datasets import DatasetError, load_dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Indices

    Images = NDArray[np.float32]

NAME = "infinite-mnist"
BLOCK = 2000  # digits per step: some tens of MB
FIELDS = 500  # displacement fields to draw from, with random scale, shift and rotation
# The paper's Mnist1M is not available. With these deformations digits stay legible, and the
# precision on MNIST's test digits is constant from 15 000 to 1 000 000 samples
# (tests/benchmarks/LARGE.md).
SMOOTHNESS = 4 / 28  # of the side
LARGEST_BEND = 1.2 / 28  # of the side, standard deviation of a displacement
LARGEST_SHIFT = 1.5 / 28
LARGEST_TURN = 12.0  # degrees


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        NAME,
        help="write a large training set of deformed MNIST digits",
        description="MNIST's training digits, shifted, turned and bent; its test rows follow.",
        epilog=f"example:\n  shlcore experiment {NAME} --samples 1000000 --out mnist1m.npy",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--samples",
        type=options.positive,
        default=1_000_000,
        metavar="N",
        help="training rows (%(default)s)",
    )
    parser.add_argument(
        "--source", type=Path, default=Path("mnist.npz"), help="MNIST with is_test (%(default)s)"
    )
    parser.add_argument(
        "--out",
        "--output",
        dest="out",
        type=Path,
        required=True,
        metavar="FILE",
        help="FILE.npy; labels go into FILE.npz beside it",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the deformations (%(default)s)")
    options.add_verbose(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the rows block by block as an array for memory maps, and the labels."""
    dataset = load_dataset(arguments.source)
    side = round(dataset.X.shape[1] ** 0.5)
    if dataset.is_test is None or side**2 != dataset.X.shape[1]:
        raise DatasetError(f"{arguments.source}: wanted square images and is_test, got neither")
    digits = dataset.X[~dataset.is_test].astype(np.float32).reshape(-1, side, side)
    queries = dataset.X[dataset.is_test]
    count = arguments.samples
    path = arguments.out.with_suffix(".npy")
    with atomic_write(path) as rows, atomic_write(path.with_suffix(".npz")) as labels:
        chosen = write_digits(rows.name, digits, queries, count, arguments.seed)
        y = np.concatenate([dataset.y[~dataset.is_test][chosen], dataset.y[dataset.is_test]])
        np.savez_compressed(labels, y=y, is_test=np.arange(len(y)) >= count)
    print(f"{path}: {count} digits and {len(queries)} queries")
    return 0


def write_digits(path: str, digits: Images, queries: Array, count: int, seed: int) -> Indices:
    """Write deformed digits and then the queries as bytes; return the digits' indices.

    The file is filled block by block, and closed at the end.
    """
    side = digits.shape[1]
    rng = np.random.default_rng(seed)
    shape = (count + len(queries), side**2)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    fields = elastic_fields(FIELDS, side, rng)
    chosen = np.empty(count, dtype=np.intp)
    scale = 255.0 / max(float(digits.max()), 1e-12)
    with tqdm(total=count, unit="digit", disable=None) as progress:
        for first in range(0, count, BLOCK):
            size = min(BLOCK, count - first)
            picks = rng.integers(len(digits), size=size)
            chosen[first : first + size] = picks
            moved = deform(digits[picks], fields, rng).reshape(size, -1)
            rows[first : first + size] = np.clip(np.rint(scale * moved), 0, 255)
            progress.update(size)
    rows[count:] = np.clip(np.rint(scale * queries), 0, 255)
    rows.flush()
    return chosen


def elastic_fields(count: int, side: int, rng: np.random.Generator) -> Images:
    """Draw smooth displacements ``count x 2 x side x side`` of standard deviation 1."""
    noise = rng.standard_normal((count, 2, side, side))
    width = SMOOTHNESS * side
    smooth = gaussian_filter(noise, (0, 0, width, width), mode="wrap")
    scaled = smooth / smooth.std(axis=(2, 3), keepdims=True)
    return np.asarray(scaled, dtype=np.float32)


def deform(images: Images, fields: Images, rng: np.random.Generator) -> Images:
    """Deform each image by a random shift, rotation and bend; bilinear, 0 outside."""
    count, side = len(images), images.shape[1]
    middle = (side - 1) / 2
    y, x = (np.mgrid[:side, :side] - middle).astype(np.float32)
    angle = np.deg2rad(rng.uniform(-LARGEST_TURN, LARGEST_TURN, (count, 1, 1)))
    cos, sin = np.cos(angle, dtype=np.float32), np.sin(angle, dtype=np.float32)
    bend = fields[rng.integers(len(fields), size=count)]
    bend *= rng.uniform(0, LARGEST_BEND * side, (count, 1, 1, 1))
    shift = LARGEST_SHIFT * side * rng.uniform(-1, 1, (2, count, 1, 1))
    rows = cos * y - sin * x + bend[:, 0] + shift[0] + middle
    columns = sin * y + cos * x + bend[:, 1] + shift[1] + middle
    return _sampled(images, rows.astype(np.float32), columns.astype(np.float32))


def _sampled(images: Images, rows: Images, columns: Images) -> Images:
    """Interpolate images between pixels."""
    side = images.shape[1]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    rows, columns = (np.clip(v + 1, 0, side + 0.999) for v in (rows, columns))
    top, left = rows.astype(np.intp), columns.astype(np.intp)
    down, right = rows - top, columns - left
    flat = padded.ravel()
    width = side + 2
    base = np.arange(len(images))[:, None, None] * width**2 + top * width + left
    upper = flat[base] * (1 - right) + flat[base + 1] * right
    lower = flat[base + width] * (1 - right) + flat[base + width + 1] * right
    blended: Images = upper * (1 - down) + lower * down
    return blended
