"""Claims of the package's README about files, compared with files."""

import json
import re
from pathlib import Path

import numpy as np
from PIL import Image

from segapp.io.export.formats import FORMATS
from segapp.io.images import load_image
from segapp.model.document import Document
from segapp.model.labelling import Labelling

README = Path(__file__).parents[2] / "segapp" / "README.md"


def test_an_empty_mask_writes_what_the_readme_says(tmp_path):
    Image.new("RGB", (7, 5), (90, 80, 70)).save(tmp_path / "plain.png")
    nothing = np.zeros((5, 7))
    labels, margin = nothing.astype(np.uint8) + 1, nothing.astype(np.float32)
    empty = Labelling(labels, margin, nothing.astype(np.uint32), 2, 1)
    picture = load_image(tmp_path / "plain.png")
    written = {
        name: form.write(tmp_path / f"{name}{form.suffix}", empty, Document(), picture)
        for name, form in FORMATS.items()
    }
    section = (
        README.read_text(encoding="utf-8").split("## What an empty mask writes")[1].split("##")[0]
    )
    rows = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == set(written)
    assert len(written["measures"][0].read_text().splitlines()) == 2
    zeros = ("mask", "cutout", "alpha", "confidence", "confidence-tiff", "strokes")
    for path in (*(written[name][0] for name in zeros), written["classes"][0]):
        with Image.open(path) as image:
            assert image.size == (7, 5)
            assert not np.array(image).any()
    assert len(written["classes"]) == 2
    with Image.open(written["indexed"][0]) as image:
        assert image.getpalette()[3:6] == list(Document().classes[0].colour)
    with Image.open(written["confidence"][0]) as image:
        assert image.info["Description"].endswith("65535 = 0")
    for name in ("coco-rle", "coco-polygons"):
        content = json.loads(written[name][0].read_text())
        assert len(content["categories"]) == 2
        assert content["annotations"] == []
    assert json.loads(written["labelme"][0].read_text())["shapes"] == []
    with np.load(written["numpy"][0]) as arrays:
        assert list(arrays["classes"]) == ["foreground", "background"]
