"""The command ``psi`` of a Python environment: it runs the program inside this package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from . import _psi


def main() -> None:
    """Replace this process by the program, so that signals, pipes and the exit code are its own.

    Windows cannot replace a process. There, this one waits for the program and passes on its exit code.
    """
    try:
        path = _psi.program()
    except _psi.PsiError as err:
        sys.exit(f"psi: {err}")
    if sys.platform != "win32":
        os.execve(path, ["psi", *sys.argv[1:]], os.environ)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the program, which decides how to end
    sys.exit(subprocess.call([path, *sys.argv[1:]]))
