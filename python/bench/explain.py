"""What an explanation costs from Python, beside the program, LightGBM's pred_contrib and shap's TreeExplainer.

    python bench/explain.py MODEL TABLE.csv [--rows 100000] [--many 1000000]

TABLE is the model's own, with its target; its rows are repeated. Times are of the process that asks (Python) and of the one that
answers (psi), in seconds of the clock and of the processor.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import pyarrow as pa

import psishap
from psishap import _psi

TICKS = os.sysconf("SC_CLK_TCK")


def processor(pid: int) -> float:
    """Seconds that a process that runs has had of the processor."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def taken(do, pid=None):
    """Seconds of the clock and of the processor, the latter of Python and of psi."""
    clock, mine, its = time.perf_counter(), time.process_time(), processor(pid) if pid else 0
    do()
    return time.perf_counter() - clock, time.process_time() - mine, processor(pid) - its if pid else 0


def program(*arguments: str) -> tuple[float, float]:
    """Seconds of the clock and of the processor that a command takes."""
    clock, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([_psi.program(), *arguments], check=True, env=_psi.environment(), stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def boosted(table: pd.DataFrame, model: psishap.Model):
    """LightGBM of 500 trees on the same table: what people have."""
    import lightgbm

    x = table[model.columns].apply(lambda c: c if c.dtype.kind in "iufb" else c.astype("category"))
    kind, y = lightgbm.LGBMClassifier if model.classes else lightgbm.LGBMRegressor, table[model.manifest["target"]]
    return kind(n_estimators=500, num_leaves=31, learning_rate=0.05, verbose=-1).fit(x, y), x


def latency(ask) -> str:
    for _ in range(50):
        ask()
    times = []
    for _ in range(1000):
        begun = time.perf_counter()
        ask()
        times.append(time.perf_counter() - begun)
    return "p50 {:.2f} ms, p99 {:.2f} ms".format(*1e3 * np.percentile(times, [50, 99]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("table")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=20_000, help="rows for LightGBM, which would take an hour for a million")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)

    model = psishap.load(asked.model)
    once = pd.read_csv(asked.table)

    def repeat(rows):
        return pd.concat([once] * (rows // len(once) + 1), ignore_index=True).head(rows)

    trees, x = boosted(once, model)

    import shap

    one, explainer, cells = once[model.columns].head(1), shap.TreeExplainer(trees), x.head(1)
    print("one row, psishap explain(frame):   ", latency(lambda: model.explain(one)))
    print("one row, psishap predict(frame):   ", latency(lambda: model.predict(one)))
    if model._numeric:
        array = one.to_numpy(float)
        print("one row, psishap explain(array):   ", latency(lambda: model.explain(array)))
        print("one row, psishap predict(array):   ", latency(lambda: model.predict(array)))
    print("one row, LightGBM predict:         ", latency(lambda: trees.predict(cells)))
    print("one row, LightGBM pred_contrib:    ", latency(lambda: trees.predict(cells, pred_contrib=True)))
    print("one row, shap TreeExplainer:       ", latency(lambda: explainer.shap_values(cells)))

    table = repeat(asked.rows)
    ratios = []
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "in.arrow")
        rows = pa.Table.from_pandas(table[model.columns], preserve_index=False)
        with pa.ipc.new_file(source, rows.schema) as writer:
            writer.write_table(rows)
        for _ in range(asked.rounds):  # in turn, so that all meet the same machine
            clock, mine, its = taken(lambda: model.explain(table), model._child.pid)
            there, cpu = program("explain", asked.model, source, "-o", os.path.join(directory, "out.arrow"))
            ratios.append((mine + its) / cpu)
            print(
                f"{asked.rows} rows: psishap {clock:.2f} s, processor {mine:.2f} s of Python and {its:.2f} s of psi; "
                f"psi explain in.arrow -o out.arrow {there:.2f} s, processor {cpu:.2f} s; ratio of the processor's {ratios[-1]:.2f}"
            )
    print(f"ratio, median of {asked.rounds}: {np.median(ratios):.2f}")

    many = repeat(asked.many)
    clock, mine, its = taken(lambda: model.predict(many), model._child.pid)
    print(f"{asked.many} rows from pandas, psishap predict: {clock:.1f} s; processor {mine:.1f} s of Python and {its:.1f} s of psi")
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "in.arrow")
        rows = pa.Table.from_pandas(many[model.columns], preserve_index=False)
        with pa.ipc.new_file(source, rows.schema) as writer:
            writer.write_table(rows)
        there, cpu = program("explain", asked.model, source, "-o", os.path.join(directory, "out.arrow"))
        print(f"{asked.many} rows, psi explain in.arrow -o out.arrow: {there:.1f} s, processor {cpu:.1f} s")
    clock, mine, its = taken(lambda: model.explain(many), model._child.pid)
    print(
        f"{asked.many} rows from pandas, psishap explain: {clock:.1f} s, {asked.many / clock:,.0f} rows a second; "
        f"processor {mine:.1f} s of Python and {its:.1f} s of psi"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory of Python until then: {peak:.0f} MB")
    rows = pd.concat([x] * (asked.trees // len(x) + 1), ignore_index=True).head(asked.trees)
    clock, mine, _ = taken(lambda: trees.predict(rows, pred_contrib=True))
    few = rows.head(asked.trees // 10)
    shapped, its, _ = taken(lambda: explainer.shap_values(few))
    print(f"{len(few)} rows, shap TreeExplainer: {shapped:.1f} s, {len(few) / shapped:,.0f} rows a second; processor {its:.1f} s")
    print(f"{asked.trees} rows, LightGBM pred_contrib: {clock:.1f} s, {asked.trees / clock:,.0f} rows a second; processor {mine:.1f} s")


if __name__ == "__main__":
    main()
