"""Temporary directories: private, locked while they are in use, and swept when their process was killed."""

import os
import pathlib
import stat
import tempfile

import pytest

from psishap import PsiError, _directory
from psishap._directory import Directory


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary directory of the system."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(temporary: pathlib.Path) -> pathlib.Path:
    """What a process that was killed an hour ago leaves."""
    directory = Directory()
    (directory.path / "model.psi").write_bytes(b"model")
    directory.forget()
    os.utime(directory.path / "lock", (0, 0))
    return directory.path


def test_it_is_private_and_removed(temporary):
    with Directory() as path:
        assert path.parent == temporary and stat.S_IMODE(path.stat().st_mode) == 0o700
        (path / "rows.arrow").write_bytes(b"rows")
    assert list(temporary.iterdir()) == []


def test_what_nobody_holds_is_swept(temporary):
    held = Directory()
    os.utime(held.path / "lock", (0, 0))
    dead = left(temporary)
    young = Directory()
    young.forget()
    with Directory():
        assert not dead.exists()
        assert held.path.exists() and young.path.exists()
    held.remove()


def test_what_another_user_left_stays(temporary, monkeypatch):
    dead = left(temporary)
    monkeypatch.setattr(os, "getuid", lambda: dead.stat().st_uid + 1)
    with Directory():
        assert dead.exists()


def test_a_directory_that_cannot_be_written(temporary, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "no" / "such"))
    with pytest.raises(PsiError, match=r"no/such/psishap-.*TMPDIR"):
        Directory()


def test_no_directory_can_be_written(monkeypatch):
    """The message names those that were tried."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/first", "/proc/second"])
    with pytest.raises(PsiError, match=r"/proc/first.*/proc/second.*TMPDIR"):
        Directory()


def test_a_file_system_without_locks(temporary, monkeypatch):
    dead = left(temporary)

    def refuse(_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(_directory, "_lock", refuse)
    with pytest.raises(PsiError, match=r"No locks available.*TMPDIR"):
        Directory()
    assert dead.exists()  # it may be in use
