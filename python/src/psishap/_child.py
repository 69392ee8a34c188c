"""The server that answers for a model: a psi process that belongs to this one and ends with it."""

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

# A request is of so many rows and bytes, at most: enough that its overhead is nothing, and little enough to hold some of them.
_ROWS = 8192
_BYTES = 16 << 20
_LIMITS = ["--timeout", "24h", "--drain", "1s", "--max-rows", str(_ROWS), "--max-body", "1GiB", "--max-held", "4GiB"]  # of the server
_TOGETHER = 3  # requests of one call under way at once: one is answered while others are packed and unpacked
_RESTARTS = 2  # of one request


class _Connection(http.client.HTTPConnection):
    """HTTP over a socket in the file system. There is no time limit: a call takes as long as it takes."""

    def __init__(self, path: str):
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


class _Process:
    """A psi serve that runs, with a directory of its own: the model, the socket and what it logs.

    It stops when its standard input ends. The other end is in this process alone, so that the system closes it however this
    process dies.
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
                start_new_session=True,  # Ctrl-C is for this process
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
        """What it said last."""
        try:
            return (self.directory / "log").read_text(errors="replace")[-2000:]
        except OSError:
            return ""

    def forget(self) -> None:
        """Called in a process that was forked: the server is not this one's, and must not be kept alive by it."""
        for pipe in (self._stdin, self._stdout, *(c.sock for c in self.connections)):
            if pipe is not None:
                pipe.close()
        self._directory.forget()
        self.popen.returncode = 0  # it is no child of this process

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
    """What answers for one model, in this process and in those that are forked from it: each has a psi of its own.

    It starts with the first question, and again with the next one if it was killed. Threads may ask at once. Copies of a model
    share one, see :meth:`of`.
    """

    @staticmethod
    def of(model: bytes, digest: str) -> Child:
        """The one child of a model in this process."""
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
        """Ends the process. A later question starts another."""
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
        """Process id of the server, None while there is none."""
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
                    f"the psi process of this model {how} and is started again" + (f"; it said last: {last}" if last else ""),
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
        """Sends a body in Arrow and returns the answer's. A process that dies meanwhile is replaced and asked again."""
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
                    continue  # the server closes connections that were idle for long
                if not _ended(process.popen) or restarts == _RESTARTS:
                    raise _psi.PsiError(f"psi broke off its answer: {err}. It said last: {process.log()}") from err
                restarts += 1
                continue
            except BaseException:  # Ctrl-C: the server sees that nobody waits for it
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
        """Answers to batches of rows, in their order and numbered through, while only a few are held."""
        numbered = _numbered(batches)
        first = next(numbered, None)
        if first is None:
            return
        second = next(numbered, None)
        if second is None:  # no thread for the little that most calls ask
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
        """Explains the rows of a table: the columns of ``psi explain -o x.arrow``, wide."""
        return self._all("/explain", table, unknown=list(unknown), output=output, layout="wide")

    def predict(self, table: pa.Table, *, unknown: Sequence[str] = ()) -> pa.Table:
        """Predicts the rows of a table: the columns of ``psi predict``."""
        return self._all("/predict", table, unknown=list(unknown))

    def _all(self, path: str, table: pa.Table, **query: str | list[str] | None) -> pa.Table:
        if table.num_rows == 0:
            raise _psi.PsiError("there are no rows", "give at least one")
        return pa.concat_tables(self.stream(asking(path, **query), table.to_batches()))


def asking(path: str, **query: str | list[str] | None) -> str:
    """A path with the parts of a query that are given."""
    given = [(key, value) for key, value in query.items() if value]
    return path + ("?" + urllib.parse.urlencode(given, doseq=True) if given else "")


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """Batches cut into what one request holds, each with the number of its first row."""
    start = 0
    for batch in batches:
        rows = batch.num_rows
        size = max(1, min(_ROWS, int(_BYTES / max(1, batch.nbytes / max(1, rows)))))
        for at in range(0, rows, size):
            part = batch.slice(at, size)
            yield start, pa.Table.from_batches([part])
            start += part.num_rows


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended; one that was just killed has a moment until the system says so."""
    try:
        process.wait(2)
        return True
    except subprocess.TimeoutExpired:
        return False


_registry = threading.Lock()
_children: weakref.WeakValueDictionary[str, Child] = weakref.WeakValueDictionary()

# The children that were asked last stay when their models go: workers of joblib and Spark get a new copy of a model with every
# task, and would start a process for each.
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
