"""Preferences in memory, images, projects and states for tests of the room."""

from pathlib import Path

from segapp.app.state import PictureState
from segapp.app.workspace import FolderWorkspace
from segapp.io.project import Project, load_project
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS


class Preferences:
    """Preferences in memory."""

    def __init__(self):
        self.values = {}

    def get(self, name, default):
        return self.values.get(name, default)

    set_folder = set = lambda self, name, value: self.values.__setitem__(name, value)

    def folder(self, name):
        return self.values.get(name)


def dots(*numbers):
    return Document(strokes=tuple(Stroke(((float(x), 1.0),), 2.0, 0) for x in numbers))


def project(*numbers, image=Path("/a/picture.png")):
    return Project(dots(*numbers), DEFAULT_SETTINGS, image, "")


def numbers(path):
    return [int(mark.points[0][0]) for mark in load_project(path).document.strokes]


def work_on(image, *numbers, **fields):
    return PictureState(image, "", **fields).edit("", dots(*numbers))


def workspace(images, root, policy):
    policy.begin(images, root)
    return FolderWorkspace(images, root, policy)
