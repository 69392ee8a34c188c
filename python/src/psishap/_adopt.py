"""Surrogates of black boxes: psi learns the outputs of a model and measures how well it reproduces them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ._choices import GameName
from ._estimators import PsiRegressor
from ._explanation import Explanation
from ._frames import Frame, kind, to_arrow
from ._model import Model

Floats = npt.NDArray[np.float64]

_HELD = 0.1  # fraction of the rows that measure fidelity
_MOST = 20_000  # maximum number of these rows


@dataclasses.dataclass(frozen=True)
class Fidelity:
    """How well a surrogate reproduces the outputs of a model, measured on rows that it was not trained on."""

    output: str
    r2: float  #: 1 − Σ(output − surrogate)² / Σ(output − mean)²
    rank: float  #: Spearman's rank correlation of both
    same_class: float | None  #: fraction of rows with the same predicted class; None for a number
    rows: int

    def __str__(self) -> str:
        words = (
            f"The surrogate reproduces {self.r2:.1%} of the variance of {self.output!r} (R² {self.r2:.4f}), rank agreement {self.rank:.4f}"
        )
        if self.same_class is not None:
            words += f", same class in {self.same_class:.1%} of rows"
        return words + f"; measured on {self.rows:,} held-out rows"


class AdoptedModel:
    """Surrogate of a model, from :func:`explain_model`: psi models that learned its outputs. ``print`` shows how well they reproduce it.

    ``fidelity`` contains a :class:`Fidelity` for each output, ``models`` one psi model for each output, and ``outputs`` their names.
    ``scale`` is the scale of the outputs: ``logit`` for two classes, ``score`` for more, ``identity`` for a number.
    """

    def __init__(self, models: Sequence[Model], outputs: Sequence[str], scale: str, fidelity: Sequence[Fidelity]):
        self.models, self.outputs, self.scale, self.fidelity = list(models), list(outputs), scale, list(fidelity)

    def explain(
        self, X: Frame, unknown: str | Sequence[str] | None = None, z: float = 1.96, game: GameName | None = None, reference: Any = None
    ) -> Explanation:
        """Explain rows as :meth:`psishap.Model.explain` does, on ``scale``. Attributions are those of the surrogate.

        Parameters
        ----------
        X : data frame, array, Series or dict
            Rows to explain. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.
        z : float, default 1.96
            Intervals have the probability of ∓ ``z`` standard deviations of a normal distribution: 1.96 is 95 %.
        game : {"observational", "baseline", "interventional"}, optional
            What a prediction is when columns are absent. The default is ``observational``, or ``interventional`` with a ``reference``.
        reference : data frame, Series or dict, optional
            Rows for ``game``.

        Returns
        -------
        Explanation
        """
        parts = [model.explain(X, unknown=unknown, z=z, game=game, reference=reference) for model in self.models]
        return Explanation.join(parts, self.outputs, self.scale)

    def predict(self, X: Frame) -> Floats:
        """Predict the outputs of the model on ``scale``.

        Parameters
        ----------
        X : data frame, array, Series or dict
            Rows. A Series or a dict is one row.

        Returns
        -------
        ndarray of shape (rows,) or (rows, outputs)
        """
        columns = [model.predict(X) for model in self.models]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def __repr__(self) -> str:
        words = [str(f) for f in self.fidelity]
        if any(f.r2 < 0.9 for f in self.fidelity):
            words.append("This is low: explanations cover only what the surrogate reproduces, not the rest.")
        words.append(
            "Attributions are Shapley values of the surrogate, for the conditional expectation E[output | x_S]: correlated columns share "
            "credit. "
            "TreeSHAP values follow the splits of the trees instead."
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
    """Train a surrogate of a black box: a psi model of its outputs, which explains them with uncertainty in one pass.

    Explanations are those of the surrogate, not of the model. For trees of XGBoost, LightGBM, CatBoost or scikit-learn,
    :func:`from_model` explains the model itself, exactly.

    The function calls the model on the rows of X and trains psi on its outputs. It needs no labels, so X may contain any rows that the
    model accepts; more rows are better. It prints how much of the outputs the surrogate reproduces on held-out rows.

    A missing cell counts as a value here, because the model does something with it. To treat columns as missing, pass ``unknown`` to
    :meth:`AdoptedModel.explain`.

    Parameters
    ----------
    model : object or function
        Object with ``predict_proba`` or ``predict``, or a function from rows to numbers of shape (rows,) or (rows, outputs).
        ``predict`` must return numbers. With ``predict_proba`` and two classes, psi learns the log odds of the second class. With more
        classes, it learns log probabilities minus their mean, with one psi model for each class.
    X : data frame or array
        Rows in a format that both the model and psi accept.
    test : data frame, array or float, default 0.1
        Rows to measure fidelity on, or the fraction of X to hold out for it.
    random_state : int, default 0
        Seed of the split and of training.
    verbose : bool, default True
        Whether to print the fidelity.
    **parameters
        Further parameters of :class:`psishap.PsiRegressor`.

    Returns
    -------
    AdoptedModel

    Examples
    --------
    >>> import psishap
    >>> table = psishap.sample("synth1", rows=300).drop(columns="y")
    >>> surrogate = psishap.explain_model(lambda X: X["x1"] + X["x2"], table, effort="fast", steps=100, n_bags=0, verbose=False)
    >>> surrogate.fidelity[0].rows
    30
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
    regressor = PsiRegressor(random_state=seed, **parameters)
    arguments = ["--task", "regression", *regressor._validation_flags(None)]
    return regressor._train(X, pa.array(y), name, None, arguments)._fitted


def _asker(model: Any) -> Callable[[Frame], tuple[list[str], str, Floats]]:
    """Return a function from rows to the names of the outputs, their scale, and the outputs [rows, outputs]."""

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
                "the model predicts labels but no probabilities: give a model with predict_proba, or a function that returns numbers"
            )
        said = said.astype(np.float64)
        if said.ndim > 2 or len(said) != len(X):
            raise ValueError(
                f"the outputs of the model have the shape {list(said.shape)}: give [rows] or [rows, outputs], with one row for each of X"
            )
        said = said.reshape(len(said), -1)
        if not np.isfinite(said).all():
            raise ValueError("some outputs of the model are not finite: remove these rows from X")
        names = ["output"] if said.shape[1] == 1 else [f"output {c}" for c in range(said.shape[1])]
        return names, "identity", said

    if not (hasattr(model, "predict_proba") or hasattr(model, "predict") or callable(model)):
        raise TypeError(
            f"a {type(model).__name__} has no predict method and is not callable: give a model, or a function from rows to numbers"
        )
    return ask


def _inside(p: Floats) -> Floats:
    """Replace probabilities of 0, such as of a random forest, by half of the smallest positive one, so that all have a logarithm."""
    positive = p[p > 0]
    least = max(positive.min() / 2 if positive.size else 0.5, 1e-9)
    p = np.maximum(p, least)
    shares: Floats = p / p.sum(axis=1, keepdims=True)
    return shares


def _split(X: Frame, share: float, seed: int) -> tuple[Frame, Frame]:
    if not 0 < share < 1:
        raise ValueError(f"test is {share}: give a fraction between 0 and 1, or rows")
    count = len(X)
    held = min(max(2, round(share * count)), _MOST)
    if count < held + 10:
        raise ValueError(f"X has {count} rows, which are too few to train on: give more")
    order = np.random.default_rng(seed).permutation(count)
    return tuple(_rows(X, np.sort(part)) for part in (order[held:], order[:held]))


def _rows(X: Frame, places: npt.NDArray[np.intp]) -> Frame:
    of = kind(X)
    if of == "pandas":
        return X.iloc[places]
    return X.take(pa.array(places)) if of == "pyarrow" else X[places]


def _gaps(X: Frame) -> list[str]:
    """Return the columns with missing cells."""
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
