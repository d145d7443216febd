# %% [markdown]
# # Correct a result by clicks
#
# The figure listens to the mouse: the left button paints the object, the right one the background,
# and `u` takes the last stroke back. In Jupyter, `%matplotlib widget` (ipympl) makes it live.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backend_bases import KeyEvent, MouseEvent

import segapp

SAMPLES = Path(__file__).parents[1] / "samples"
CLASSES = {1: "object", 3: "background"}  # by the button of the mouse


# %%
class Corrector:
    """A figure that turns mouse drags into strokes and shows the result of each."""

    def __init__(self, path: Path) -> None:
        self.segmenter = segapp.Segmenter(path, classes=list(CLASSES.values()))
        self.drag: list[tuple[float, float]] = []
        self.figure, self.place = plt.subplots()
        self.place.imshow(plt.imread(path))
        height, width = self.segmenter.picture.size
        self.tint = self.place.imshow(np.zeros((height, width, 4)))
        connect = self.figure.canvas.mpl_connect
        connect("button_press_event", self.press)
        connect("motion_notify_event", self.move)
        connect("button_release_event", self.release)
        connect("key_press_event", self.key)

    def press(self, event: MouseEvent) -> None:
        """Begin a stroke."""
        if event.inaxes is self.place and event.button in CLASSES:
            self.drag = [(event.xdata + 0.5, event.ydata + 0.5)]  # pixels' centres are at .5

    def move(self, event: MouseEvent) -> None:
        """Go on with it."""
        if self.drag and event.inaxes is self.place:
            self.drag.append((event.xdata + 0.5, event.ydata + 0.5))

    def release(self, event: MouseEvent) -> None:
        """Learn from it."""
        if self.drag:
            self.segmenter.add_stroke(self.drag, CLASSES[event.button], radius=5)
            self.drag = []
            self.show()

    def key(self, event: KeyEvent) -> None:
        """Take the last stroke back."""
        if event.key == "u":
            self.segmenter.undo()
            self.show()

    def show(self) -> None:
        """Tint the object of the present result."""
        try:
            mask = self.segmenter.result.mask
        except segapp.SegappError as error:  # nothing is marked, or the background alone
            mask = np.zeros(self.segmenter.picture.size, bool)
            print(error)
        self.tint.set_data(mask[..., np.newaxis] * np.array((0.9, 0.6, 0, 0.5)))
        self.place.set_title(f"{mask.mean():.1%} of the image")
        self.figure.canvas.draw_idle()


# %%
corrector = Corrector(SAMPLES / "coffee.jpg")
plt.show()

# %% [markdown]
# When the window is closed, or the cell has ended, the strokes are there to go on with.

# %%
corrector.segmenter.save("coffee.segapp")
