"""What the tests share: where the server is, rows to ask about, and what psi explain says of them.

.ci/serve starts two servers and sets PSI_SCENE, a directory with psi, its models and tables, and serving.json and
local.json, which is what psi serve --json printed. The second server listens to a socket in the file system.
"""

import csv
import functools
import json
import math
import os
import pathlib
import subprocess
from dataclasses import dataclass

import numpy as np

here = pathlib.Path(os.environ["PSI_SCENE"])
serving = json.loads((here / "serving.json").read_text())
serving_local = json.loads((here / "local.json").read_text())
http, grpc = serving["http"], serving["grpc"]
url = "http://" + http

OUTPUTS = [
    "prediction", "prediction_std", "probability", "base",
    "attribution_mean", "attribution_std", "attribution_model_std", "attribution_lower", "attribution_upper", "p_positive",
]
TABLES = {"adult": "adult.csv", "relationship": "adult.csv", "synth3": "synth3.csv"}
MODELS = list(TABLES)


def psi(*arguments: object) -> str:
    done = subprocess.run([here / "psi", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Rows:
    """Rows of a model's columns. A cell is a number, a text, or None if it is missing."""

    columns: list[str]
    kinds: list[str]
    cells: list[list]

    def __len__(self) -> int:
        return len(self.cells)

    def column(self, name: str) -> list:
        place = self.columns.index(name)
        return [row[place] for row in self.cells]

    def objects(self) -> list[dict]:
        return [dict(zip(self.columns, row)) for row in self.cells]

    def tensors(self) -> list[tuple[str, str, np.ndarray]]:
        """Name, datatype and cells of each column; NaN and the empty text are missing."""
        all_ = []
        for name, kind in zip(self.columns, self.kinds):
            if kind == "category":
                all_.append((name, "BYTES", np.array(["" if c is None else c for c in self.column(name)], np.object_)))
            else:
                all_.append((name, "FP64", np.array([math.nan if c is None else c for c in self.column(name)], np.float64)))
        return all_

    def save(self, path: pathlib.Path) -> pathlib.Path:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(["" if c is None else c for c in row] for row in self.cells)
        return path


@functools.cache
def rows(model: str, count: int = 24, gaps: bool = True) -> Rows:
    """The first rows of the model's table. With gaps some cells are missing, in every column, and one label is new."""
    inputs = [(c["name"], c["kind"]) for c in json.loads(psi("inspect", here / "models" / f"{model}.psi", "--json"))["columns"]]
    with (here / TABLES[model]).open(newline="") as file:
        table = [row for row, _ in zip(csv.DictReader(file), range(count))]
    cells = []
    for i, row in enumerate(table):
        cells.append([])
        for j, (name, kind) in enumerate(inputs):
            text = row[name]
            if text == "" or gaps and (i + 3 * j) % 7 == 0:
                cells[i].append(None)
            else:
                cells[i].append(text if kind == "category" else float(text))
    categories = [j for j, (_, kind) in enumerate(inputs) if kind == "category"]
    if gaps and categories:
        cells[1][categories[-1]] = "never seen, même pas à l'école"
    return Rows([name for name, _ in inputs], [kind for _, kind in inputs], cells)


@dataclass(frozen=True)
class Reference:
    """What psi explain says, as the tensors of the Open Inference Protocol, and the document it is from."""

    document: dict
    tensors: dict[str, np.ndarray]

    @property
    def names(self) -> list[str]:
        return list(self.tensors)


references: dict[str, Reference] = {}  # by what was asked


def reference(model: str, asked: Rows, *flags: object) -> Reference:
    key = json.dumps([model, asked.cells, flags])
    if key not in references:
        path = asked.save(here / f"asked-{os.getpid()}.csv")
        references[key] = of_document(json.loads(psi("explain", here / "models" / f"{model}.psi", path, "--json", *flags)))
    return references[key]


def of_document(document: dict) -> Reference:
    def number(value: float | None) -> float:
        return math.nan if value is None else value

    def by_output(field: str) -> np.ndarray:
        return np.array([[number(o[field]) for o in r["outputs"]] for r in document["rows"]])

    def by_player(field: str) -> np.ndarray:
        return np.array([[[number(a[field]) for a in o["attributions"]] for o in r["outputs"]] for r in document["rows"]])

    tensors = {name: by_output(name) for name in OUTPUTS[:4]}
    for name in OUTPUTS[4:]:
        tensors[name] = by_player(name.removeprefix("attribution_"))
    if document["rows"][0]["outputs"][0]["probability"] is None:
        del tensors["probability"]
    return Reference(document, tensors)


def same(got: np.ndarray, want: np.ndarray, what: str) -> None:
    """Numbers agree to 1e-5 of their size; below 1e-6 FP32 and a sum's last digits decide."""
    assert got is not None, f"{what} is not there"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, want {want.shape}"
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True, err_msg=what)


def predictions(model: str, asked: Rows) -> dict[str, list[str]]:
    """What psi predict says, by column."""
    path = asked.save(here / f"asked-{os.getpid()}.csv")
    lines = list(csv.DictReader(psi("predict", here / "models" / f"{model}.psi", path).splitlines()))
    return {name: [line[name] for line in lines] for name in lines[0]}
