"""The program in the desktop's menus: read back as a desktop reads it."""

import configparser
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from segapp.__main__ import main
from segapp.io import desktop
from segapp.io.desktop import MIME_TYPE, install_desktop_entry, remove_desktop_entry

pytestmark = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="desktop entries are for Linux and its kin"
)

ASK_QT = """
from PySide6.QtCore import QMimeDatabase
kind = QMimeDatabase().mimeTypeForFile("work.segapp")
print(kind.name(), kind.iconName(), kind.comment())
"""
SPEC = "{http://www.freedesktop.org/standards/shared-mime-info}"


def entry_of(home):
    parser = configparser.RawConfigParser(delimiters="=", strict=True)
    parser.optionxform = str
    parser.read(home / "applications" / "segapp.desktop", encoding="utf-8")
    return parser["Desktop Entry"]


def words_of(value):
    """Undo what the specification asks for: escapes of text values, then those of Exec."""
    value = value.replace("\\\\", "\\")
    words = re.findall(r'"((?:\\.|[^"\\])*)"|(\S+)', value)
    return [
        re.sub(r"\\(.)", r"\1", quoted).replace("%%", "%") if quoted else bare
        for quoted, bare in words
    ]


def test_the_entry_starts_this_program_with_a_file(tmp_path):
    install_desktop_entry(tmp_path)
    entry = entry_of(tmp_path)
    *program, place = words_of(entry["Exec"])
    assert place == "%f"
    assert Path(program[0]).is_file()
    done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("segapp ")
    assert entry["Type"] == "Application"
    assert MIME_TYPE in entry["MimeType"].split(";")
    assert "image/png" in entry["MimeType"].split(";")
    assert entry["MimeType"].endswith(";")


@pytest.mark.parametrize(
    "path", ["/opt/seg app/bin", "/opt/50% $HOME", '/a"b`c', "/back\\slash", "/Bücher/包"]
)
def test_a_program_in_any_folder_is_quoted_as_the_specification_wants(path):
    assert words_of(desktop._quoted(path)) == [path]


def test_projects_get_a_kind_and_an_icon(tmp_path):
    written = install_desktop_entry(tmp_path)
    tree = ET.parse(tmp_path / "mime" / "packages" / "segapp.xml")
    (kind,) = tree.getroot().findall(f"{SPEC}mime-type")
    assert kind.get("type") == MIME_TYPE
    assert kind.find(f"{SPEC}glob").get("pattern") == "*.segapp"
    icon = kind.find(f"{SPEC}icon").get("name")
    assert any(path.name == f"{icon}.svg" for path in written)
    for path in written:
        if path.suffix == ".svg":
            assert ET.parse(path).getroot().tag.endswith("svg")


@pytest.mark.slow
def test_qts_own_data_base_knows_a_project_afterwards(tmp_path):
    install_desktop_entry(tmp_path)
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            ASK_QT,
        ],
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.strip() == f"{MIME_TYPE} application-x-segapp segapp project"


def test_installing_twice_is_once_and_uninstalling_leaves_nothing_of_ours(tmp_path):
    other = tmp_path / "applications" / "other.desktop"
    other.parent.mkdir()
    other.write_text("theirs")
    assert install_desktop_entry(tmp_path) == install_desktop_entry(tmp_path)
    gone = remove_desktop_entry(tmp_path)
    assert len(gone) == 4
    assert not any(path.exists() for path in gone)
    assert other.read_text() == "theirs"
    assert remove_desktop_entry(tmp_path) == ()


def test_the_options_of_the_program(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["--uninstall-desktop"]) == 0
    assert "nothing of segapp" in capsys.readouterr().out
    assert main(["--install-desktop"]) == 0
    assert f"wrote {tmp_path}/applications/segapp.desktop" in capsys.readouterr().out
    assert main(["--uninstall-desktop"]) == 0
    assert "removed" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["--install-desktop", "--uninstall-desktop"])
    assert ended.value.code == 2


def test_a_relative_data_folder_is_none(monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "somewhere")
    assert desktop.data_home() == Path.home() / ".local" / "share"


def test_a_file_that_cannot_be_written_gives_a_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    assert main(["--install-desktop"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("segapp: ")
    assert told.endswith(".\n")


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_elsewhere_there_is_a_sentence(monkeypatch, capsys, platform):
    monkeypatch.setattr(sys, "platform", platform)
    assert main(["--install-desktop"]) == 1
    assert "for Linux" in capsys.readouterr().err
