"""The notebooks run from their first cell to their last, with shorter trainings than people have."""

import json
import pathlib

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted(pathlib.Path(__file__).parents[1].glob("notebooks/*.ipynb"))

# What runs before the first cell of a copy: trainings of a few steps.
SHORT = """
from psishap import _estimators

_flags = _estimators._Psi._flags
_few = ("steps=40", "refit_steps=5", "spread_steps=10", "channels=16")
_estimators._Psi._flags = lambda self, table: _flags(self, table) + [f"--set={s}" for s in _few]
"""


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, tmp_path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    book.cells.insert(0, nbformat.v4.new_code_cell(SHORT))
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", []) if output.output_type != "stream"]
    assert sum("image/svg+xml" in output.get("data", {}) or "image/png" in output.get("data", {}) for output in shown) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_kept_without_results(path):
    """Results are of whoever runs it; kept here, each run would be a change."""
    for cell in json.loads(path.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
