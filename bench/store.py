"""The lock of the files that results are added to: several runs may add at once."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked() -> Iterator[None]:
    """Locks the directory, because each change replaces a file of it."""
    directory = os.open(Path(__file__).parent, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
