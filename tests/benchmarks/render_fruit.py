"""A still life with exact truth: fruit on a table, rendered by ray marching."""

import numpy as np
from scipy import ndimage

SIZE = (400, 600)
APPLE, PEAR, LEMON, TABLE = range(4)
CLASSES = (
    ("apple", (213, 94, 0)),
    ("pear", (0, 158, 115)),
    ("lemon", (204, 121, 167)),
    ("background", (0, 114, 178)),
)
_SUN = np.array([-0.55, 0.75, 0.42]) / np.linalg.norm([-0.55, 0.75, 0.42])
_EYE = np.array([0.0, 2.7, 6.4])
_TARGET = np.array([0.0, 0.75, 0.0])
_FAR = 30.0


def noise(points, rng, cells, octaves=4):
    """Smooth noise about -1..1 at 3-D points, interpolated in random grids."""
    total = np.zeros(points.shape[:-1])
    for octave in range(octaves):
        grid = rng.uniform(-1, 1, (32, 32, 32))
        place = (points * cells * 2**octave) % 32
        total += (
            ndimage.map_coordinates(
                grid, place.reshape(-1, 3).T, order=1, mode="grid-wrap"
            ).reshape(total.shape)
            / 1.8**octave
        )
    return total


def _apple(points, centre, size):
    p = (points - centre) / size
    around = np.hypot(p[:, 0], p[:, 2])
    # A circle turned about an axis that cuts it makes the dimples at both ends.
    ring = np.hypot(around - 0.33, p[:, 1] * 1.02 + 0.05 * around) - 0.68
    return ring * size * 0.9


def _pear(points, centre, size):
    p = (points - centre) / size
    lean = p - np.array([0.12, 0.0, 0.05]) * np.maximum(p[:, 1:2], 0)
    body = np.linalg.norm(lean, axis=1) - 0.85
    neck = np.linalg.norm(lean - [0, 0.95, 0], axis=1) - 0.42
    mix = np.clip(0.5 + 0.5 * (neck - body) / 0.75, 0, 1)
    return (neck + (body - neck) * mix - 0.75 * mix * (1 - mix)) * size * 0.9


def _lemon(points, centre, size, turn):
    p = (points - centre) / size
    along = p[:, 0] * np.cos(turn) + p[:, 2] * np.sin(turn)
    side = -p[:, 0] * np.sin(turn) + p[:, 2] * np.cos(turn)
    across = np.hypot(side, p[:, 1])
    body = (np.hypot(along / 1.25, across) - 0.72) * 0.9
    tip = np.hypot(np.abs(along) - 0.9, across) - 0.16
    mix = np.clip(0.5 + 0.5 * (tip - body) / 0.3, 0, 1)
    return (tip + (body - tip) * mix - 0.3 * mix * (1 - mix)) * size


def _stem(points, foot, top, radius):
    axis = np.array(top) - foot
    t = np.clip((points - foot) @ axis / (axis @ axis), 0, 1)
    return np.linalg.norm(points - foot - t[:, np.newaxis] * axis, axis=1) - radius


# Distance field, class, and the name of the surface.
_THINGS = (
    (lambda p: _apple(p, [-1.75, 0.72, 0.25], 1.0), APPLE, "apple"),
    (lambda p: _apple(p, [0.35, 0.60, 1.35], 0.85), APPLE, "apple"),
    (lambda p: _stem(p, [-1.75, 1.1, 0.25], [-1.6, 1.62, 0.3], 0.045), APPLE, "stem"),
    (lambda p: _stem(p, [0.35, 0.95, 1.35], [0.5, 1.36, 1.3], 0.038), APPLE, "stem"),
    (lambda p: _pear(p, [0.0, 0.84, -0.75], 1.0), PEAR, "pear"),
    (lambda p: _stem(p, [0.14, 2.1, -0.7], [0.34, 2.6, -0.62], 0.045), PEAR, "stem"),
    (lambda p: _lemon(p, [1.75, 0.58, -0.1], 0.8, 0.5), LEMON, "lemon"),
    (lambda p: _lemon(p, [2.35, 0.53, 1.15], 0.74, -0.6), LEMON, "lemon"),
    (lambda p: p[:, 1], TABLE, "wood"),
    (lambda p: p[:, 2] + 4.5, TABLE, "wall"),
)


def _nearest(points):
    return np.stack([field(points) for field, _, _ in _THINGS])


def _march(origin, direction):
    """Walk along rays until a surface; return the distance and the thing that was hit."""
    distance = np.zeros(len(direction))
    active = np.arange(len(direction))
    for _ in range(110):
        step = _nearest(origin[active] + distance[active, np.newaxis] * direction[active]).min(0)
        distance[active] += step
        active = active[(step > 4e-4) & (distance[active] < _FAR)]
        if not active.size:
            break
    return distance, _nearest(origin + distance[:, np.newaxis] * direction).argmin(0)


def _normals(points):
    small = 1e-3
    gradient = np.stack(
        [
            _nearest(points + offset).min(0) - _nearest(points - offset).min(0)
            for offset in np.eye(3) * small
        ],
        axis=1,
    )
    return gradient / np.linalg.norm(gradient, axis=1, keepdims=True)


def _shadow(points):
    light = np.ones(len(points))
    distance = np.full(len(points), 0.03)
    for _ in range(40):
        gap = _nearest(points + distance[:, np.newaxis] * _SUN)[:-2].min(0)
        light = np.minimum(light, np.clip(0.5 + 9.0 * gap / distance, 0, 1))
        distance += np.clip(gap, 0.03, 0.4)
    return light * light * (3 - 2 * light)


def _open_sky(points, normals):
    """Ambient occlusion: how much free room there is above a point."""
    hidden = np.zeros(len(points))
    for reach in (0.06, 0.18, 0.4, 0.8):
        gap = _nearest(points + reach * normals).min(0)
        hidden += (reach - gap).clip(0) / reach * 0.28
    return 1 - hidden.clip(0, 0.85)


def _paint(points, thing, rng):
    """Colour of the surface at each point, linear light."""
    colour = np.zeros((len(points), 3))
    fine, coarse = noise(points, rng, 9.0), noise(points, rng, 1.6)
    for index, (_, _, name) in enumerate(_THINGS):
        here = thing == index
        f, c, p = fine[here, np.newaxis], coarse[here, np.newaxis], points[here]
        if name == "apple":
            blush = np.clip(0.55 + 0.5 * c + 0.25 * np.sin(p[:, :1] * 9 + f), 0, 1)
            paint = (1 - blush) * [0.72, 0.36, 0.09] + blush * [0.50, 0.025, 0.03]
        elif name == "pear":
            paint = [0.42, 0.50, 0.09] + c * [0.10, 0.03, 0.0] + (f > 0.75) * [-0.18, -0.22, 0.0]
        elif name == "lemon":
            paint = [0.86, 0.62, 0.04] + 0.06 * f * [1.0, 0.8, 0.1]
        elif name == "stem":
            paint = [0.16, 0.09, 0.04] + 0.04 * f
        elif name == "wood":
            rings = np.sin((p[:, 2:] * 5 + 0.7 * c + 0.12 * p[:, :1]) * 4 + f * 0.9)
            plank = np.floor(p[:, 2:] / 1.3)
            seam = np.abs(p[:, 2:] / 1.3 - plank - 0.5) > 0.487
            tone = 0.85 + 0.25 * np.sin(plank * 2.4)
            paint = ([0.36, 0.19, 0.09] + rings * [0.07, 0.04, 0.02] + 0.03 * f) * tone
            paint = np.where(seam, 0.25, 1.0) * paint
        else:
            paint = [0.33, 0.40, 0.46] + 0.05 * c + 0.015 * f
        colour[here] = paint
    return colour.clip(0.01, 1)


def render(rng):
    """Return the picture (8 bits) and the class of each pixel's centre."""
    shades = []
    classes = None
    for dy, dx in ((0.5, 0.5), (0.17, 0.3), (0.3, 0.83), (0.83, 0.7), (0.7, 0.17)):
        shade, found = _render_once(dy, dx, np.random.default_rng(rng.integers(1)))
        shades.append(shade)
        classes = found if classes is None else classes
    classes = without_specks(classes)
    linear = np.mean(shades, axis=0)
    film = linear * 1.35
    film = film * (1 + film / 6) / (1 + film)
    film = film ** (1 / 2.2) + rng.normal(0, 0.012, film.shape)
    return (np.clip(film * 1.08, 0, 1) * 255).round().astype(np.uint8), classes


def without_specks(classes):
    """Give single pixels where a ray grazed an edge to their surroundings."""
    specks = np.zeros(classes.shape, bool)
    for label in range(len(CLASSES)):
        parts, _ = ndimage.label(classes == label)
        specks |= (classes == label) & (np.bincount(parts.ravel()) < 9)[parts]
    _, (rows, columns) = ndimage.distance_transform_edt(specks, return_indices=True)
    return classes[rows, columns]


def _render_once(dy, dx, rng):
    height, width = SIZE
    forward = (_TARGET - _EYE) / np.linalg.norm(_TARGET - _EYE)
    right = np.cross(forward, [0, 1, 0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    x = (np.arange(width) + dx - width / 2) / width * 1.07
    y = (np.arange(height) + dy - height / 2) / width * 1.07
    direction = (
        forward + x[np.newaxis, :, np.newaxis] * right - y[:, np.newaxis, np.newaxis] * up
    ).reshape(-1, 3)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    origin = np.broadcast_to(_EYE, direction.shape)
    distance, thing = _march(origin, direction)
    points = origin + distance[:, np.newaxis] * direction
    normals = _normals(points)
    names = np.array([name for _, _, name in _THINGS])[thing]
    rough = np.select([names == "lemon", names == "pear"], [0.16, 0.05], 0.0)
    bumps = np.stack([noise(points, rng, 7.0, 2) for _ in range(3)], axis=1)
    normals += rough[:, np.newaxis] * bumps
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    gloss = np.select(
        [names == "apple", names == "lemon", names == "pear"], [0.5, 0.22, 0.12], 0.03
    )
    direct = (normals @ _SUN).clip(0) * _shadow(points + 0.01 * normals)
    sky = _open_sky(points, normals) * (0.62 + 0.38 * normals[:, 1])
    half = _SUN - direction
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    shine = gloss * (normals * half).sum(1).clip(0) ** 60 * (direct > 0)
    light = direct[:, np.newaxis] * [1.55, 1.42, 1.18] + sky[:, np.newaxis] * [0.36, 0.42, 0.52]
    shade = _paint(points, thing, rng) * light + shine[:, np.newaxis] * 1.6
    found = np.array([label for _, label, _ in _THINGS])[thing]
    return shade.reshape(height, width, 3), found.reshape(height, width)
