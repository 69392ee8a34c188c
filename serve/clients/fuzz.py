"""Hooks of schemathesis: of the requests that fit the document, most get rows that the model knows, so that they are answered.

The rest stays as drawn. What is chosen here follows from the request itself, so that a seed means a run.
"""

import json
import random

import schemathesis
from schemathesis import Case, HookContext

import scene

asked = scene.rows("synth3")
FREE = ("unknown", "output", "against", "version", "z", "top")  # fields that few drawn values are right for


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: dict) -> None:
    if not case.meta.generation.mode.is_positive or not isinstance(case.body, dict):
        return
    drawn = random.Random(json.dumps(case.body, sort_keys=True, default=str))
    if drawn.random() < 0.2:
        return
    case.body = known(case.operation.path, dict(case.body), drawn)
    for name in ("version", "output", "against"):
        if case.query and drawn.random() < 0.8:
            case.query.pop(name, None)


def known(path: str, body: dict, drawn: random.Random) -> dict:
    count = drawn.randint(1, 5)
    rows = [[drawn.choice([cell, None, drawn.gauss(0, 1e3), drawn.randint(-9, 9)]) for cell in row] for row in drawn.choices(asked.cells, k=count)]
    by_name = [dict(zip(asked.columns, row)) for row in rows]
    either = drawn.choice([rows, by_name])
    if path.endswith("/infer"):
        body["inputs"] = [
            {"name": name, "shape": [count], "datatype": drawn.choice(["FP32", "FP64"]), "data": [row[name] for row in by_name]} for name in asked.columns
        ]
        if drawn.random() < 0.8:
            wanted = [name for name in scene.OUTPUTS if name != "probability"]
            body["outputs"] = [{"name": name} for name in drawn.sample(wanted, drawn.randint(0, len(wanted)))]
        if drawn.random() < 0.8:
            body.pop("parameters", None)
        return body
    if path == "/invocations":
        forms = {
            "dataframe_split": {"columns": asked.columns, "data": rows}, "dataframe_records": by_name, "instances": either,
            "inputs": {name: [row[name] for row in by_name] for name in asked.columns},
        }
        form = drawn.choice(list(forms))
        body = {name: value for name, value in body.items() if name not in forms and (name != "params" or drawn.random() < 0.2)}
        return {**body, form: forms[form]}
    body["rows" if path in ("/explain", "/predict") else "instances"] = either
    if path in ("/explain", "/predict"):
        body["model"] = "synth3"
    if drawn.random() < 0.8:
        body = {name: value for name, value in body.items() if name not in FREE and name != "parameters"}
    return body
