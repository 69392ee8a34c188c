"""Shapley values of trees that other libraries trained: psi beside these libraries, shap and shapiq, on one core."""

import os
import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import jobs
import sets
import table
import treefiles
from cost import timed

Floats = NDArray[np.float64]

SETS = ["adult", "california"]
ENSEMBLES = {"LightGBM": "500 trees of 31 leaves", "XGBoost": "1,000 trees of depth 8"}
ROUNDS = 3
CONTRIBUTIONS, PAIRS, INTERVENTIONAL = "contributions", "pairs", "interventional"
BARS = {CONTRIBUTIONS: 5, PAIRS: 10}  # times the rows per CPU second of the fastest library
APART = 1e-4  # relative RMS of interventional values
ONCE = {"shapiq"}  # takes seconds a row
BACKGROUND = 100  # reference rows
# Rows of a round: so many that each takes seconds. psi's time includes reading the model and the table.
ROWS = {
    (CONTRIBUTIONS, "LightGBM"): {"library": 1000, "shap": 500, "shapiq": 2, "psi": 20_000},
    (CONTRIBUTIONS, "XGBoost"): {"library": 100, "shap": 50, "shapiq": 1, "psi": 5000},
    (PAIRS, "LightGBM"): {"shap": 50, "shapiq": 1, "psi": 2000},
    (PAIRS, "XGBoost"): {"library": 5, "shap": 4, "shapiq": 1, "psi": 500},
    (INTERVENTIONAL, "LightGBM"): {"shap": 50, "psi": 2000},
    (INTERVENTIONAL, "XGBoost"): {"shap": 20, "psi": 500},
}

HERE = Path(__file__).parent
CSV = HERE / "trees.csv"
PAGE = HERE / "TREES.md"
HEAD = f"""# Shapley values of imported trees

Written by `bench/run --trees`. Models of fold 0, learning rate .05: LightGBM with {ENSEMBLES["LightGBM"]}, XGBoost with {ENSEMBLES["XGBoost"]}.
Labels of adult are numbers here, because shap and shapiq do not read splits by labels. One core; the tools took turns, {ROUNDS} rounds,
and shapiq took part in the first alone; medians.

psi's time is that of the whole command `psi explain`: reading the model and a CSV, and writing Parquet. The others' is
that of the call on a table in memory, without preparing the explainer. *library* is `pred_contrib` of LightGBM, or `pred_contribs` and
`pred_interactions` of XGBoost. shap hands path-dependent values of both libraries to them; its row is its own C code. *apart* is the root mean square
of the difference from psi's values, over that of psi's, on the rows that the tool explained. shapiq 1.4.1 is apart on XGBoost because it sends
numbers that equal a threshold to the left, and XGBoost sends them to the right.
"""


def run(names: list[str], program: str) -> int:
    core = jobs.cores()[0]
    os.sched_setaffinity(0, {core})
    lines = []
    for name in names:
        for library in ENSEMBLES:
            lines += measure(name, library, program)
    found = pd.DataFrame(lines)
    if CSV.exists():
        before = pd.read_csv(CSV)
        found = pd.concat([before[~before["set"].isin(names)], found])
    found.to_csv(CSV, index=False)
    PAGE.write_text(page(found))
    return int(not within_bars(found))


@dataclass
class Case:
    """An ensemble, rows and reference rows, and the files that psi reads of them."""

    fold: sets.Fold
    library: str
    program: str
    directory: Path
    booster: Any  # of the library's own interface
    estimator: Any  # as shapiq takes it
    rows: pd.DataFrame
    background: pd.DataFrame

    @property
    def model(self) -> Path:
        return self.directory / "model.psi"

    def explain(self, rows: pd.DataFrame, *flags: str | Path, out: str) -> Path:
        """Runs psi explain on rows that are in a file already."""
        path = self.directory / out
        treefiles.run(self.program, "explain", self.model, self.file(len(rows)), "-o", path, *flags)
        return path

    def file(self, rows: int) -> Path:
        path = self.directory / f"{rows}.csv"
        if not path.exists():
            self.rows[:rows].to_csv(path, index=False)
        return path


def measure(name: str, library: str, program: str) -> list[dict[str, Any]]:
    fold = sets.load(name, 0)
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        case = fitted(fold, library, program, Path(directory))
        revision, processor = treefiles.revision(program, case.model), treefiles.processor()
        psi_flags = {
            CONTRIBUTIONS: [],
            PAIRS: ["--interactions"],
            INTERVENTIONAL: ["--game", "interventional", "--reference", case.directory / "background.csv"],
        }
        for what, flags in psi_flags.items():
            counts = ROWS[what, library]
            tools = explainers(case, what) | {"psi": lambda rows, flags=flags: case.explain(rows, *flags, out="out.parquet")}
            tools = {tool: tools[tool] for tool in counts}
            exact = {
                tool: treefiles.explained(case.explain(case.rows[:n], *flags, out="out.csv"), list(case.rows), what == PAIRS)
                for tool, n in counts.items()
                if tool != "psi"
            }
            for turn in range(ROUNDS):
                for tool, explain in tools.items():
                    if turn > 0 and tool in ONCE:
                        continue
                    rows = case.rows[: counts[tool]]
                    case.file(len(rows))
                    who = resource.RUSAGE_CHILDREN if tool == "psi" else resource.RUSAGE_SELF
                    values, cost = timed(who, lambda explain=explain, rows=rows: explain(rows))
                    apart = None if tool == "psi" else treefiles.apart(values, exact[tool])
                    line = {
                        "set": name, "library": library, "what": what, "tool": tool, "round": turn, "rows": len(rows), "apart": apart,
                        "cpu_seconds": cost["cpu_seconds"], "wall_seconds": cost["wall_seconds"], "version": versions(library, tool, revision), "cpu": processor,
                    }  # fmt: skip
                    lines.append(line)
                    print({k: line[k] for k in ["set", "library", "what", "tool", "rows", "cpu_seconds", "wall_seconds", "apart"]}, flush=True)
    return lines


def versions(library: str, tool: str, revision: str) -> str:
    if tool == "psi":
        return f"psi {revision}"
    package = library.lower() if tool == "library" else tool
    return f"{package} {version(package)}"


def fitted(fold: sets.Fold, library: str, program: str, directory: Path) -> Case:
    X, y = treefiles.numbers(fold, fold.train), fold.target(fold.train)
    binary = fold.task == "binary"
    if library == "LightGBM":
        import lightgbm

        options = {"objective": "binary" if binary else "l2", "num_leaves": 31, "learning_rate": 0.05, "num_threads": 1, "verbose": -1}
        booster = estimator = lightgbm.train(options, lightgbm.Dataset(X, y), num_boost_round=500)
        file = directory / "model.txt"
    else:
        import xgboost

        kind = xgboost.XGBClassifier if binary else xgboost.XGBRegressor
        estimator = kind(n_estimators=1000, max_depth=8, learning_rate=0.05, n_jobs=1, tree_method="hist").fit(X, y)
        booster = estimator.get_booster()
        file = directory / "model.json"
    booster.save_model(file)
    treefiles.run(program, "import", file, "--target", "target", "-o", directory / "model.psi")
    most = max(n for (_, of), counts in ROWS.items() if of == library for n in counts.values())
    asked = treefiles.numbers(fold, pd.concat([fold.test, fold.train]))[:most].reset_index(drop=True)
    asked = pd.concat([asked] * -(-most // len(asked)))[:most].reset_index(drop=True)
    background = X.sample(BACKGROUND, random_state=1)
    background.to_csv(directory / "background.csv", index=False)
    return Case(fold, library, program, directory, booster, estimator, asked, background)


def explainers(case: Case, what: str) -> dict[str, Callable[[pd.DataFrame], Floats]]:
    """What each library gives of rows: [rows, columns], or [rows, columns, columns] of pairs."""
    import shap
    import shapiq

    booster = case.booster
    if what == INTERVENTIONAL:
        explainer = shap.TreeExplainer(booster, case.background, feature_perturbation="interventional")
        return {"shap": lambda rows: treefiles.last(explainer.shap_values(rows, check_additivity=False))}
    own = shap.TreeExplainer(booster)
    own.model.model_type = "internal"  # else it asks the library
    order = 1 if what == CONTRIBUTIONS else 2
    index = "SV" if what == CONTRIBUTIONS else "SII"
    with pd.option_context("future.infer_string", False):  # shapiq 1.4.1 puts numbers into columns of text; not reported yet
        theirs = shapiq.TreeExplainer(model=case.estimator, max_order=order, index=index)

    def by_shapiq(rows: pd.DataFrame) -> Floats:
        return np.stack([np.asarray(theirs.explain(x).get_n_order_values(order)) for x in rows.to_numpy()])

    if what == PAIRS:
        return {
            "library": lambda rows: treefiles.indices(treefiles.by_xgboost(booster, rows, pred_interactions=True)[:, :-1, :-1]),
            "shap": lambda rows: treefiles.indices(treefiles.last(own.shap_interaction_values(rows))),
            "shapiq": by_shapiq,
        }
    if case.library == "LightGBM":
        library = lambda rows: booster.predict(rows, pred_contrib=True, num_threads=1)[:, :-1]  # noqa: E731
    else:
        library = lambda rows: treefiles.by_xgboost(booster, rows, pred_contribs=True)[:, :-1]  # noqa: E731
    return {"library": library, "shap": lambda rows: treefiles.last(own.shap_values(rows, check_additivity=False)), "shapiq": by_shapiq}


def rates(found: pd.DataFrame) -> pd.DataFrame:
    """The median rates of each tool, and how often psi's is in the fastest library's."""
    found = found.assign(cpu=found["rows"] / found["cpu_seconds"], wall=found["rows"] / found["wall_seconds"])
    keys = ["set", "library", "what", "tool"]
    lines = found.groupby(keys, sort=False).agg(rows=("rows", "last"), cpu=("cpu", "median"), wall=("wall", "median"), apart=("apart", "max")).reset_index()
    for _, group in lines.groupby(keys[:3]):
        ours = group[group["tool"] == "psi"].iloc[0]
        others = group[group["tool"] != "psi"]
        lines.loc[ours.name, "ratio_cpu"] = ours["cpu"] / others["cpu"].max()
        lines.loc[ours.name, "ratio_wall"] = ours["wall"] / others["wall"].max()
    return lines


def within_bars(found: pd.DataFrame) -> bool:
    ours = rates(found).query("tool == 'psi'")
    fast = [x["ratio_cpu"] >= BARS.get(x["what"], 0) for _, x in ours.iterrows()]
    return all(fast) and not (found.query("what == @INTERVENTIONAL")["apart"] > APART).any()


def page(found: pd.DataFrame) -> str:
    out = [HEAD]
    out.append("; ".join([*dict.fromkeys(found["version"]), *dict.fromkeys(found["cpu"])]) + ".")
    bars = {CONTRIBUTIONS: f"Contributions, path-dependent. Bar: {BARS[CONTRIBUTIONS]} ×; goal: 20 ×.",
            PAIRS: f"All pairs, path-dependent. Bar: {BARS[PAIRS]} ×. LightGBM gives no pairs.",
            INTERVENTIONAL: f"Contributions against {BACKGROUND} training rows, interventional. Bar: at most {APART:g} apart."}  # fmt: skip
    for what, title in bars.items():
        columns = ["set", "model", "tool", "rows", "rows per CPU second", "rows per second", "psi, times the fastest: CPU", "wall", "apart"]
        out += [f"\n## {title.split('.')[0]}\n", title.partition(". ")[2] + "\n", table.row(*columns), table.row(*["---"] * len(columns))]
        for _, x in rates(found[found["what"] == what]).iterrows():
            ratios = [f"{x[k]:.1f}" if x["tool"] == "psi" else "" for k in ("ratio_cpu", "ratio_wall")]
            apart = "" if x["tool"] == "psi" else f"{x['apart']:.0e}"
            out.append(table.row(x["set"], x["library"], x["tool"], f"{x['rows']:,}", number(x["cpu"]), number(x["wall"]), *ratios, apart))
    return "\n".join(out) + "\n"


def number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
