"""Atomic writes: failures, full disks, permissions, links."""

import os
import stat
import sys

import pytest

from shlcore.atomic_file import atomic_write, make_folder, write_text
from tests.campaign.power_loss import ForgetfulDisk


def test_the_file_appears_whole(tmp_path):
    path = tmp_path / "a é中.bin"
    with atomic_write(path) as file:
        file.write(b"one")
        assert not path.exists()
        file.write(b"two")
    assert path.read_bytes() == b"onetwo"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail():
        with atomic_write(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of another kind")
def test_permissions_are_kept_and_new_files_follow_the_mask(tmp_path):
    path = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        write_text(path, "old")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "none" / "a.txt", "x")


@pytest.mark.skipif(sys.platform != "linux", reason="the disk is read through /proc")
def test_a_file_that_is_written_survives_a_power_failure(tmp_path):
    (tmp_path / "disk").mkdir()
    write_text(tmp_path / "disk" / "b.txt", "old")
    with ForgetfulDisk(tmp_path / "disk").mounted() as disk:
        make_folder(tmp_path / "disk" / "new" / "folder")
        write_text(tmp_path / "disk" / "new" / "folder" / "a.txt", "x")
        write_text(tmp_path / "disk" / "b.txt", "new")
        left = disk.survivors(tmp_path / "left")
    assert (left / "new" / "folder" / "a.txt").read_text() == "x"
    assert (left / "b.txt").read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_file_replaces_a_link_and_leaves_what_it_leads_to(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    for text in (None, "of the user"):  # a link to nothing, then to a file
        if text is not None:
            target.write_text(text)
            link.unlink()
        link.symlink_to(target)
        write_text(link, "x")
        assert link.read_text() == "x"
        assert not link.is_symlink()
        assert (target.read_text() if target.exists() else None) == text


def test_two_programs_that_write_one_temporary_file_move_no_half_file_into_place(tmp_path):
    path, beside = tmp_path / "a.txt", tmp_path / ".a.txt.unfinished"

    def lose():
        with atomic_write(path, beside=beside) as file:
            file.write(b"mine")
            with atomic_write(path, beside=beside) as other:
                other.write(b"theirs")

    with pytest.raises(OSError, match="another program"):
        lose()
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a.txt"]
