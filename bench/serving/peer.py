"""The service that psi is measured beside: LightGBM's predictions with their contributions (pred_contrib), by FastAPI.

peer.py ROWS.csv TARGET MODEL   trains it: 500 trees of 31 leaves, categories as such
uvicorn peer:app                serves the model that PEER_MODEL names, with PEER_THREADS threads for a request

It is written as well as such a service can be without writing another library: uvloop and httptools, orjson both ways, rows
made into columns by hand, requests in threads, so that LightGBM, which lets go of Python's lock, has all cores.
"""

import json
import os
import sys
from pathlib import Path

import lightgbm
import numpy as np
import orjson
import pandas as pd
from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

PARAMETERS = {"objective": "binary", "num_leaves": 31, "learning_rate": 0.05, "verbose": -1, "seed": 1}


def train(rows: str, target: str, to: str) -> None:
    table = pd.read_csv(rows)
    y = table.pop(target)
    columns = {}  # name to labels; None of a number
    for name in table:
        columns[name] = None
        if not pd.api.types.is_numeric_dtype(table[name]):
            columns[name] = sorted(table[name].dropna().unique())
            table[name] = pd.Categorical(table[name], categories=columns[name])
    booster = lightgbm.train(PARAMETERS, lightgbm.Dataset(table, y == sorted(y.unique())[-1]), num_boost_round=500)
    booster.save_model(to)
    Path(to + ".json").write_text(json.dumps(columns))


class Service:
    def __init__(self, model: str, threads: int) -> None:
        self.booster = lightgbm.Booster(model_file=model)
        self.threads = threads
        labels = json.loads(Path(model + ".json").read_text())
        self.dtypes = {name: pd.CategoricalDtype(some) if some else None for name, some in labels.items()}

    def explain(self, body: bytes) -> bytes:
        rows = orjson.loads(body)["rows"]
        columns = {}
        for name, dtype in self.dtypes.items():
            cells = [row[name] for row in rows]
            columns[name] = pd.Categorical(cells, dtype=dtype) if dtype else np.array(cells, dtype=float)
        contributions = self.booster.predict(pd.DataFrame(columns), pred_contrib=True, num_threads=self.threads)
        scores = contributions.sum(axis=1)
        answer = {
            "prediction": 1 / (1 + np.exp(-scores)),
            "base": np.ascontiguousarray(contributions[:, -1]),
            "contributions": np.ascontiguousarray(contributions[:, :-1]),
        }
        return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)


if __name__ == "__main__":
    train(*sys.argv[1:])
else:
    app = FastAPI()
    service = Service(os.environ["PEER_MODEL"], int(os.environ["PEER_THREADS"]))

    @app.post("/explain")
    async def explain(request: Request) -> Response:
        body = await request.body()
        return Response(await run_in_threadpool(service.explain, body), media_type="application/json")
