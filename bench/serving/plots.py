"""Draws what a soak saw each second: plots.py SOAK.csv SOAK.svg"""

import sys

import matplotlib
import pandas as pd

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "psi", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
from matplotlib import pyplot  # noqa: E402

samples = pd.read_csv(sys.argv[1])
figure, axes = pyplot.subplots(4, 1, figsize=(8, 8), sharex=True, layout="constrained")
memory, routines, requests, times = axes
memory.plot(samples.second, samples.resident_bytes / 2**20, label="resident memory (grey: a new model)")
memory.plot(samples.second, samples.heap_bytes / 2**20, label="Go's heap in use")
for second in samples.second[samples.loads.diff() > 0]:
    memory.axvline(second, color="0.9", linewidth=0.6, zorder=0)
memory.set_ylabel("MiB")
routines.plot(samples.second, samples.goroutines, label="goroutines")
routines.plot(samples.second, samples.files, label="open files")
for key in ["ok", "refused", "cancelled", "other"]:
    requests.plot(samples.second, samples[key], label=key)
requests.set_yscale("symlog")
requests.set_ylabel("requests a second")
times.plot(samples.second, samples.p99_ms, label="p99 of answers")
times.set_yscale("log")
times.set_ylabel("ms")
times.set_xlabel("seconds")
for each in axes:
    each.legend(loc="upper right", frameon=False, ncols=4)
for each in [memory, routines]:
    each.set_ylim(bottom=0, top=1.25 * each.get_ylim()[1])
figure.savefig(sys.argv[2], metadata={"Date": None})
