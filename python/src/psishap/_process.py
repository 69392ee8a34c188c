"""A psi process that holds one model and answers requests through its standard input and output (docs/adr/0040-pipe.md)."""

from __future__ import annotations

import contextlib
import json
import select
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from . import _psi

_FRAME = struct.Struct("<IIQ")  # number of the request, bytes of the header, bytes of the body
_SMALL = 1 << 16  # bytes of a request that are written at once
_PIPE = 1 << 20  # bytes that the pipes hold, where the system allows it
_TIMEOUT = 600.0  # seconds without an answer; a request has a few thousand rows, which take at most a few seconds


class Answer(NamedTuple):
    header: Mapping[str, Any]
    body: memoryview


class Lost(Exception):
    """The process ended before it answered."""


class Process:
    """A running process. Threads may send requests at the same time.

    It ends at the end of its standard input. Only this process has the other end, so the system closes it however this process ends.
    """

    def __init__(self, model: bytes):
        self._log = _log()
        self._popen = subprocess.Popen(
            [_psi.program(), "pipe"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log or subprocess.DEVNULL,
            bufsize=0,
            env=_psi.environment(),
            start_new_session=True,  # Ctrl-C must reach only this process
            creationflags=_psi.GROUP,
        )
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self._stdin, self._stdout = self._popen.stdin, self._popen.stdout
        _enlarge(self._stdin, self._stdout)
        self._poll = _poll(self._stdout)
        self._writing = threading.Lock()
        self._turn = threading.Condition()  # of the thread that reads, for all
        self._reading = False
        self._answers: dict[int, Answer] = {}
        self._last = 0
        self.closed = False
        try:
            self.manifest = self.exchange(b"{}", model).header
        except Lost as err:
            message = f"the psi process of this model {self.obituary()} as it started: {err}"
            self.end()
            raise _psi.PsiError(message) from err
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        return self._popen.pid

    def ended(self) -> bool:
        return self.closed or self._popen.poll() is not None

    def obituary(self) -> str:
        """Return how the process ended, with the last line of its log."""
        try:
            code = self._popen.wait(2)
        except subprocess.TimeoutExpired:
            return "does not answer"
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        lines = self._logged().strip().splitlines()
        return how + (f" (last log line: {lines[-1]})" if lines else "")

    def _logged(self) -> str:
        if self._log is None or self._log.closed:
            return ""
        self._log.seek(max(0, self._log.seek(0, 2) - 2000))
        return self._log.read().decode(errors="replace")

    def exchange(self, header: bytes, body: bytes | memoryview) -> Answer:
        """Send a request and return its answer. An error in the answer is raised."""
        try:
            answer = self._received(self._sent(header, body))
        except (OSError, ValueError) as err:  # a pipe that is broken, or was closed by another thread
            self.kill()
            raise Lost(str(err)) from err
        except BaseException:  # Ctrl-C in the middle of a frame: nobody knows where the next one begins
            self.kill()
            raise
        if answer.header.get("schema") == "psi.error/v1":
            raise _psi.failure(json.dumps(answer.header), "")
        return answer

    def _sent(self, header: bytes, body: bytes | memoryview) -> int:
        with self._writing:
            self._last = number = (self._last + 1) & 0xFFFFFFFF
            start = _FRAME.pack(number, len(header), len(body)) + header
            if len(body) < _SMALL:
                self._write(start + body)
            else:
                self._write(start)
                self._write(body)
            return number

    def _write(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._stdin.write(rest) :]

    def _received(self, number: int) -> Answer:
        """Return the answer to a request. One thread reads for all that wait."""
        with self._turn:
            while number not in self._answers and self._reading:
                self._turn.wait()
            if number in self._answers:
                return self._answers.pop(number)
            self._reading = True
        try:
            while True:
                of, answer = self._read()
                if of == number:
                    return answer
                with self._turn:
                    self._answers[of] = answer
                    self._turn.notify_all()
        finally:
            with self._turn:
                self._reading = False
                self._turn.notify_all()

    def _read(self) -> tuple[int, Answer]:
        number, header, body = _FRAME.unpack(self._exactly(_FRAME.size))
        content = memoryview(self._exactly(header + body))
        return number, Answer(json.loads(bytes(content[:header])), content[header:])

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            if self._poll is not None and not self._poll.poll(_TIMEOUT * 1000):
                raise OSError(f"no answer within {_TIMEOUT:.0f} s")
            count = self._stdout.readinto(rest)  # type: ignore[attr-defined]
            if not count:
                raise OSError("its output has ended")
            rest = rest[count:]
        return data

    def kill(self) -> None:
        """Kill the process and wait until the system knows that it has ended."""
        self._popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(5)

    def forget(self) -> None:
        """Release the process in a forked one, which must not keep it alive."""
        self._close()
        self._popen.returncode = 0  # it is not a child of this process

    def end(self) -> None:
        self.closed = True
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._popen.wait(3)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._close()

    def _close(self) -> None:
        for file in (self._stdin, self._stdout, self._log):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def _log() -> IO[bytes] | None:
    """Return a file for the messages of the process; None if temporary files cannot be written, which it does not need."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        return None


def _enlarge(*pipes: IO[bytes]) -> None:
    if sys.platform == "linux":
        import fcntl

        for pipe in pipes:
            with contextlib.suppress(OSError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)


def _poll(pipe: IO[bytes]) -> Any:
    """Return what waits for a pipe with a timeout; None on Windows, where pipes have none."""
    if sys.platform == "win32":
        return None
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return poll
