"""Run psi train: send rows through a pipe, show progress, and on Ctrl-C keep the best model so far."""

from __future__ import annotations

import contextlib
import html
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import pyarrow as pa
from sklearn.exceptions import ConvergenceWarning

from . import _psi
from ._directory import Directory
from ._stored import write


class Trained(NamedTuple):
    """What a training gives."""

    data: bytes  #: the model file
    report: dict[str, Any]  #: document of psi train: metrics, baselines, warnings, seconds
    interrupted: bool


def train(
    table: pa.Table,
    arguments: Sequence[str],
    *,
    title: str,
    verbose: bool | None,
    validation: pa.Table | None = None,
    threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Trained:
    """Train a model on a table. The line at the end starts with the title. Warnings point to the caller's caller's caller."""
    with Directory() as directory, _output(directory, checkpoint) as out:
        said = directory / "said"
        arguments = [*arguments, "-o", str(out)]
        if validation is not None:
            arguments += ["--validation", write(directory / "validation.arrow", validation)]
        if out.with_name(out.name + ".checkpoint").exists():
            arguments += ["--resume"]
        with open(said, "wb") as stdout:
            process = subprocess.Popen(
                [_psi.program(), "train", "-", "--format", "arrow", "--json", "--progress", "json",
                 "--on-interrupt", "finish", "--keep-identifiers", *arguments],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=subprocess.PIPE,
                env=_psi.environment() | ({} if threads is None else {"GOMAXPROCS": str(threads)}),
                start_new_session=True,  # Ctrl-C is passed on by this process
                creationflags=_psi.GROUP,
            )  # fmt: skip
        assert process.stdin is not None and process.stderr is not None
        feeding = threading.Thread(target=_feed, args=(process.stdin, table), daemon=True)
        feeding.start()
        bar = _Bar(verbose, f"{out} predicts")
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
        report = json.loads(said.read_bytes())
        for warning in report["warnings"]:
            if not (interrupted and warning["kind"] == "cut_short"):  # the warning above says so
                category = UserWarning if warning["kind"] in ("leak", "too_good") else ConvergenceWarning
                warnings.warn(_psi.in_parameters(f"{warning['message']} {warning['remedy']}"), category, stacklevel=4)
        bar.conclude(_summary(title, report))
        return Trained(out.read_bytes(), report, interrupted)


@contextlib.contextmanager
def _output(directory: pathlib.Path, checkpoint: str | os.PathLike[str] | None) -> Iterator[pathlib.Path]:
    """Yield the path of the model. It decides where psi keeps its checkpoint: in the user's directory, if there is one."""
    if checkpoint is None:
        yield directory / "model.psi"
        return
    kept = pathlib.Path(checkpoint)
    kept.mkdir(parents=True, exist_ok=True)
    out = kept / "model.psi"
    out.unlink(missing_ok=True)  # psi would take it for the result of the same training
    yield out
    out.unlink()
    with contextlib.suppress(OSError):  # other files are in it
        kept.rmdir()


_SCORES = {"r2": "R²", "accuracy": "accuracy"}
_BASELINES = {"mean": "the mean", "linear": "a linear model", "additive": "an additive model"}


def score_of(metrics: dict[str, float]) -> tuple[str, float]:
    """Return the name and the value of the metric that ``score`` of an estimator measures; NaN if it is undefined."""
    name = "r2" if "rmse" in metrics else "accuracy"
    return name, metrics.get(name, float("nan"))


def _summary(title: str, report: dict[str, Any]) -> str:
    """Return what was trained, how long it took, and its validation score beside the best baseline's."""
    metric, value = score_of(report["metrics"])
    rows, validation = report["rows"] - report["validation_rows"], report["validation_rows"]
    text = f"{title}, {rows:,} rows, {report['seconds']:.3g} s: validation {_SCORES[metric]} {value:.3f} on {validation:,} rows"
    scores = {b["name"]: b["metrics"][metric] for b in report["baselines"] if metric in b["metrics"]}
    if scores:
        best = max(scores, key=lambda name: scores[name])
        text += f"; {_BASELINES[best]} has {scores[best]:.3f}"
    return text


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
            process.send_signal(_psi.INTERRUPT)
            bar.tell("stopping and keeping the best model so far; press Ctrl-C again to discard it")


_STAGES = {
    "read": "reading",
    "scale": "choosing the target's scale",
    "fit": "learning",
    "refit": "refining",
    "polish": "refining",
    "absent": "learning missing cells",
    "spread": "learning the spread",
    "doubt": "learning the uncertainty",
    "audit": "auditing",
}


class _Bar:
    """Show progress and the remaining time in a terminal or a notebook. Collect messages (``words``) and ``warnings``."""

    def __init__(self, verbose: bool | None, summary: str):
        self._notes = bool(verbose)
        self._summary, self._summed_up = summary, False  # how the program's summary starts, which the line after fit replaces
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
            self._summed_up = self._summed_up or line.startswith(self._summary)
            if self._notes and not self._summed_up:
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
        import IPython.display

        show: Any = IPython.display.display
        data = {"text/html": html, "text/plain": text}
        if self._display is None:
            self._display = show(data, raw=True, display_id=True)
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

    def conclude(self, text: str) -> None:
        """Show a line that stays."""
        if self._notebook:
            self._show(html.escape(text), text)
        elif self._terminal or self._notes:
            self.tell(text)


def _notebook() -> bool:
    """Return whether this runs in a notebook, whose shell is not the terminal's."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "Terminal" not in type(shell).__name__


def _lasting(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
