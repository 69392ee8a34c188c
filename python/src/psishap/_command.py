"""The command ``psi`` of a Python environment: it runs the program inside this package."""

from __future__ import annotations

import os
import sys

from . import _psi


def main() -> None:
    """Replace this process by the program, so that signals, pipes and the exit code are its own."""
    try:
        path = _psi.program()
    except _psi.PsiError as err:
        sys.exit(f"psi: {err}")
    os.execve(path, ["psi", *sys.argv[1:]], os.environ)
