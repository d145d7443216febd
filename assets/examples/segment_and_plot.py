# %% [markdown]
# # Segment and plot
#
# Strokes go in, the class of every pixel comes out, with its certainty and its hash code.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import segapp

SAMPLES = Path(__file__).parents[1] / "samples"

# %% [markdown]
# Strokes are points (x, y) in pixels, or a label array of the image's size with 0 where nothing is
# marked. Each stroke is learnt with the result before it in mind, as in the window.

# %%
segmenter = segapp.Segmenter(SAMPLES / "leaf.jpg", classes=["leaf", "background"])
segmenter.add_stroke([(200, 300), (380, 180)], "leaf", radius=8)
segmenter.add_stroke([(60, 60), (300, 60)], "background", radius=8)
result = segmenter.result
print(f"{result.shares['leaf']:.1%} of the image is leaf")

# %% [markdown]
# What was learnt: how much each kernel counts, and the codeword of each class.

# %%
weights = result.kernel_weights.mean(axis=0)
for index in np.argsort(-weights)[:3]:
    print(f"{weights[index]:.3f}  {result.kernels[index]}")
for name, word in zip(result.classes, result.codewords[:, 0], strict=True):
    print(name, "".join("1" if bit > 0 else "0" for bit in word))

# %%
image = plt.imread(SAMPLES / "leaf.jpg")
shown = {
    "image": image,
    "mask": result.mask,
    "confidence": np.minimum(result.confidence, np.percentile(result.confidence, 98)),
    "hash codes": result.codes % 20,
}
figure, places = plt.subplots(1, len(shown), figsize=(14, 3), layout="constrained")
for place, (title, values) in zip(places, shown.items(), strict=True):
    place.imshow(values, cmap="tab20" if title == "hash codes" else "viridis")
    place.set(title=title, xticks=[], yticks=[])

# %% [markdown]
# Files are those of the window: masks, COCO, cut-outs before any background, and a project that
# the window opens.

# %%
result.export("leaf.json", format="coco-rle")
result.export("leaf-on-white.png", format="cutout", background="white")
segmenter.save("leaf.segapp")
figure.savefig("leaf-plot.png")
plt.show()
