"""Run psi train: send rows through a pipe, show progress, and on Ctrl-C keep the best model so far."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from typing import IO, Any

import pyarrow as pa
from sklearn.exceptions import ConvergenceWarning

from . import _psi
from ._directory import Directory


def train(table: pa.Table, arguments: Sequence[str], verbose: bool | None) -> bytes:
    """Train a model on a table and return the content of its file."""
    with Directory() as directory:
        out, said = directory / "model.psi", directory / "said"
        with open(said, "wb") as stdout:
            process = subprocess.Popen(
                [_psi.program(), "train", "-", "--format", "arrow", "-o", str(out), "--json", "--progress", "json",
                 "--on-interrupt", "finish", "--keep-identifiers", *arguments],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=subprocess.PIPE,
                env=_psi.environment(),
                start_new_session=True,  # Ctrl-C is passed on by this process
            )  # fmt: skip
        assert process.stdin is not None and process.stderr is not None
        feeding = threading.Thread(target=_feed, args=(process.stdin, table), daemon=True)
        feeding.start()
        bar = _Bar(verbose)
        try:
            interrupted = _watch(process, process.stderr, bar)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            bar.close()
            process.stderr.close()
        feeding.join()
        if process.returncode != 0:
            if interrupted:
                raise KeyboardInterrupt
            raise _psi.failure(said.read_bytes(), bar.words)
        if interrupted:
            warnings.warn("training was interrupted: the model is the best one so far", RuntimeWarning, stacklevel=4)
        for text in bar.warnings:
            warnings.warn(text, UserWarning, stacklevel=4)
        for warning in json.loads(said.read_bytes())["warnings"]:
            if not (interrupted and warning["kind"] == "cut_short"):  # the warning above says so
                category = UserWarning if warning["kind"] in ("leak", "too_good") else ConvergenceWarning
                warnings.warn(_psi.in_parameters(f"{warning['message']} {warning['remedy']}"), category, stacklevel=4)
        return out.read_bytes()


def _feed(stdin: IO[bytes], table: pa.Table) -> None:
    """Send the rows. If psi stops reading, its own error says why."""
    try:
        with stdin, pa.ipc.new_stream(stdin, table.schema) as writer:
            writer.write_table(table, max_chunksize=16384)
    except OSError:
        pass


def _watch(process: subprocess.Popen[bytes], stderr: IO[bytes], bar: _Bar) -> bool:
    """Follow training to its end and return whether it was interrupted. A second Ctrl-C discards the model."""
    interrupted = False
    while True:
        try:
            for line in stderr:
                bar.hear(line.decode(errors="replace"))
            process.wait()
            return interrupted
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            process.send_signal(signal.SIGINT)
            bar.tell("stopping and keeping the best model so far; press Ctrl-C again to discard it")


_STAGES = {
    "read": "reading",
    "scale": "choosing the target's scale",
    "fit": "learning",
    "refit": "refining",
    "polish": "refining",
    "spread": "learning the spread",
    "doubt": "learning the uncertainty",
    "audit": "auditing",
}


class _Bar:
    """Show progress and the remaining time in a terminal or a notebook. Collect messages (``words``) and ``warnings``."""

    def __init__(self, verbose: bool | None):
        self._notes = bool(verbose)
        self._display: Any = None
        self._terminal = self._notebook = False
        self._width = 0
        self._begun = time.monotonic()
        self.words = ""
        self.warnings: list[str] = []
        if verbose is False:
            return
        self._notebook = _notebook()
        self._terminal = not self._notebook and sys.stderr is not None and sys.stderr.isatty()

    def hear(self, line: str) -> None:
        if not line.startswith("{"):
            self.words = (self.words + line)[-4000:]
            if self._notes:
                self.tell(_psi.in_parameters(line.rstrip("\n")))
            return
        said = json.loads(line)
        if said["note"]:
            note = _psi.in_parameters(said["note"])
            self.words = (self.words + note + "\n")[-4000:]
            if said["warning"]:
                self.warnings.append(note)
            elif self._notes:
                self.tell(note)
        if time.monotonic() - self._begun > 0.5:  # short trainings need no bar
            self._draw(said)

    def _draw(self, said: dict[str, Any]) -> None:
        done = said["done"]
        text = f"{_STAGES.get(said['stage'], said['stage'])}, {100 * done:.0f} %"
        if said["remaining"]:
            text += f", about {_lasting(said['remaining'])} left"
        if said["error"] is not None:
            text += f", validation {'error' if said['metric'] == 'rmse' else said['metric']} {said['error']:.4g}"
        if self._terminal:
            full = round(20 * done)
            line = "█" * full + "░" * (20 - full) + " " + text
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = len(line)
        elif self._notebook:
            self._show(f'<progress value="{done:.4f}" max="1"></progress> {text}', text)

    def _show(self, html: str, text: str) -> None:
        from IPython.display import display

        data = {"text/html": html, "text/plain": text}
        if self._display is None:
            self._display = display(data, raw=True, display_id=True)
        else:
            self._display.update(data, raw=True)

    def tell(self, text: str) -> None:
        self._clear()
        print(text, file=sys.stderr)

    def _clear(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            self._width = 0

    def close(self) -> None:
        self._clear()
        if self._display is not None:
            self._show("", "")


def _notebook() -> bool:
    """Return whether this runs in a notebook, whose shell is not the terminal's."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "Terminal" not in type(shell).__name__


def _lasting(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
