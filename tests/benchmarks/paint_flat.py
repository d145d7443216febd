"""Flat pictures with exact truth: cells under a microscope, a leaf on pebbles."""

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

CELL_CLASSES = (
    ("nucleus", (213, 94, 0)),
    ("cell", (230, 159, 0)),
    ("background", (0, 114, 178)),
)
# Centre, radius, and where the nucleus lies, in pixels.
CELLS = (
    (118, 112, 74, -10, 8),
    (292, 92, 62, 12, -4),
    (448, 128, 70, -8, 12),
    (206, 268, 78, 14, 10),
    (388, 290, 82, -12, -10),
    (66, 310, 54, 6, 2),
)


def clouds(shape, rng, size, octaves=4):
    """Smooth noise of about unit spread, coarse structure of ``size`` pixels first."""
    total = np.zeros(shape)
    for octave in range(octaves):
        part = ndimage.gaussian_filter(rng.normal(size=shape), size / 2**octave, mode="wrap")
        total += part / part.std() / 1.7**octave
    return total / total.std()


def _blob(x, y, centre_x, centre_y, radius, rng, wobble):
    """Signed distance, roughly, to a round shape with a wavy outline; negative inside."""
    angle = np.arctan2(y - centre_y, x - centre_x)
    waves = sum(
        rng.normal(0, wobble / k) * np.cos(k * angle + rng.uniform(0, 6.3)) for k in range(2, 7)
    )
    return np.hypot(x - centre_x, y - centre_y) - radius * (1 + waves)


def cells(rng, size=(390, 520)):
    """Return the picture and the class of each pixel."""
    y, x = np.mgrid[: size[0], : size[1]] + 0.5
    light = 1 - 0.10 * np.hypot((x - 260) / 300, (y - 195) / 230) ** 2
    colour = np.array([0.90, 0.87, 0.90]) + 0.012 * clouds(size, rng, 30)[..., np.newaxis]
    truth = np.full(size, 2)
    grain, fine = clouds(size, rng, 6), clouds(size, rng, 2.5, 2)
    for centre_x, centre_y, radius, shift_x, shift_y in CELLS:
        body = _blob(x, y, centre_x, centre_y, radius, rng, 0.05)
        core = _blob(x, y, centre_x + shift_x, centre_y + shift_y, 0.42 * radius, rng, 0.05)
        spot = _blob(x, y, centre_x + shift_x - 5, centre_y + shift_y + 4, 0.10 * radius, rng, 0.1)
        truth[body <= 0], truth[core <= 0] = 1, 0
        flesh = np.array([0.80, 0.60, 0.76]) + 0.035 * (grain + fine)[..., np.newaxis]
        rim = np.exp(-((body / 4.0) ** 2))[..., np.newaxis]
        flesh = flesh - rim * [0.20, 0.26, 0.14]
        kernel = np.array([0.45, 0.27, 0.58]) + 0.06 * (0.6 * grain + fine)[..., np.newaxis]
        kernel = kernel - np.exp(-((core / 3.0) ** 2))[..., np.newaxis] * 0.10
        kernel = np.where((spot < 0)[..., np.newaxis], [0.27, 0.12, 0.40], kernel)
        for part, paint, soft in ((body, flesh, 1.6), (core, kernel, 1.4)):
            cover = (1 / (1 + np.exp(np.clip(part / soft * 2, -50, 50))))[..., np.newaxis]
            colour = colour * (1 - cover) + paint * cover
    for _ in range(60):  # dust
        spot = np.hypot(x - rng.uniform(0, size[1]), y - rng.uniform(0, size[0]))
        colour = colour - 0.12 * np.exp(-((spot / rng.uniform(0.8, 2.5)) ** 2))[..., np.newaxis]
    picture = ndimage.gaussian_filter(colour * light[..., np.newaxis], (0.7, 0.7, 0))
    picture += rng.normal(0, 0.012, picture.shape)
    return (picture.clip(0, 1) * 255).round().astype(np.uint8), truth


def _leaf_shape(x, y):
    """Place along the midrib (0 foot, 1 tip), and side (-1..1 at the two edges)."""
    axis, across = np.array([0.82, -0.57]), np.array([0.57, 0.82])
    along = ((x - 105) * axis[0] + (y - 330) * axis[1]) / 430
    bend = 42 * np.sin(np.pi * np.clip(along, -0.2, 1.2))
    side = (x - 105) * across[0] + (y - 330) * across[1] - bend
    t = np.clip(along, 0, 1)
    width = 158 * t**0.62 * (1 - t) ** 0.80 + 1e-6
    teeth = 1 - 0.075 * ((along * 21 + 0.15 * np.sign(side)) % 1.0)
    return along, side / (width * teeth), side


def leaf(rng, size=(400, 560)):
    """Return the picture and the class of each pixel (0 leaf, 1 ground)."""
    y, x = np.mgrid[: size[0], : size[1]] + 0.5
    along, edge, side = _leaf_shape(x, y)
    stalk = (along > -0.24) & (along <= 0.02) & (np.abs(side - 16 * along**2 * 10) < 3.6)
    inside = ((along > 0) & (along < 1) & (np.abs(edge) < 1)) | stalk
    # Veins leave the midrib at a slant, alternately, and grow thin towards the edge.
    slant = along * 9.5 - np.abs(edge) * 0.85 + 0.25 * np.sign(side)
    vein = np.exp(-(((slant % 1.0) - 0.5) ** 2) / (0.0009 * (1.6 - np.abs(edge).clip(0, 1)) ** 2))
    midrib = np.exp(-((side / (3.6 - 2.6 * along.clip(0, 1))) ** 2))
    coarse, fine = clouds(size, rng, 40), clouds(size, rng, 5)
    ripe = np.clip(0.5 + 0.28 * coarse + 0.35 * np.abs(edge).clip(0, 1), 0, 1)[..., np.newaxis]
    paint = (1 - ripe) * [0.87, 0.66, 0.12] + ripe * [0.78, 0.32, 0.06]
    paint = paint + 0.035 * fine[..., np.newaxis]
    ribs = np.maximum(0.55 * vein * (np.abs(edge) < 0.96), midrib)[..., np.newaxis]
    paint = paint * (1 - 0.6 * ribs) + 0.6 * ribs * [0.95, 0.82, 0.42]
    relief = ndimage.gaussian_filter(-0.8 * vein - midrib + 0.25 * coarse, 2.0)
    paint = (
        paint * (1 + 2.2 * (np.gradient(relief, axis=0) + np.gradient(relief, axis=1)))[..., None]
    )
    paint = np.where(stalk[..., np.newaxis], [0.50, 0.30, 0.12], paint)
    shadow = ndimage.gaussian_filter(np.roll(inside.astype(float), (9, 7), (0, 1)), 5)
    ground = _pebbles(x, y, rng, fine) * (1 - 0.62 * shadow[..., np.newaxis])
    cover = ndimage.gaussian_filter(inside.astype(float), 0.7)[..., np.newaxis]
    picture = ground * (1 - cover) + paint * cover + rng.normal(0, 0.015, (*size, 3))
    return (picture.clip(0, 1) * 255).round().astype(np.uint8), np.where(inside, 0, 1)


def _pebbles(x, y, rng, fine):
    seeds = rng.uniform((-20, -20), (580, 420), (900, 2))
    tree = cKDTree(seeds)
    warp = 3.0 * fine
    places = np.stack([x + warp * 0.4, y - warp * 0.3], axis=-1)
    distance, which = tree.query(places, k=2)
    gap = distance[..., 1] - distance[..., 0]
    height = np.sqrt(np.clip(gap / 16.0, 0, 1))
    height = ndimage.gaussian_filter(height, 1.0)
    lit = 1 + 4.0 * (np.gradient(height, axis=0) + 0.7 * np.gradient(height, axis=1))
    stone = rng.normal(0.40, 0.09, 900)[which[..., 0]]
    warm = rng.normal(0.0, 0.035, 900)[which[..., 0]]
    tone = np.stack([stone + warm, stone, stone - warm + 0.01], axis=-1)
    tone = tone * (0.35 + 0.75 * height)[..., np.newaxis] + 0.025 * fine[..., np.newaxis]
    return tone * lit[..., np.newaxis]
