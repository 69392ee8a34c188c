"""The server of a model: a psi process that belongs to this process and ends with it."""

from __future__ import annotations

import atexit
import collections
import concurrent.futures
import http.client
import io
import itertools
import json
import os
import socket
import subprocess
import threading
import time
import urllib.parse
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from . import _psi
from ._directory import Directory

ARROW = "application/vnd.apache.arrow.stream"

# Maximum rows and bytes of a request: large enough for a negligible overhead, small enough to keep several in memory.
_ROWS = 8192
_BYTES = 16 << 20
_LIMITS = ["--timeout", "24h", "--drain", "1s", "--max-rows", str(_ROWS), "--max-body", "1GiB", "--max-held", "4GiB"]  # of the server
_TOGETHER = 3  # concurrent requests of one call: psi computes one while others are encoded and decoded
_RESTARTS = 2  # maximum restarts for one request


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket, without a timeout."""

    def __init__(self, path: str):
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


class _Process:
    """A running psi serve, with its own directory for the model, the socket and the log.

    It stops at the end of its standard input. Only this process has the other end, so the system closes it however this process ends.
    """

    def __init__(self, model: bytes):
        self._directory = Directory()
        self.directory = self._directory.path
        self.socket = str(self.directory / "socket")
        self.connections: list[_Connection] = []
        path = self.directory / "model.psi"
        path.write_bytes(model)
        arguments = ["--http", f"unix:{self.socket}", "--grpc", "", "--metrics", "", "--until-eof", "--json"]
        with open(self.directory / "log", "wb") as log:
            self.popen = subprocess.Popen(
                [_psi.program(), "serve", str(path), *arguments, *_LIMITS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_psi.environment(),
                start_new_session=True,  # Ctrl-C must reach only this process
            )
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self._stdin, self._stdout = self.popen.stdin, self.popen.stdout
        ready = self._stdout.readline()
        try:
            if json.loads(ready).get("schema") != "psi.serving/v1":
                raise ValueError
        except ValueError:
            said = self.log()
            self.end()
            raise _psi.failure(ready, said) from None

    def log(self) -> str:
        """Return the end of the log."""
        try:
            return (self.directory / "log").read_text(errors="replace")[-2000:]
        except OSError:
            return ""

    def forget(self) -> None:
        """Release the server in a forked process, which must not keep it alive."""
        for pipe in (self._stdin, self._stdout, *(c.sock for c in self.connections)):
            if pipe is not None:
                pipe.close()
        self._directory.forget()
        self.popen.returncode = 0  # it is not a child of this process

    def end(self) -> None:
        for connection in self.connections:
            connection.close()
        self._stdin.close()
        try:
            self.popen.wait(3)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self._stdout.close()
        self._directory.remove()


class Child:
    """Client and owner of the psi process of one model. Forked processes start their own psi process.

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
        self._pid = 0
        self._process: _Process | None = None
        self._lock = threading.Lock()

    def __del__(self) -> None:
        try:  # noqa: SIM105
            self.close()
        except Exception:  # the interpreter is about to end
            pass

    def close(self) -> None:
        """Stop the process. The next request starts another."""
        process, self._process = self._process, None
        if process is not None and self._pid == os.getpid():
            process.end()

    def _forked(self) -> None:
        process, self._process = self._process, None
        self._lock = threading.Lock()
        if process is not None:
            process.forget()

    @property
    def pid(self) -> int | None:
        """Process id of the server, None if it is not running."""
        process = self._process
        return process.popen.pid if process is not None else None

    def _running(self) -> _Process:
        with self._lock:
            process = self._process
            if process is not None and process.popen.poll() is not None:
                said = process.log().strip()
                code = process.popen.returncode
                how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
                last = said.splitlines()[-1] if said else ""
                warnings.warn(
                    f"the psi process of this model {how}; restarting it" + (f" (last log line: {last})" if last else ""),
                    RuntimeWarning,
                    stacklevel=2,
                )
                process.end()
                process = self._process = None
            if process is None:
                process = self._process = _Process(self._model)
                self._pid = os.getpid()
            return process

    def ask(self, path: str, body: bytes | memoryview) -> bytes:
        """Send a body in Arrow and return the body of the response. Restart a process that ends meanwhile, and retry."""
        _keep_warm(self)
        restarts = 0
        while True:
            process = self._running()
            try:
                connection = process.connections.pop()
                fresh = False
            except IndexError:
                connection, fresh = _Connection(process.socket), True
            try:
                connection.request("POST", path, body, {"Content-Type": ARROW})
                response = connection.getresponse()
                answer = response.read()
            except (OSError, http.client.HTTPException) as err:
                connection.close()
                if not fresh and process.popen.poll() is None:
                    continue  # the server closes idle connections
                if not _ended(process.popen) or restarts == _RESTARTS:
                    raise _psi.PsiError(f"psi did not complete its response: {err}. End of its log: {process.log()}") from err
                restarts += 1
                continue
            except BaseException:  # Ctrl-C: the server sees the closed connection and stops
                connection.close()
                raise
            if response.status == 200:
                process.connections.append(connection)
                return answer
            connection.close()
            if response.status in (429, 503) and process.popen.poll() is None:
                time.sleep(min(float(response.getheader("Retry-After") or 0.1), 1))
                continue
            raise _psi.failure(answer, answer.decode(errors="replace"))

    def stream(self, path: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the results of batches in order, with rows numbered through all batches. Only a few batches are in memory."""
        numbered = _numbered(batches)
        first = next(numbered, None)
        if first is None:
            return
        second = next(numbered, None)
        if second is None:  # most calls are one request and need no threads
            yield self._answer(path, *first)
            return
        pool = concurrent.futures.ThreadPoolExecutor(_TOGETHER, "psishap")
        waiting: collections.deque[concurrent.futures.Future[pa.Table]] = collections.deque()
        try:
            for start, part in itertools.chain([first, second], numbered):
                waiting.append(pool.submit(self._answer, path, start, part))
                if len(waiting) > _TOGETHER:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _answer(self, path: str, start: int, part: pa.Table) -> pa.Table:
        body = io.BytesIO()
        with pa.ipc.new_stream(body, part.schema) as writer:
            writer.write_table(part)
        answer = pa.ipc.open_stream(self.ask(path, body.getbuffer())).read_all()
        if start:
            at = answer.schema.get_field_index("row")
            rows = pc.add(answer.column(at), pa.scalar(start, answer.schema.field(at).type))
            answer = answer.set_column(at, "row", rows)
        return answer

    def explain(self, table: pa.Table, *, unknown: Sequence[str] = (), output: str | None = None) -> pa.Table:
        """Explain the rows of a table, with the wide columns of ``psi explain -o x.arrow``."""
        return self._all("/explain", table, unknown=list(unknown), output=output, layout="wide")

    def predict(self, table: pa.Table, *, unknown: Sequence[str] = ()) -> pa.Table:
        """Predict the rows of a table, with the columns of ``psi predict``."""
        return self._all("/predict", table, unknown=list(unknown))

    def _all(self, path: str, table: pa.Table, **query: str | list[str] | None) -> pa.Table:
        if table.num_rows == 0:
            raise _psi.PsiError("there are no rows", "give at least one row")
        return pa.concat_tables(self.stream(asking(path, **query), table.to_batches()))


def asking(path: str, **query: str | list[str] | None) -> str:
    """Return a path with the query parameters that have a value."""
    given = [(key, value) for key, value in query.items() if value]
    return path + ("?" + urllib.parse.urlencode(given, doseq=True) if given else "")


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """Split batches into requests, each with the number of its first row."""
    start = 0
    for batch in batches:
        rows = batch.num_rows
        size = max(1, min(_ROWS, int(_BYTES / max(1, batch.nbytes / max(1, rows)))))
        for at in range(0, rows, size):
            part = batch.slice(at, size)
            yield start, pa.Table.from_batches([part])
            start += part.num_rows


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process has ended, after a short wait for one that was just killed."""
    try:
        process.wait(2)
        return True
    except subprocess.TimeoutExpired:
        return False


_registry = threading.Lock()
_children: weakref.WeakValueDictionary[str, Child] = weakref.WeakValueDictionary()

# The children used last outlive their models: workers of joblib and Spark get a new copy of a model with every task, and would
# start a process for each.
_WARM = 2
_warm: list[Child] = []


def _keep_warm(child: Child) -> None:
    if _warm and _warm[-1] is child:
        return
    with _registry:
        kept = [c for c in _warm if c is not child]
        _warm[:] = [*kept, child][-_WARM:]


def _close_all() -> None:
    for child in list(_children.values()):
        child.close()


def _after_fork() -> None:
    global _registry
    _registry = threading.Lock()
    for child in list(_children.values()):
        child._forked()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)
