"""The command ``psi`` of an environment that has this package: it becomes the program inside."""

from __future__ import annotations

import os
import sys

from . import _psi


def main() -> None:
    """Runs the program in place of this process, so that signals, pipes and the exit code are its own."""
    try:
        path = _psi.program()
    except _psi.PsiError as err:
        sys.exit(f"psi: {err}")
    os.execve(path, ["psi", *sys.argv[1:]], os.environ)
