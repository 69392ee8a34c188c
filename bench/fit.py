"""One fit, in a process of its own: fit.py JOB FILE, the job as JSON, writes the result to the file."""

import importlib
import json
import os
import platform
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psi
import results
import sets
import tuning
from cost import timed
from masked import MASKED
from metrics import Prediction, calibration_gaps, score
from peers import PEERS
from provenance import package_version, revision, training_code_of
from psi import PSI


@dataclass(frozen=True)
class Job:
    set: str
    fold: int
    tool: str
    core: int | None  # the one it may use; None is all
    psi: str  # the program
    psi_flags: list[str] = field(default_factory=list)


def peer(job: Job, fold: sets.Fold) -> dict[str, Any]:
    tool = (PEERS | MASKED)[job.tool]
    configuration = tool.configuration
    if tool.search is not None:
        found = tuning.of(job.tool, job.set)
        if found is None:
            raise RuntimeError(f"{job.tool} is not tuned for {job.set}")
        configuration = {**configuration, **found["chosen"]}
    importlib.import_module(tool.module)
    fitted, cost = timed(resource.RUSAGE_SELF, lambda: tool.fit(fold, configuration))
    views = [sets.WHOLE, sets.BLANKED] + (list(sets.KEPT) if job.tool in MASKED else [])
    return {
        "versions": {"python": platform.python_version(), tool.package: package_version(tool), "revision": revision()},
        "cost": cost,
        "details": fitted.details,
        "views": scores(fold, views, lambda rows: Prediction(fitted.predict(fold.inputs(rows)))),
    }


def own(job: Job, fold: sets.Fold) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.psi"
        model, cost = psi.train(job.psi, [*PSI[job.tool], *job.psi_flags], fold, path)
        versions = model.provenance()
        if not versions["revision"]:
            raise RuntimeError(f"{job.psi} does not name its revision: build it with GOFLAGS=-buildvcs=true make")
        views = [sets.WHOLE, sets.BLANKED, *sets.KEPT]
        found = {
            "versions": {**versions, "training": training_code_of(Path(job.psi), versions["revision"], versions["backend"])},
            "cost": cost,
            "views": scores(fold, views, lambda rows: model.predict(fold, rows)),
            "audit": model.audit(fold),
        }
        if fold.task == "binary":
            said = model.predict(fold, fold.test)
            found["calibration_gaps"] = calibration_gaps(fold.target(fold.test), said.values[:, 1]).tolist()
        return found


def scores(fold: sets.Fold, views: list[str], predict: Callable[[Any], Prediction]) -> dict[str, dict[str, float]]:
    y = fold.target(fold.test)
    return {view: score(fold.task, y, predict(fold.view(view))) for view in views}


def run(job: Job) -> results.Result:
    fold = sets.load(job.set, job.fold)
    rows = {"train": len(fold.train), "validation": len(fold.validation), "test": len(fold.test)}
    return {
        "set": job.set,
        "fold": job.fold,
        "tool": job.tool,
        "digest": results.digest(job.tool, job.set, job.psi_flags),
        "configuration": results.configuration(job.tool, job.set, job.psi_flags),
        "rows": rows,
        **(own if job.tool in PSI else peer)(job, fold),
    }


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    job = Job(**json.loads(sys.argv[1]))
    if job.core is not None:
        os.sched_setaffinity(0, {job.core})
    Path(sys.argv[2]).write_text(json.dumps(run(job)))
