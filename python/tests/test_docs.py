"""The reference is that of the docstrings, the gallery has its pictures, and a model file says enough to predict by hand."""

import pathlib
import re
import subprocess
import sys

import pandas
import pytest

from psishap import _psi

ROOT = pathlib.Path(__file__).parents[2]


def test_api_is_written_anew(tmp_path):
    """docs/python-api.md is what the docstrings say."""
    subprocess.run([sys.executable, str(ROOT / "python" / "build_api.py"), str(tmp_path / "api.md")], check=True)
    assert (tmp_path / "api.md").read_text() == (ROOT / "docs" / "python-api.md").read_text(), (
        "run python build_api.py ../docs/python-api.md"
    )


def test_gallery_has_its_pictures():
    """Each picture of the page exists and is small, and none is left over. shap's plot and psishap's stand side by side."""
    page = ROOT / "docs" / "python-gallery.md"
    names = re.findall(r"!\[[^]]+\]\(gallery/python/([^)]+)\)", page.read_text())
    kept = {path.name: path for path in (page.parent / "gallery" / "python").iterdir()}
    assert sorted(names) == sorted(kept)
    assert sorted(name for name in names if name.endswith("-shap.png")) == sorted(
        name.replace("-psishap.", "-shap.") for name in names if name.endswith("-psishap.png")
    )
    for path in kept.values():
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size <= 60_000


@pytest.mark.parametrize(
    ("pairs", "sample", "said"), [(0, "million", "prediction"), (3, "million", "prediction"), (0, "synth1-binary", "score")]
)
def test_prediction_by_hand(pairs, sample, said, tmp_path, monkeypatch):
    """What docs/model-file.md tells of a model is enough to predict without psi."""
    monkeypatch.chdir(tmp_path)
    settings = ["steps=60", "refit_steps=10", "spread_steps=20", "channels=48", f"pairs={pairs}", "pair_rank=2"]
    dropped = ["--drop", "x10"] if sample == "million" else []
    for command in (
        ["sample", sample, "--rows", "400", "-o", "rows.csv"],
        ["train", "rows.csv", "--target", "y", *dropped, *(f"--set={s}" for s in settings), "-o", "model.psi"],
    ):
        subprocess.run([_psi.program(), *command], check=True, capture_output=True)
    known = {}
    for snippet in re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "model-file.md").read_text(), re.S | re.M):
        exec(compile(snippet, "model-file.md", "exec"), known)
    rows = pandas.read_csv("rows.csv").head(20)
    rows.iloc[::3, 1] = float("nan")
    cells = [{c: None if v != v else v for c, v in row.items() if c not in ("x10", "y")} for row in rows.to_dict("records")]
    rows.to_csv("rows.csv", index=False)
    subprocess.run([_psi.program(), "predict", "model.psi", "rows.csv", "-o", "said.csv"], check=True, capture_output=True)
    scores = pandas.read_csv("said.csv")[said]
    assert [known["predict"](row) for row in cells] == pytest.approx(list(scores), rel=1e-5, abs=1e-5)
