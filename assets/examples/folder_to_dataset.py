# %% [markdown]
# # A folder to a data set
#
# Strokes on one image; a model learnt from it segments the others, and COCO holds them all.

# %%
import json
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

import segapp

SAMPLES = Path(__file__).parents[1] / "samples"
FOLDER = Path("fields-of-view")

# %% [markdown]
# Four crops of one micrograph stand for images of a kind.

# %%
shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir()
whole = np.asarray(Image.open(SAMPLES / "cells.jpg"))
height, width = whole.shape[:2]
for number, (top, left) in enumerate(((0, 0), (0, 120), (90, 0), (90, 120)), 1):
    crop = whole[top : top + height - 90, left : left + width - 120]
    Image.fromarray(crop).save(FOLDER / f"{number}.png")

# %% [markdown]
# One cell and some ground are marked. `alike` finds everything that looks like the strokes.

# %%
first, *others = sorted(FOLDER.glob("*.png"))
segmenter = segapp.Segmenter(first, classes=["cell", "background"], preset="alike")
segmenter.add_stroke([(52, 115), (100, 75), (145, 110), (108, 140)], "cell", radius=6)
segmenter.add_stroke([(20, 20), (215, 15), (212, 165)], "background", radius=6)
segmenter.save(first.with_suffix(".segapp"))
model = segmenter.model()
model.save(FOLDER / "cells.shlmodel")

# %% [markdown]
# The model on the others, and all of them in one file of COCO. The margin tells where to look
# first: that image wants strokes of its own.

# %%
results = {first: segmenter.result} | {path: model.apply(path) for path in others}
dataset = {"images": [], "annotations": []}
for number, (path, result) in enumerate(results.items(), 1):
    (written,) = result.export(path.with_suffix(".json"), format="coco-rle")
    content = json.loads(written.read_text(encoding="utf-8"))
    dataset["categories"] = content["categories"]
    dataset["images"].append(content["images"][0] | {"id": number})
    for annotation in content["annotations"]:
        place = len(dataset["annotations"]) + 1
        dataset["annotations"].append(annotation | {"id": place, "image_id": number})
(FOLDER / "annotations.json").write_text(json.dumps(dataset), encoding="utf-8")

# %%
for path, result in results.items():
    doubtful = (result.confidence < np.median(result.confidence) / 4).mean()
    print(f"{path.name}: {result.shares['cell']:.1%} cells, {doubtful:.1%} doubtful")
