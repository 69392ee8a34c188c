"""psi export onnx, held to psi explain by the ONNX Runtime of Python."""

import pathlib
import subprocess
import sys

from psishap import _psi

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check_onnx.py"


def test_onnx_runtime_gives_the_same_numbers(tmp_path):
    rows, model = str(tmp_path / "adult.csv"), str(tmp_path / "m.psi")
    _psi.run("sample", "adult", "--rows", "600", "-o", rows)
    few = [word for name in ("steps", "refit_steps", "spread_steps") for word in ("--set", f"{name}=20")]
    _psi.run("train", rows, "--target", "income", "--positive", ">50K", *few, "-o", model)
    check = subprocess.run([sys.executable, SCRIPT, model, rows, "--psi", _psi.program(), "--rows", "200"], capture_output=True, text=True)
    assert check.returncode == 0, check.stdout + check.stderr
