"""Private temporary directories for the files of a psi process."""

from __future__ import annotations

import fcntl
import os
import pathlib
import shutil
import tempfile
import time
from typing import IO

_PREFIX = "psishap-"
_YOUNG = 60.0  # seconds in which a new directory may not be locked yet


class Directory:
    """A private directory (mode 0700) in the temporary directory of the system.

    It is locked as long as this process, or one forked from it, runs. A new directory first removes those of processes that were
    killed.
    """

    def __init__(self) -> None:
        _sweep()
        path = tempfile.mkdtemp(prefix=_PREFIX)
        if len(os.fsencode(path)) > 90:  # the path of a socket has at most 107 bytes
            os.rmdir(path)
            path = tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp")
        self.path = pathlib.Path(path)
        self._lock = _locked(self.path / "lock")

    def __enter__(self) -> pathlib.Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def forget(self) -> None:
        """Release the directory in a forked process, which does not own it."""
        self._lock.close()


def _locked(path: pathlib.Path) -> IO[bytes]:
    file = open(path, "ab")  # noqa: SIM115 (the lock lasts as long as it is open)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _sweep() -> None:
    for path in pathlib.Path(tempfile.gettempdir()).glob(_PREFIX + "*/lock"):
        try:
            state = path.stat()
            if state.st_uid != os.getuid() or time.time() - state.st_mtime < _YOUNG:
                continue
            with _locked(path):  # nobody else holds it
                shutil.rmtree(path.parent, ignore_errors=True)
        except OSError:
            continue
