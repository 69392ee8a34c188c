"""Holds `psi export onnx` to `psi explain`: exports a model, runs the graph in ONNX Runtime, and compares every number.

    pip install onnx onnxruntime pandas
    python scripts/check_onnx.py MODEL DATA.csv [--psi PROGRAM] [--rows N]

Rows are drawn from DATA. A tenth of their cells are taken away, a twentieth of the labels become ones that no
training has seen, and some numbers lie far off. Both programs get the same rows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import pandas as pd

ALLOWED = 1e-5


def spoiled(table, kinds, rng):
    """The rows with gaps, labels that nobody knows, and numbers far off."""
    n = len(table)
    for name, kind in kinds.items():
        cells = table[name].astype(object if kind == "category" else float)
        if kind == "category":
            cells[rng.random(n) < 0.05] = "never seen before"
        else:
            far = rng.random(n) < 0.02
            cells[far] = rng.choice([1e30, -1e30, 123456.789, -0.125], far.sum())
        cells[rng.random(n) < 0.1] = None if kind == "category" else np.nan
        table[name] = cells
    return table


def explained(psi, model, table, directory):
    """What psi says of the rows, as the graph's outputs are called and shaped."""
    rows, result = os.path.join(directory, "rows.csv"), os.path.join(directory, "rows.json")
    table.to_csv(rows, index=False)
    subprocess.run([psi, "explain", model, rows, "-o", result], check=True, stderr=subprocess.DEVNULL)
    with open(result) as f:
        told = json.load(f)["rows"]
    want = {}
    for name in ("prediction", "prediction_std", "base", "probability"):
        if told[0]["outputs"][0].get(name) is not None:
            want[name] = np.array([[o[name] for o in row["outputs"]] for row in told])
    for name in ("mean", "std"):
        want["attribution_" + name] = np.array([[[a[name] for a in o["attributions"]] for o in row["outputs"]] for row in told])
    return want


def seconds(work, times=5):
    """The least CPU seconds of some tries."""
    least = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("data")
    arguments.add_argument("--psi", default="psi")
    arguments.add_argument("--rows", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=1)
    a = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "model.onnx")
        subprocess.run([a.psi, "export", "onnx", a.model, "-o", path], check=True)
        graph = onnx.load(path)
        onnx.checker.check_model(graph, full_check=True)
        about = {p.key: p.value for p in graph.metadata_props}
        columns = json.loads(about["psi.columns"])
        kinds = {c["name"]: c["kind"] for c in columns}
        if "time" in kinds.values():
            sys.exit("this script makes no times: see TestExportONNX")
        texts = {name: str for name, kind in kinds.items() if kind == "category"}
        table = pd.read_csv(a.data, dtype=texts, keep_default_na=False, na_values=["", "NA", "?"])
        table = table.sample(min(a.rows, len(table)), random_state=a.seed)[list(kinds)].reset_index(drop=True)
        table = spoiled(table, kinds, np.random.default_rng(a.seed))
        want = explained(a.psi, a.model, table, directory)

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feed = {}
        for c in columns:
            cells = table[c["name"]]
            feed[c["input"]] = cells.fillna("").to_numpy(object) if c["kind"] == "category" else cells.to_numpy(float)
        names = [o.name for o in session.get_outputs()]
        got = dict(zip(names, session.run(None, feed)))

        print(f"seed {a.seed}, {len(table)} rows, {about['psi.task']}, {len(graph.graph.node)} operators, "
              f"{os.path.getsize(path)} bytes beside {os.path.getsize(a.model)} of the model")
        if set(got) != set(want):
            sys.exit(f"outputs {sorted(got)}, psi has {sorted(want)}")
        worst = 0.0
        none = session.run(None, {k: v[:0] for k, v in feed.items()})
        if any(len(x) for x in none):
            sys.exit("no rows give some")
        for name in names:
            if got[name].shape != want[name].shape:
                sys.exit(f"{name} is {got[name].shape}, psi's is {want[name].shape}")
            off, largest = np.abs(got[name] - want[name]).max(), np.abs(want[name]).max()
            worst = max(worst, off / max(1, largest))
            print(f"  {name:17} {str(got[name].shape):15} largest {largest:10.4g}   off by {off:.1e}")
        for n in (1, 60, 1000):
            some = {k: np.resize(v, n) for k, v in feed.items()}
            repeat = max(1, 600 // n)
            spent = seconds(lambda: [session.run(None, some) for _ in range(repeat)])
            print(f"  {n:5} rows a call: {1e6 * spent / n / repeat:8.1f} CPU µs a row")
        if not worst <= ALLOWED:
            sys.exit(f"off by {worst:.1e}, more than {ALLOWED}")
        print(f"equal to {worst:.1e} of the largest number, or of 1")


if __name__ == "__main__":
    main()
