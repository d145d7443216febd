"""The real program on its own X screen, driven from outside the process.

With ``SEGAPP_SHOTS=folder`` all appearances of `LOOKS` are used, and screenshots are kept
there: ``way, look, step.png``.
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image, ImageGrab

from tests.texts import ROOT, written

PATIENCE = 60.0  # seconds, on a machine that may be busy
_SETTLES = 15.0  # seconds until a change must be visible
SHOTS = os.environ.get("SEGAPP_SHOTS", "")
NEEDED = ("Xvfb", "xdotool")
# Logical pixels around the canvas: tools, panels, menu and tool bar, status bar.
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 300, 78, 34


@dataclass(frozen=True)
class Look:
    """Appearance of a window: logical size, scale, theme and language."""

    name: str
    size: tuple = (1280, 800)
    scale: int = 1
    theme: str = "light"
    language: str = "en"

    def __str__(self):
        return self.name


LOOKS = {
    look.name: look
    for look in (
        Look("plain"),
        Look("double", scale=2),
        Look("small", (1024, 640)),
        Look("dark", theme="dark"),
        Look("german", language="de"),
        Look("chinese", language="zh_CN"),
    )
}


def in_looks(*usual):
    """Run a way of use in the looks named, or in all of them when they are to be seen."""
    return pytest.mark.parametrize(
        "look", [LOOKS[name] for name in (LOOKS if SHOTS else usual)], ids=str
    )


needs_a_screen = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)),
    reason="needs Xvfb and xdotool (apt install xvfb xdotool)",
)


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"waited in vain for {what}")


@contextmanager
def screen_of(width, height):
    """Start an X server of our own and give its name."""
    reading, writing = os.pipe()
    size = ("-screen", "0", f"{width}x{height}x24")
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), *size, "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as answer:
        number = answer.readline().strip()
    try:
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


class Desk:
    """Hands on mouse and keyboard."""

    def __init__(self, environment):
        self._environment = environment

    def do(self, *words, check=True):
        done = subprocess.run(
            ["xdotool", *map(str, words)],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def window(self, title):
        """Return the window of a title once it is there, with the keyboard on it."""
        found = until(
            lambda: self.do("search", "--onlyvisible", "--name", title, check=False), title
        )
        number = found.splitlines()[-1]
        self.do("windowfocus", "--sync", number)
        return number

    def shows(self, title, patience):
        """Tell whether a window of a title comes up in time."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self.do("search", "--onlyvisible", "--name", title, check=False):
                return True
            time.sleep(0.1)
        return False

    def gone(self, title):
        until(
            lambda: not self.do("search", "--onlyvisible", "--name", title, check=False),
            f"{title} to close",
        )

    def stroke(self, button, *points):
        self.do("mousemove", *points[0], "mousedown", button)
        for point in points[1:]:
            self.do("mousemove", *point)
        self.do("mouseup", button)

    def keys(self, *names):
        self.do("key", "--clearmodifiers", *names)

    def type_path(self, path):
        self.keys("ctrl+a")
        self.do("type", "--delay", "2", str(path))


def environment_of(display, home):
    """Return the surroundings of a user who has just come."""
    home.mkdir(exist_ok=True)
    names = ("CONFIG", "STATE", "CACHE", "DATA")
    # The program limits its threads itself, as conftest does it for the tests.
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("QT_") and not name.endswith("NUM_THREADS")
    }
    kept.pop("WAYLAND_DISPLAY", None)
    own = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in names}
    return {**kept, "DISPLAY": display, "HOME": str(home), **own}


class Program:
    """The program in one look."""

    def __init__(self, way, look, display, home):
        self.way, self.look, self._home = way, look, home
        self.environment = environment_of(display, home)
        self.environment["QT_SCALE_FACTOR"] = str(look.scale)
        self.desk, self.process, self._n_shots = Desk(self.environment), None, 0
        self._texts = {} if look.language == "en" else written(look.language)["window"]

    def prefer(self, export="mask"):
        """Write what the program remembers from an earlier start: theme and format."""
        file = self._home / "config" / "segapp" / "segapp.ini"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"[General]\ntheme={self.look.theme}\n[export]\nformat={export}\n")

    def start(self, *words, title):
        command = ["-m", "segapp", "--language", self.look.language, *map(str, words)]
        for _ in range(2):  # a screen that has only just begun may lose its first window
            self.process = subprocess.Popen(
                [sys.executable, *command], env=self.environment, cwd=ROOT
            )
            if self.desk.shows(title, PATIENCE):
                break
            self.end()
        window = self.desk.window(title)
        width, height = (side * self.look.scale for side in self.look.size)
        self.desk.do("windowmove", window, 0, 0, "windowsize", "--sync", window, width, height)
        time.sleep(0.7)

    def tr(self, text):
        """Return a text as the window says it."""
        return self._texts.get(text, text)

    def at(self, x, y, size):
        """Return where a place of the picture is, which fills the canvas; sizes in pixels."""
        (width, height), scale = self.look.size, self.look.scale
        across, down = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
        zoom = min(across / size[0], down / size[1]) * 0.96
        middle = _LEFT + across / 2, _TOP + down / 2
        return (
            round((middle[0] + (x - size[0] / 2) * zoom) * scale),
            round((middle[1] + (y - size[1] / 2) * zoom) * scale),
        )

    def stroke(self, button, size, *points):
        self.desk.stroke(button, *(self.at(x, y, size) for x, y in points))

    def screen(self):
        """Return the screen as it is."""
        return ImageGrab.grab(xdisplay=self.environment["DISPLAY"])

    def shot(self, step):
        """Save a screenshot where ``SEGAPP_SHOTS`` asks for it."""
        if not SHOTS:
            return
        self._n_shots += 1
        name = f"{self.way}, {self.look.name}, {self._n_shots} {step}.png"
        path = Path(SHOTS) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before, end = b"", time.monotonic() + _SETTLES
        while time.monotonic() < end:  # until nothing moves any more
            time.sleep(0.8)
            self.screen().save(path)
            if path.read_bytes() == before:
                return
            before = path.read_bytes()

    def write(self, keys, title, path):
        """Open a dialog by its keys, name a file in it, and go on until the file is there."""
        self.desk.keys(keys)
        self.desk.window(f"^{self.tr(title)}")
        self.desk.type_path(path)
        self.shot(title.lower())

        def there():
            if not path.exists():
                self.desk.keys("Return")
                time.sleep(0.3)
            return path.exists()

        until(there, path.name)
        self.desk.gone(f"^{self.tr(title)}")

    def quit(self, title):
        self.desk.window(title)
        self.desk.keys("ctrl+q")
        assert self.process.wait(timeout=PATIENCE) == 0

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextmanager
def program_in(look, way, home):
    """Return the program for a walkthrough, not started yet, on a fitting screen."""
    width, height = (side * look.scale for side in look.size)
    with screen_of(width, height) as display:
        program = Program(way, look, display, home)
        program.prefer()
        try:
            yield program
        finally:
            program.end()


def size_of(path):
    with Image.open(path) as image:
        return image.size
