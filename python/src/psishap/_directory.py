"""Private temporary directories for the files of a psi process."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import tempfile
import time
from typing import IO

from ._psi import PsiError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def _mine(state: os.stat_result) -> bool:
        return True  # every user has their own temporary directory

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _mine(state: os.stat_result) -> bool:
        return state.st_uid == os.getuid()


_PREFIX = "psishap-"
_YOUNG = 60.0  # seconds in which a new directory may not be locked yet


class Directory:
    """A private directory (mode 0700) in the temporary directory of the system.

    It is locked as long as this process, or one forked from it, runs. A new directory first removes those of processes that were
    killed.
    """

    def __init__(self) -> None:
        try:
            self.path = _created()
            self._lock = _locked(self.path / "lock")
        except OSError as err:
            remedy = "set the environment variable TMPDIR to a directory that exists, that you can write to and that has space left"
            raise PsiError(f"psishap cannot create a temporary directory: {err}", remedy) from err

    def __enter__(self) -> pathlib.Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        self._lock.close()  # first, for Windows does not remove open files
        shutil.rmtree(self.path, ignore_errors=True)

    def forget(self) -> None:
        """Release the directory in a forked process, which does not own it."""
        self._lock.close()


def _created() -> pathlib.Path:
    parent = tempfile.gettempdir()
    _sweep(parent)
    return pathlib.Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))


def _locked(path: pathlib.Path) -> IO[bytes]:
    file = open(path, "ab")  # noqa: SIM115 (the lock lasts as long as it is open)
    try:
        _lock(file)
    except OSError:
        file.close()
        raise
    return file


def _sweep(parent: str) -> None:
    for path in pathlib.Path(parent).glob(_PREFIX + "*/lock"):
        try:
            state = path.stat()
            if not _mine(state) or time.time() - state.st_mtime < _YOUNG:
                continue
            _locked(path).close()  # nobody else holds it
            shutil.rmtree(path.parent, ignore_errors=True)
        except OSError:
            continue
