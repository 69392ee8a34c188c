"""What one row costs by each way to compute it from Python: numpy in the process, onnxruntime, and a psi process behind a pipe.

    python bench/paths.py MODEL TABLE.csv

The columns of MODEL must be numbers. numpy only computes what every implementation needs at least: the gains of all columns, their
products at the nodes of the quadrature, and the same for the bags. It has no σ, no pairs, no encoding of cells, no calibration.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time
import zipfile

import numpy as np
import pandas as pd

import psishap


def measured(what: str, call, times: int = 400) -> None:
    for _ in range(times // 8):
        call()
    wall, processor = [], []
    for _ in range(times):
        begun, used = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - begun)
        processor.append(time.process_time() - used)
    p50, p99 = 1e6 * np.percentile(wall, [50, 99])
    print(f"{what:40} p50 {p50:6.0f} µs, p99 {p99:6.0f} µs, processor of Python {1e6 * np.median(processor):6.0f} µs")


def products(rows: int, columns: int, embedding: int, channels: int, nodes: int, bags: int):
    """The least that numpy has to do for rows of the product form with bags."""
    rng = np.random.default_rng(0)

    def network(z, k):
        layer, gains = rng.normal(size=(columns, z, z)), 0.01 * rng.normal(size=(columns, z, k))
        return rng.normal(size=(columns, rows, z)).astype("f4"), layer.astype("f4"), gains.astype("f4")

    t = np.linspace(0.05, 0.95, nodes).astype("f4")[:, None, None, None]
    member = network(embedding, channels)
    bag = [np.stack(w) for w in zip(*(network(min(16, embedding), min(32, channels)) for _ in range(bags)))]

    def shares(g):  # [columns, rows, channels]: the integral over t of the product of all other factors, times the gain
        a = 1 + t * g
        left, right = np.ones_like(a), np.ones_like(a)
        np.multiply.accumulate(a[:, :-1], axis=1, out=left[:, 1:])
        np.multiply.accumulate(a[:, :0:-1], axis=1, out=right[:, -2::-1])
        return (left * right).mean(axis=0) * g

    def explain():
        x, layer, gains = member
        mean = shares(np.maximum(x @ layer, 0) @ gains).sum(axis=2)
        x, layer, gains = bag
        g = (np.maximum(x @ layer, 0) @ gains).transpose(1, 2, 0, 3).reshape(columns, rows, -1)
        by_bag = shares(g).reshape(columns, rows, bags, -1).sum(axis=3)
        return mean, by_bag.std(axis=2)

    return explain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("table")
    asked = parser.parse_args()
    model = psishap.load(asked.model)
    frame = pd.read_csv(asked.table)[model.columns].head(1)
    array = frame.to_numpy(float)
    with zipfile.ZipFile(asked.model) as file:
        content = json.loads(file.read("manifest.json"))["content"]
    s = content["settings"]
    sizes = len(model.columns), s["embedding"], s["channels"], content["nodes"][0], s["bags"]
    measured("numpy, lower bound", products(1, *sizes))
    measured("numpy, lower bound, 1,000 rows", products(1000, *sizes), 8)

    import onnxruntime

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "model.onnx")
        model.export_onnx(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        begun = time.perf_counter()
        session = onnxruntime.InferenceSession(path, options)
        print(f"onnxruntime: {pathlib.Path(path).stat().st_size / 1e6:.1f} MB, loaded in {time.perf_counter() - begun:.1f} s, no doubt")
    feed = {name: frame[name].to_numpy(float) for name in model.columns}
    measured("onnxruntime, one thread", lambda: session.run(None, feed), 60)

    measured("psi process, predict(array)", lambda: model.predict(array))
    measured("psi process, explain(array)", lambda: model.explain(array))
    measured("psi process, explain(frame)", lambda: model.explain(frame))
    many = pd.read_csv(asked.table)[model.columns].to_numpy(float)[:1000]
    measured("psi process, explain(array), 1,000 rows", lambda: model.explain(many), 8)


if __name__ == "__main__":
    main()
