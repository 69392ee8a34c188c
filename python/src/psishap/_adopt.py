"""Explanations of a model that somebody already has: psi learns its outputs, and says first how much of them it got."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ._estimators import PsiRegressor
from ._explanation import Explanation
from ._frames import Frame, kind, to_arrow
from ._model import Model

Floats = npt.NDArray[np.float64]

_HELD = 0.1  # share of the rows that fidelity is measured on
_MOST = 20_000  # of them, at most


@dataclasses.dataclass(frozen=True)
class Fidelity:
    """How much of a model's outputs psi reproduces, on rows that psi was not trained on."""

    output: str
    r2: float  #: 1 − Σ(output − psi)² / Σ(output − mean)²
    rank: float  #: Spearman's rank correlation of the two
    same_class: float | None  #: share of rows on whose class both agree, None of a number
    rows: int

    def __str__(self) -> str:
        words = f"psi reproduces {self.r2:.1%} of the variance of {self.output!r} (R² {self.r2:.4f}), rank agreement {self.rank:.4f}"
        if self.same_class is not None:
            words += f", same class in {self.same_class:.1%} of rows"
        return words + f"; measured on {self.rows:,} rows kept aside"


class AdoptedModel:
    """What :func:`explain_model` returns. ``print`` it: the first thing it says is how far it can be trusted.

    ``fidelity`` has a :class:`Fidelity` for each output, ``models`` the psi models (one for each output), ``outputs`` their
    names and ``scale`` what they are measured on: ``logit`` of two classes, ``score`` of more, ``identity`` of a number.
    """

    def __init__(self, models: Sequence[Model], outputs: Sequence[str], scale: str, fidelity: Sequence[Fidelity]):
        self.models, self.outputs, self.scale, self.fidelity = list(models), list(outputs), scale, list(fidelity)

    def explain(self, X: Frame, unknown: str | Sequence[str] | None = None, z: float = 1.96) -> Explanation:
        """Explains rows, as :meth:`psishap.Model.explain` does, on the scale of the model that was adopted."""
        parts = [model.explain(X, unknown=unknown, z=z) for model in self.models]
        return Explanation.join(parts, self.outputs, self.scale)

    def predict(self, X: Frame) -> Floats:
        """What psi thinks that the model says, on ``scale``: [rows], or [rows, outputs] of several."""
        columns = [model.predict(X) for model in self.models]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def __repr__(self) -> str:
        words = [str(f) for f in self.fidelity]
        if any(f.r2 < 0.9 for f in self.fidelity):
            words.append("That is little: an explanation is of what psi reproduces, and says nothing about the rest.")
        words.append(
            "Attributions are Shapley values of what is known, E[output | x_S], which share credit between columns that go together; "
            "TreeSHAP's follow the splits of the trees."
        )
        return "\n".join(words)


def explain_model(
    model: Any,
    X: Frame,
    *,
    test: Frame | float = _HELD,
    random_state: int = 0,
    verbose: bool = True,
    **parameters: Any,
) -> AdoptedModel:
    """Learns what a model says of rows, so that it can be explained, with uncertainty, in one pass.

    The model is asked for its outputs on the rows of X; no labels are needed, so that X may have any rows that the model can
    be asked about: the more, the better. psi is trained on them. Before anything else it says how much of the outputs it
    reproduces on rows that were kept aside.

    A missing cell is a value here, for the model does something with it; ``unknown`` of :meth:`AdoptedModel.explain` takes
    columns for unknown.

    Parameters
    ----------
    model
        Has ``predict_proba`` (two classes: log odds of the second; more: log probabilities less their mean, one psi model for
        each) or ``predict`` (numbers); or a function from rows to numbers [rows] or [rows, outputs].
    X
        Rows in the form that the model takes, and that psi takes too.
    test
        Rows to measure fidelity on, or the share of X that is kept aside for it.
    random_state
        Seed of the split and of the training.
    verbose
        Whether to print how much is reproduced.
    **parameters
        Further parameters of :class:`psishap.PsiRegressor`.
    """
    ask = _asker(model)
    train, held = _split(X, test, random_state) if isinstance(test, float) else (X, test)
    outputs, scale, said = ask(train)
    _, _, truth = ask(held)
    models, fidelity = [], []
    for c, output in enumerate(outputs):
        models.append(_train(train, said[:, c], output, random_state, parameters))
        fidelity.append((truth[:, c], models[-1].predict(held)))
    same = _same_class(scale, np.column_stack([t for t, _ in fidelity]), np.column_stack([p for _, p in fidelity]))
    measured = [Fidelity(output, _r2(t, p), _spearman(t, p), same, len(t)) for output, (t, p) in zip(outputs, fidelity)]
    adopted = AdoptedModel(models, outputs, scale, measured)
    if verbose:
        print(adopted)
    return adopted


def _train(X: Frame, y: Floats, name: str, seed: int, parameters: dict[str, Any]) -> Model:
    parameters = {"missing_as_level": _gaps(X), **parameters}
    return PsiRegressor(random_state=seed, **parameters)._fit(X, pa.array(y), name, None, ["--task", "regression"])


def _asker(model: Any) -> Callable[[Frame], tuple[list[str], str, Floats]]:
    """How to ask a model: the names of its outputs, their scale, and what it says, [rows, outputs]."""

    def ask(X: Frame) -> tuple[list[str], str, Floats]:
        if hasattr(model, "predict_proba"):
            p = np.asarray(model.predict_proba(X), np.float64)
            names = [str(c) for c in getattr(model, "classes_", range(p.shape[1]))]
            logs = np.log(_inside(p))
            if p.shape[1] == 2:
                return names[1:], "logit", logs[:, 1:] - logs[:, :1]
            return names, "score", logs - logs.mean(axis=1, keepdims=True)
        said = np.asarray(model.predict(X) if hasattr(model, "predict") else model(X))
        if said.dtype.kind not in "biuf":
            raise TypeError(
                "the model predicts labels, but no probabilities: give a model with predict_proba, or a function that gives numbers"
            )
        said = said.astype(np.float64)
        if said.ndim > 2 or len(said) != len(X):
            raise ValueError(
                f"the model's outputs have the shape {list(said.shape)}: give [rows] or [rows, outputs], with a row for each of X"
            )
        said = said.reshape(len(said), -1)
        if not np.isfinite(said).all():
            raise ValueError("the model gives outputs that are not finite: leave out the rows where it does")
        names = ["output"] if said.shape[1] == 1 else [f"output {c}" for c in range(said.shape[1])]
        return names, "identity", said

    if not (hasattr(model, "predict_proba") or hasattr(model, "predict") or callable(model)):
        raise TypeError(f"a {type(model).__name__} has no predict and is no function: give a model, or a function from rows to numbers")
    return ask


def _inside(p: Floats) -> Floats:
    """Probabilities that have a logarithm: 0 becomes half of the smallest that is above it, for example of a forest's votes."""
    positive = p[p > 0]
    least = max(positive.min() / 2 if positive.size else 0.5, 1e-9)
    p = np.maximum(p, least)
    return p / p.sum(axis=1, keepdims=True)


def _split(X: Frame, share: float, seed: int) -> tuple[Frame, Frame]:
    if not 0 < share < 1:
        raise ValueError(f"test is {share}: give a share between 0 and 1, or rows")
    count = len(X)
    held = min(max(2, round(share * count)), _MOST)
    if count < held + 10:
        raise ValueError(f"X has {count} rows: that is too few to learn from")
    order = np.random.default_rng(seed).permutation(count)
    return tuple(_rows(X, np.sort(part)) for part in (order[held:], order[:held]))


def _rows(X: Frame, places: npt.NDArray[np.intp]) -> Frame:
    of = kind(X)
    if of == "pandas":
        return X.iloc[places]
    return X.take(pa.array(places)) if of == "pyarrow" else X[places]


def _gaps(X: Frame) -> list[str]:
    """Columns with missing cells."""
    table = to_arrow(X)
    return [n for n, c in zip(table.column_names, table.columns) if c.null_count or _nans(c)]


def _nans(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and bool(np.isnan(column.to_numpy()).any())


def _r2(truth: Floats, guess: Floats) -> float:
    spread = np.sum((truth - truth.mean()) ** 2)
    return float(1 - np.sum((truth - guess) ** 2) / spread) if spread > 0 else float("nan")


def _spearman(a: Floats, b: Floats) -> float:
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def _same_class(scale: str, truth: Floats, guess: Floats) -> float | None:
    if scale == "identity":
        return None
    if scale == "logit":
        return float(np.mean((truth > 0) == (guess > 0)))
    return float(np.mean(truth.argmax(axis=1) == guess.argmax(axis=1)))
