"""Predictions and explanations of a model, computed by a psi process that belongs to this process and ends with it."""

from __future__ import annotations

import atexit
import collections
import concurrent.futures
import itertools
import json
import os
import threading
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import _psi
from ._cells import Floats
from ._process import Answer, Lost, Process
from ._rows import Part, Rows, arrow_parts

_TOGETHER = 3  # concurrent requests of one call: psi computes one while others are encoded and decoded
_RESTARTS = 2  # maximum restarts for one request
_RUNNING = 4  # maximum number of processes: those used last, even if their models are gone


class Child:
    """Owner of the psi process of one model. Forked processes start their own psi process.

    The first request starts the process, and so does the next request after it was killed. Threads may send requests concurrently.
    Copies of a model share one child, see :meth:`of`.
    """

    @staticmethod
    def of(model: bytes, digest: str) -> Child:
        """Return the child of a model in this process."""
        with _registry:
            child = _children.get(digest)
            if child is None:
                child = _children[digest] = Child(model)
            return child

    def __init__(self, model: bytes):
        self._model = model
        self._process: Process | None = None
        self._lock = threading.Lock()

    def __del__(self) -> None:
        try:  # noqa: SIM105
            self.close()
        except Exception:  # the interpreter is about to end
            pass

    def close(self) -> None:
        """Stop the process. The next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _forked(self) -> None:
        process, self._process = self._process, None
        self._lock = threading.Lock()
        if process is not None:
            process.forget()

    @property
    def pid(self) -> int | None:
        """Process id of psi, None if it is not running."""
        process = self._process
        return process.pid if process is not None else None

    @property
    def manifest(self) -> dict[str, Any]:
        """Document of ``psi inspect --json``."""
        _use(self)
        return dict(self._running().manifest)

    def _running(self) -> Process:
        process = self._process
        if process is not None and not process.ended():
            return process
        with self._lock:
            process = self._process
            if process is not None and process.ended():
                if not process.closed:
                    warnings.warn(f"the psi process of this model {process.obituary()}; restarting it", RuntimeWarning, stacklevel=2)
                process.end()
                process = None
            if process is None:
                process = self._process = Process(self._model)
            return process

    def ask(self, header: bytes, body: bytes | memoryview) -> Answer:
        """Send a request and return its answer. Restart a process that ends meanwhile, and retry."""
        _use(self)
        for restarts in itertools.count():
            process = self._running()
            try:
                return process.exchange(header, body)
            except Lost as err:
                if restarts == _RESTARTS and not process.closed:
                    raise _psi.PsiError(f"the psi process of this model {process.obituary()}: {err}") from err
        raise AssertionError

    def arrays(self, rows: Rows, asked: Mapping[str, Any], *, answer: int = 0, reference: memoryview | None = None) -> dict[str, Floats]:
        """Return the arrays that answer the rows, each of one dimension. The answer to a row has so many bytes.

        The reference is an Arrow stream.
        """
        parts: Iterable[Part] = rows.parts(answer)
        if reference is not None:
            parts = (part._replace(body=bytes(part.body) + bytes(reference)) for part in parts)
            asked = {**asked, "reference": len(reference)}
        all_rows: dict[str, Floats] = {}
        for part, answered in self._answers(parts, asked):
            found = _arrays(answered)
            if part.rows == len(rows):
                return found
            for name, array in found.items():
                each = len(array) // part.rows
                if name not in all_rows:
                    all_rows[name] = np.empty(each * len(rows))
                all_rows[name][each * part.start : each * (part.start + part.rows)] = array
        if not all_rows:
            raise _psi.PsiError("there are no rows", "give at least one row")
        return all_rows

    def stream(self, asked: Mapping[str, Any], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield explanations of batches in order as tables, with rows numbered through all batches. Few batches are in memory."""
        for part, answer in self._answers(arrow_parts(batches), {"layout": "wide", **asked}):
            table = pa.ipc.open_stream(answer.body).read_all()
            if part.start:
                at = table.schema.get_field_index("row")
                table = table.set_column(at, "row", pc.add(table.column(at), pa.scalar(part.start, table.schema.field(at).type)))
            yield table

    def _answers(self, parts: Iterable[Part], asked: Mapping[str, Any]) -> Iterator[tuple[Part, Answer]]:
        """Yield the parts of a table in order, each with its answer."""

        def answer(part: Part) -> tuple[Part, Answer]:
            header = json.dumps({**asked, "numbers": part.rows if part.numbers else 0}).encode()
            try:
                return part, self.ask(header, part.body)
            except _psi.PsiError as err:
                raise err.shifted(part.start) from None

        parts = iter(parts)
        first = list(itertools.islice(parts, 2))
        if len(first) < 2:  # most calls are one request and need no threads
            yield from map(answer, first)
            return
        pool = concurrent.futures.ThreadPoolExecutor(_TOGETHER, "psishap")
        waiting: collections.deque[concurrent.futures.Future[tuple[Part, Answer]]] = collections.deque()
        try:
            for part in itertools.chain(first, parts):
                waiting.append(pool.submit(answer, part))
                if len(waiting) > _TOGETHER:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def asking(**query: str | Sequence[str] | bool | int | None) -> dict[str, Any]:
    """Return the header of a request: the values that are given."""
    return {key: list(value) if isinstance(value, (list, tuple)) else value for key, value in query.items() if value}


def _arrays(answer: Answer) -> dict[str, Floats]:
    found, start = {}, 0
    numbers = np.frombuffer(answer.body, "<f8")
    for array in answer.header["arrays"]:
        found[array["name"]] = numbers[start : start + array["length"]]
        start += array["length"]
    return found


_registry = threading.Lock()
_children: weakref.WeakValueDictionary[str, Child] = weakref.WeakValueDictionary()

# The children used last, the latest at the end. They outlive their models: workers of joblib and Spark get a new copy of a model with
# every task, and would start a process for each.
_used: list[Child] = []


def _use(child: Child) -> None:
    """Note that a child is used, and stop the process that was used longest ago if there are too many."""
    if _used and _used[-1] is child:
        return
    with _registry:
        _used[:] = [*(c for c in _used if c is not child), child]
        unused = _used[:-_RUNNING]
        del _used[:-_RUNNING]
    for other in unused:
        other.close()


def _close_all() -> None:
    for child in list(_children.values()):
        child.close()


def _after_fork() -> None:
    global _registry
    _registry = threading.Lock()
    for child in list(_children.values()):
        child._forked()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
