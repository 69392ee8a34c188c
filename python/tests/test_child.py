"""The process that answers: one for each Python process, restarted when killed, and never left behind."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings

import joblib
import numpy as np
import pyarrow as pa
import pytest
from conftest import slow, table_of, target_of
from jupyter_client.manager import start_new_kernel

import psishap
from psishap import PsiRegressor, _child, _directory, _process, _psi, _rows


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not asked for its status does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pid: int, within: float = 5) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until:
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def asked(model):
    """What a worker says: its answer, its own process and that of its psi."""
    return model.predict(table_of(20)), os.getpid(), model._child.pid


def test_starts_with_the_first_question_and_ends_when_closed(model):
    model.close()
    assert model._child.pid is None
    model.predict(table_of(5))
    pid = model._child.pid
    assert alive(pid)
    model.predict(table_of(5))
    assert model._child.pid == pid
    model.close()
    assert ends(pid)


def test_copies_share_a_process_and_few_run(fitted, monkeypatch):
    monkeypatch.setattr(_child, "_RUNNING", 1)
    table = table_of(60)
    other = PsiRegressor(random_state=1, steps=4).fit(table, target_of(table)).model_
    model = psishap.Model(fitted.model_.data)
    model.predict(table)
    pid = model._child.pid
    del model
    copy = pickle.loads(pickle.dumps(fitted.model_))
    copy.predict(table)
    assert copy._child.pid == pid
    other.predict(table)
    assert ends(pid)  # though its models live
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy.predict(table)
    assert other._child.pid is None and alive(copy._child.pid)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(model, method):
    want = model.predict(table_of(20))
    with warnings.catch_warnings(), multiprocessing.get_context(method).Pool(2) as pool:
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads
        answers = pool.map(asked, [model] * 4)
    for got, _, psi in answers:
        np.testing.assert_array_equal(got, want)
        assert psi != model._child.pid
    assert len({python for _, python, _ in answers}) == len({psi for _, _, psi in answers})
    assert all(ends(psi) for _, _, psi in answers)
    np.testing.assert_array_equal(model.predict(table_of(20)), want)


def test_a_forked_process_asks_its_own(model):
    """With fork alone, without a pickle on the way, and while the parent's psi runs."""
    want = model.predict(table_of(20))
    parent = model._child.pid
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            got = model.predict(table_of(20))
            os.write(write, pickle.dumps((np.array_equal(got, want), model._child.pid)))
        finally:
            os._exit(0)  # not even the interpreter's own end: the system closes what is open
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        same, psi = pickle.load(pipe)
    os.waitpid(child, 0)
    assert same and psi != parent
    assert ends(psi) and alive(parent)
    np.testing.assert_array_equal(model.predict(table_of(20)), want)


def test_a_forked_process_keeps_no_psi_alive(model):
    model.predict(table_of(2))
    psi = model._child.pid
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        model.close()
        assert ends(psi, 2.5)  # without being killed, which comes after 3 s
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_joblib(model):
    want = model.predict(table_of(20))
    answers = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict)(table_of(20)) for _ in range(4))
    for got in answers:
        np.testing.assert_array_equal(got, want)


def test_threads(model):
    """Threads share one process, and the first questions come at once."""
    want = model.predict(table_of(200))
    model.close()
    got = [None] * 8
    begin = threading.Barrier(len(got))
    pids = set()

    def ask(i):
        begin.wait()
        for _ in range(5):
            got[i] = model.predict(table_of(200))
        pids.add(model._child.pid)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(got))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in got:
        np.testing.assert_array_equal(answer, want)
    assert len(pids) == 1


def test_a_killed_process_is_started_again_and_said(model):
    want = model.predict(table_of(20))
    first = model._child.pid
    os.kill(first, signal.SIGKILL)
    with pytest.warns(RuntimeWarning, match="was killed by signal 9; restarting it"):
        np.testing.assert_array_equal(model.predict(table_of(20)), want)
    assert model._child.pid != first
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table_of(20))


def test_killed_in_the_middle_of_a_call(model):
    table = table_of(200_000)
    want = model.predict(table.head(2000))
    process = model._child._process

    def kill() -> None:
        while process._last < 8:  # of 26 requests
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.warns(RuntimeWarning, match="restarting it"):
        got = model.predict(table)
    assert len(got) == len(table)
    np.testing.assert_array_equal(got[:2000], want)


def test_a_lost_pipe(model):
    want = model.predict(table_of(20))
    model._child._process._stdin.close()
    with pytest.warns(RuntimeWarning, match="restarting it"):
        np.testing.assert_array_equal(model.predict(table_of(20)), want)


def test_a_program_that_does_not_start(model, monkeypatch, tmp_path):
    model.close()
    (tmp_path / "psi").write_text("#!/bin/sh\necho no memory >&2\nexit 3\n")
    (tmp_path / "psi").chmod(0o700)
    monkeypatch.setattr(_psi, "program", lambda: str(tmp_path / "psi"))
    with pytest.raises(psishap.PsiError, match=r"ended with 3 \(last log line: no memory\) as it started"):
        model.predict(table_of(5))


def test_no_answer_in_time(model, monkeypatch):
    model.predict(table_of(20))
    monkeypatch.setattr(_process, "_TIMEOUT", 0.3)
    monkeypatch.setattr(_child, "_RESTARTS", 0)
    os.kill(model._child.pid, signal.SIGSTOP)
    with pytest.raises(psishap.PsiError, match="no answer within 0 s"):
        model.predict(table_of(20))
    monkeypatch.undo()
    with pytest.warns(RuntimeWarning, match="restarting it"):
        assert model.predict(table_of(20)).shape == (20,)


def test_no_directory_for_temporary_files(model, monkeypatch):
    """Neither predictions nor explanations need files."""
    model.close()
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    assert model.explain(table_of(20)).interactions.shape[0] == 20


def test_a_long_call_does_not_hold_up_a_short_one(model):
    long, short = table_of(300_000), table_of(1)
    model.predict(short)
    thread = threading.Thread(target=model.explain, args=(long,))
    thread.start()
    waited = []
    while thread.is_alive():
        began = time.monotonic()
        model.predict(short)
        waited.append(time.monotonic() - began)
    thread.join()
    assert len(waited) > 3, waited


script = """
    import os, sys, time
    import psishap
    from conftest import table_of, target_of
    model = psishap.load(sys.argv[1])
    model.predict(table_of(5))
    print(model._child.pid, flush=True)
    {then}
"""


def python(tmp_path, model, then):
    """A Python process whose psi runs, and that psi."""
    path = tmp_path / "model.psi"
    model.save(path)
    code = textwrap.dedent(script).format(then=then)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    code = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n{code}"  # under nohup it is ignored
    process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, env=environment)
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_no_orphan_of_a_python_that_was_killed(tmp_path, model, how):
    """So ends a notebook whose kernel is killed or whose window is closed."""
    process, psi = python(tmp_path, model, "time.sleep(60)")
    assert alive(psi)
    process.send_signal(how)
    process.wait()
    began = time.monotonic()
    assert ends(psi, 5)
    print(f"psi ended {time.monotonic() - began:.2f} s after its Python")


@pytest.mark.parametrize("asked", [True, False], ids=["asked to end", "killed"])
def test_no_orphan_of_a_notebook_that_is_closed(tmp_path, model, asked):
    """A kernel of Jupyter, closed as its window is: psi goes with it."""
    model.save(tmp_path / "m.psi")
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        said = []
        client.execute_interactive(
            f"import psishap; model = psishap.load({str(tmp_path / 'm.psi')!r})\n"
            "_ = model.explain([[0, 0, 'Ur']]); print(model._child.pid)",
            output_hook=lambda message: said.append(message["content"].get("text", "")),
            timeout=60,
        )
        psi = int("".join(said))
        assert alive(psi)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=not asked)
    began = time.monotonic()
    assert ends(psi, 5)
    print(f"psi ended {time.monotonic() - began:.2f} s after the kernel")


def test_no_orphan_of_a_python_that_ends(tmp_path, model):
    process, psi = python(tmp_path, model, "os.environ.clear()")
    assert process.wait() == 0
    assert ends(psi, 5)


def test_what_a_killed_python_left_is_swept(tmp_path, model):
    then = "from psishap import _directory; kept = _directory.Directory(); print(kept.path, flush=True); time.sleep(60)"
    process, psi = python(tmp_path, model, then)
    directory = process.stdout.readline().strip()
    process.kill()
    process.wait()
    assert ends(psi) and os.path.exists(directory)
    os.utime(os.path.join(directory, "lock"), (0, 0))
    mine = _directory.Directory()
    assert not os.path.exists(directory)
    os.utime(mine.path / "lock", (0, 0))
    _directory.Directory().remove()
    assert mine.path.exists()  # its owner lives
    mine.remove()


def test_rows_are_numbered_through(model, monkeypatch):
    monkeypatch.setattr(_rows, "_ROWS", 7)
    batches = model._table(table_of(100)).to_batches()
    got = pa.concat_tables(model.explain_batches(batches))
    assert got.column("row").to_pylist() == list(range(100))
    monkeypatch.setattr(_rows, "_ROWS", 8192)
    assert got.combine_chunks().equals(pa.concat_tables(model.explain_batches(batches)).combine_chunks())


def test_the_row_of_an_error_counts_from_the_first_row(model, monkeypatch):
    monkeypatch.setattr(_rows, "_ROWS", 7)
    monkeypatch.setattr(_child.Child, "ask", lambda *_: (_ for _ in ()).throw(psishap.PsiError("bad", row=3)))
    with pytest.raises(psishap.PsiError, match="row 3"):
        model.predict(table_of(5))
    parts = list(model._input(table_of(20)).parts())[1:]
    with pytest.raises(psishap.PsiError, match="row 10"):
        list(model._child._answers(parts, {}))


def test_batches_stream(model):
    """Rows are read as they are answered: what is ahead is bounded."""
    read = []

    def batches():
        for i in range(40):
            read.append(i)
            yield pa.RecordBatch.from_pandas(table_of(10, seed=i), preserve_index=False)

    answers = model.explain_batches(batches())
    first = next(answers)
    assert len(read) < 10
    rest = list(answers)
    assert [t.num_rows for t in [first, *rest]] == [10] * 40
    assert rest[-1].column("row").to_pylist() == list(range(390, 400))


def test_no_rows(model):
    with pytest.raises(psishap.PsiError, match="no rows"):
        model.predict(table_of(3).head(0))


def test_ctrl_c_ends_a_long_call(tmp_path, model):
    long = "rows = table_of(400_000); print('go', flush=True); [model.explain(rows) for _ in range(100)]"
    process, psi = python(tmp_path, model, long)
    assert process.stdout.readline() == "go\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) != 0
    assert ends(psi, 5)


@pytest.mark.parametrize("rows", [20_000, pytest.param(1_000_000, marks=slow)])
def test_tables_of_many_requests(model, rows):
    """A table of any size is cut into requests."""
    table = table_of(rows)
    got = model.predict(table)
    assert got.shape == (rows,)
    assert np.array_equal(got[-50:], model.predict(table[-50:]))
