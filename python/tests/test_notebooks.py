"""The notebooks run as they are, and are kept with outputs that a code host shows."""

import functools
import pathlib
import re
import runpy

import nbformat
import pytest

DIRECTORY = pathlib.Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(DIRECTORY.glob("*.ipynb"))
MOST = 400_000  # bytes of a notebook: hosts show no large ones

_every = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


@functools.cache
def kept(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    return book


def outputs(book):
    return [output for cell in book.cells for output in cell.get("outputs", ())]


def kinds(book):
    """Return for each code cell what it shows: streams by name, other outputs by their formats."""
    return [[output.get("name") or sorted(output.data) for output in cell.outputs] for cell in book.cells if cell.cell_type == "code"]


def test_there_are_four():
    assert [path.stem for path in NOTEBOOKS] == ["missing-cells", "monitoring", "regression", "trees"]


@_every
def test_runs_as_kept(path):
    assert kinds(runpy.run_path(str(DIRECTORY / "run.py"))["executed"](path)) == kinds(kept(path))


@_every
def test_outputs_are_kept(path):
    """Each cell was run once, in order, and nothing but pictures, tables and printed text came of it."""
    book = kept(path)
    counts = [cell.execution_count for cell in book.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    shown = {format for output in outputs(book) for format in output.get("data", ())}
    assert shown <= {"image/png", "text/html", "text/plain"}
    assert {output.output_type for output in outputs(book)} <= {"display_data", "execute_result", "stream"}
    assert {output.name for output in outputs(book) if output.output_type == "stream"} <= {"stdout"}  # no warnings, no progress bars
    assert sum("image/png" in output.get("data", ()) for output in outputs(book)) >= 3


@_every
def test_a_host_shows_them(path):
    """Hosts remove frames and scripts, and show no large notebooks."""
    assert path.stat().st_size <= MOST
    for output in outputs(kept(path)):
        data = output.get("data", {})
        assert "text/plain" in data or output.output_type == "stream"
        assert not re.search(r"<(iframe|script)", data.get("text/html", ""))


@_every
def test_nothing_of_a_machine(path):
    text = nbformat.writes(kept(path))
    assert not re.findall(r'(?:[\s"\']|^)(?:/(?:tmp|home|root|usr|work|Users|var)/|[A-Z]:\\\\)[^\s"]*|site-packages|ipykernel', text)
    assert kept(path).metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
