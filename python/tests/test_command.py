"""The command psi that the wheel installs, and the tables that come with it."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

import psishap
from psishap import _command, _psi

PSI = str(pathlib.Path(sys.executable).with_name("psi"))


def run(*arguments, **options):
    return subprocess.run([PSI, *arguments], capture_output=True, text=True, **options)


def test_it_is_the_program():
    assert run("--version").stdout == subprocess.run([_psi.program(), "--version"], capture_output=True, text=True).stdout
    assert run("explain", "nothing.psi", "nothing.csv").returncode == 1
    assert run("no-such-command").returncode == 2


def test_its_backends_need_nothing():
    found = run("doctor", env={"PATH": os.environ["PATH"]})
    for backend in ("native", "go"):
        assert re.search(rf"^ *{backend} +works", found.stdout, re.M), found.stdout + found.stderr


def test_signals_are_its_own(fitted, tmp_path):
    """It is no parent that waits: who ends the command ends psi."""
    fitted.save(tmp_path / "m.psi")
    process = subprocess.Popen(
        [PSI, "serve", str(tmp_path / "m.psi"), "--http", f"unix:{tmp_path}/s", "--grpc", "", "--metrics", "", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process.stdout.readline()
    assert pathlib.Path(f"/proc/{process.pid}/exe").resolve() == pathlib.Path(_psi.program()).resolve()
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0 and time.monotonic() - begun < 20
    process.stdout.close()


@pytest.mark.parametrize("code", [0, 3])
def test_windows_waits_for_it(code, monkeypatch):
    """There is no exec there. Ctrl-C is the program's own."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(_psi, "program", lambda: sys.executable)
    monkeypatch.setattr(sys, "argv", ["psi", "-c", f"import sys; sys.exit({code})"])
    handler = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            _command.main()
        assert ended.value.code == code
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, handler)


def test_sample_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="install pandas"):
        psishap.sample("synth1")


def test_sample(tmp_path):
    path = tmp_path / "bike.csv"
    run("sample", "bike", "--rows", "40", "--seed", "3", "-o", str(path), check=True)
    pd.testing.assert_frame_equal(psishap.sample("bike", rows=40, seed=3), pd.read_csv(path))
    assert len(psishap.sample("synth1")) == 8000
    with pytest.raises(psishap.PsiError, match="synth1"):
        psishap.sample("no such table")


def test_a_command_that_does_not_end(monkeypatch, tmp_path):
    (tmp_path / "psi").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "psi").chmod(0o700)
    monkeypatch.setattr(_psi, "program", lambda: str(tmp_path / "psi"))
    monkeypatch.setattr(_psi, "_TIMEOUT", 0.2)
    with pytest.raises(_psi.PsiError, match="psi sample did not end within 0 s"):
        _psi.run("sample", "bike")
