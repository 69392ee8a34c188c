#!/usr/bin/env python3
"""Explained rows per CPU second, side by side on one core: LightGBM's pred_contrib and psi explain.

usage: explain_speed.py PSI MODEL TRAIN.csv ROWS.csv [rounds]

LightGBM (500 trees of 31 leaves, one thread) is trained on TRAIN.csv, whose last column is the target (a number, or one
of two labels); MODEL is a psi model of the same table. Each round times LightGBM on the first 2,000 rows of ROWS.csv, then the whole command
`psi explain MODEL ROWS.csv --doubt none -o …parquet` pinned to one core: reading CSV, explaining with standard deviations, writing
Parquet. Needs pandas, lightgbm and taskset.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import lightgbm
import pandas

psi, model, train, rows = sys.argv[1:5]
rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 3
table = pandas.read_csv(train)
target = table.columns[-1]
X, y = table.drop(columns=target), table[target]
labels = not pandas.api.types.is_numeric_dtype(y)
if labels:
    y = y == y.max()
text = [c for c in X if not pandas.api.types.is_numeric_dtype(X[c])]
levels = {c: pandas.CategoricalDtype(sorted(X[c].dropna().unique())) for c in text}
X = X.astype(levels)
gbm = lightgbm.train(
    {"objective": "binary" if labels else "l2", "num_leaves": 31, "learning_rate": 0.05, "num_threads": 1, "verbose": -1},
    lightgbm.Dataset(X, y),
    num_boost_round=500,
)
sample = pandas.read_csv(rows, nrows=2000)[list(X.columns)].astype(levels)
count = sum(1 for _ in open(rows)) - 1
out = os.path.join(tempfile.mkdtemp(), "out.parquet")

for i in range(rounds):
    cpu, wall = time.process_time(), time.perf_counter()
    gbm.predict(sample, pred_contrib=True, num_threads=1)
    gbm_rate = len(sample) / (time.process_time() - cpu)
    gbm_wall = len(sample) / (time.perf_counter() - wall)
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(["taskset", "-c", "0", psi, "explain", model, rows, "--doubt", "none", "-o", out], check=True, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        json.dumps(
            {
                "round": i,
                "lightgbm_rows_per_cpu_second": round(gbm_rate),
                "lightgbm_rows_per_second": round(gbm_wall),
                "psi_rows_per_cpu_second": round(count / used),
                "psi_cpu_us_per_row": round(used / count * 1e6, 2),
                "psi_rows_per_second_one_core": round(count / wall),
                "ratio_cpu": round(count / used / gbm_rate, 1),
                "ratio_wall": round(count / wall / gbm_wall, 1),
                "psi_peak_mib": after.ru_maxrss >> 10,
            }
        )
    )
