"""The reference is that of the docstrings. The snippets of the guides run, on less data and with shorter trainings than people have."""

import pathlib
import re
import subprocess
import sys

import matplotlib.pyplot
import pytest

from psishap import _estimators, _psi

matplotlib.use("Agg")

ROOT = pathlib.Path(__file__).parents[2]
SHORT = ["--set=steps=60", "--set=refit_steps=10", "--set=spread_steps=20", "--set=channels=16"]


def test_api_is_written_anew(tmp_path):
    """docs/python-api.md is what the docstrings say."""
    subprocess.run([sys.executable, str(ROOT / "python" / "build_api.py"), str(tmp_path / "api.md")], check=True)
    assert (tmp_path / "api.md").read_text() == (ROOT / "docs" / "python-api.md").read_text(), (
        "run python build_api.py ../docs/python-api.md"
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("page", "table", "least"), [("python/README.md", "bike", 1), ("docs/from-shap.md", "adult", 4), ("docs/from-ebm.md", "adult", 4)]
)
def test_snippets(page, table, least, tmp_path, monkeypatch):
    if page == "docs/from-ebm.md":
        pytest.importorskip("interpret")
    monkeypatch.chdir(tmp_path)
    subprocess.run([_psi.program(), "sample", table, "--rows", "1500", "-o", f"{table}.csv"], check=True, capture_output=True)
    flags = _estimators._Psi._flags
    monkeypatch.setattr(_estimators._Psi, "_flags", lambda self, table: flags(self, table) + SHORT)
    snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    assert len(snippets) >= least
    known = {}
    for snippet in snippets:
        snippet = snippet.replace("n_estimators=500", "n_estimators=20")
        snippet = snippet.replace("BoostingClassifier(random_state=0)", "BoostingClassifier(random_state=0, outer_bags=2, max_rounds=50)")
        exec(compile(snippet, page, "exec"), known)
        matplotlib.pyplot.close("all")
