"""Estimators with the scikit-learn API."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _frames
from ._frames import Frame
from ._model import Model
from ._psi import PsiError, quoted
from ._training import train

if TYPE_CHECKING:
    from ._explanation import Explanation


class _Psi(BaseEstimator):
    def __init__(
        self,
        *,
        head: str = "exact",
        effort: str = "normal",
        target_scale: str = "auto",
        members: int | None = None,
        bags: int | None = None,
        steps: int | None = None,
        validation_fraction: float = 0.1,
        validation_by: str | None = None,
        order_by: str | None = None,
        validation_after: Any = None,
        time_budget: float | None = None,
        categorical: Sequence[str | int] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        missing: Sequence[str] | None = None,
        missing_as_level: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | None = None,
    ):
        self.head = head
        self.effort = effort
        self.target_scale = target_scale
        self.members = members
        self.bags = bags
        self.steps = steps
        self.validation_fraction = validation_fraction
        self.validation_by = validation_by
        self.order_by = order_by
        self.validation_after = validation_after
        self.time_budget = time_budget
        self.categorical = categorical
        self.groups = groups
        self.missing = missing
        self.missing_as_level = missing_as_level
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _checked(self, X: Frame, *, fitting: bool) -> Frame:
        """Validate the column names and the shape of X, and the cells if X is an array."""
        of = _frames.kind(X)
        if of != "numpy":
            if hasattr(X, "collect"):  # a polars LazyFrame
                X = X.collect()
            named = X.head(0).to_arrow() if of == "polars" else X  # some versions of scikit-learn do not find the names of polars columns
            validate_data(self, named, reset=fitting, skip_check_array=True)
            if fitting and X.shape[0] < 2:
                raise PsiError(f"there is {X.shape[0]} sample", "a minimum of 2 is required")
            if fitting and X.shape[1] < 1:
                raise PsiError("there are 0 feature(s)", "a minimum of 1 is required")
            return X
        kind = getattr(getattr(X, "dtype", None), "kind", None)
        texts = kind == "O" and any(isinstance(cell, str) for cell in np.ravel(X))
        return validate_data(
            self,
            X,
            reset=fitting,
            dtype=None if texts or kind in ("U", "S") else "numeric",
            ensure_all_finite=False if texts else "allow-nan",
            ensure_min_samples=2 if fitting else 1,
        )

    def _fit(self, X: Frame, y: pa.Array, name: str, sample_weight: Any, arguments: list[str]) -> Model:
        table = _frames.to_arrow(X)
        target = _free(name, table)
        table = table.append_column(target, y)
        arguments = [*arguments, "--target", target, *self._flags(table)]
        if sample_weight is not None:
            weight = _free("weight", table)
            table = table.append_column(weight, pa.array(_check_sample_weight(sample_weight, X, dtype=np.float64)))
            arguments += ["--weight", weight]
        return Model(train(table, arguments, self.verbose))

    def _flags(self, table: pa.Table) -> list[str]:
        """Translate the parameters into flags of psi train."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        flags = ["--seed", str(seed), "--head", self.head, "--effort", self.effort]
        if self.target_scale != "auto":
            flags += ["--target-scale", self.target_scale]
        if self.members is not None:
            flags += ["--members", str(self.members)]
        if self.bags is not None:
            flags += ["--bags", str(self.bags)]
        if self.validation_after is None:
            flags += ["--validation-fraction", str(self.validation_fraction)]
        else:
            flags += ["--validation-after", str(self.validation_after)]
        if self.order_by is not None:
            flags += ["--order-by", self.order_by]
        if self.validation_by is not None:
            flags += ["--validation-by", self.validation_by]
        if self.time_budget is not None:
            flags += ["--time-budget", f"{self.time_budget}s"]
        for column in self.categorical if self.categorical is not None else ():
            flags += ["--categorical", quoted(table.column_names[column] if isinstance(column, (int, np.integer)) else column)]
        for group, columns in (self.groups or {}).items():
            flags += ["--group", f"{group}={','.join(map(quoted, columns))}"]
        for text in self.missing if self.missing is not None else ():
            flags += ["--missing", text]
        for column in self.missing_as_level if self.missing_as_level is not None else ():
            flags += ["--missing-as-level", quoted(column)]
        settings = dict(self.settings or {})
        if self.steps is not None:  # the stages after the mean get half of its steps
            half = max(1, self.steps // 2)
            settings = {"steps": self.steps, "refit_steps": half, "polish_steps": half, "spread_steps": half, **settings}
        for key, value in settings.items():
            flags += ["--set", f"{key}={value}"]
        return flags

    @property
    def _fitted(self) -> Model:
        check_is_fitted(self, "model_")
        return self.model_

    def explain(
        self,
        X: Frame,
        unknown: str | Sequence[str] | None = None,
        z: float = 1.96,
        output: Any = None,
        game: str | None = None,
        reference: Any = None,
    ) -> Explanation:
        """Explain the predictions for the rows of X; see :meth:`Model.explain`.

        Columns are matched by name. X may contain other columns too, such as the target.
        """
        return self._fitted.explain(X, unknown=unknown, z=z, output=None if output is None else str(output), game=game, reference=reference)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that ``psi`` and :func:`load` can read."""
        pathlib.Path(path).write_bytes(self._fitted.data)


_PARAMETERS = """
    Parameters
    ----------
    head : {"exact", "learned"}
        How attributions are computed. With ``exact`` they are the Shapley values of the model. With ``learned`` they approximate them.
    effort : {"normal", "fast", "best"}
        Training effort. ``fast`` takes a third to a half of the time of ``normal``. ``best`` takes three times as long: it trains for
        twice as many steps and averages two networks.
    target_scale : {"auto", "identity", "log-mean", "log"}
        Scale of a numeric target during training. ``auto`` tries ``log-mean`` if a positive target is skewed, and keeps the scale that
        predicts better. With ``log-mean``, columns multiply the predicted mean. ``log`` predicts the median. Not used for classes.
    members : int, optional
        Number of networks to train and average. The default depends on the effort: one or two.
    bags : int, optional
        Number of small networks trained on resampled rows, for the epistemic uncertainty of attributions. Default 8; 0 for none.
    steps : int, optional
        Number of training steps of the mean. The default depends on the size of the table.
    validation_fraction : float
        Fraction of the rows used for validation, which selects the best weights.
    validation_by : str, optional
        Column such as a patient number. Rows with equal values stay together in training or validation. Not used as a feature.
    order_by : str, optional
        Column of numbers or times. The newest rows by this column are used for validation, as for a model that predicts the future. It
        stays a feature.
    validation_after : optional
        Value of ``order_by``, such as "2024-03-01". All later rows are used for validation, instead of ``validation_fraction``.
    time_budget : float, optional
        Maximum duration of fit in seconds. An effort that would take longer is reduced accordingly.
    categorical : list of str or int, optional
        Columns to treat as categories although they look like numbers or dates. Text columns are categories by default, unless they
        contain formatted numbers or dates ("$1,234.50", "48.4%", "31.12.2024"). pandas categories always are.
    groups : dict of str to list of str, optional
        Groups of columns, by name. The columns of a group share one attribution.
    missing : list of str, optional
        Strings to treat as missing values.
    missing_as_level : list of str, optional
        Columns in which a missing value is a category of its own, such as "never asked".
    settings : dict, optional
        Further settings. ``psi train --help-config`` lists them.
    random_state : int, RandomState instance or None
        Seed. The same integer gives the same model, byte for byte, on the same machine.
    verbose : bool, optional
        True prints all messages of psi, False prints nothing. None shows a progress bar in a terminal and in a notebook.

    Attributes
    ----------
    model_ : Model
        The trained model.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X. Only defined if X has names.
"""


class PsiRegressor(RegressorMixin, _Psi):
    __doc__ = f"""Regressor that predicts a number with its uncertainty, and explains it by attributions.

    >>> model = PsiRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    >>> model.explain(X).to_pandas()  # doctest: +SKIP
    {_PARAMETERS}"""

    def fit(self, X: Frame, y: Any, sample_weight: Any = None) -> PsiRegressor:
        """Fit the regressor. X may contain missing values. Ctrl-C ends training and keeps the best model so far.

        psi does not use a column from which it cannot learn anything, such as a constant one. A warning names the column.
        Another warning names columns that look like row identifiers. psi uses them as features: remove them from X unless they matter.
        A ``ConvergenceWarning`` means that the model may be underfitted: it predicts no better than a baseline model, or
        training was too short. A ``UserWarning`` names columns that predict y almost perfectly on their own: they may be known only
        after the outcome.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        name = _name(y)
        X = self._checked(X, fitting=True)
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        self.model_ = self._fit(X, pa.array(y), name, sample_weight, ["--task", "regression"])
        return self

    def predict(self, X: Frame) -> npt.NDArray[np.float64]:
        """Predict the expected value of the target for each row."""
        model = self._fitted
        return model.predict(self._checked(X, fitting=False))

    def predict_interval(self, X: Frame, level: float = 0.9) -> npt.NDArray[np.float64]:
        """Predict intervals, of shape (rows, 2): lower and upper bounds that contain the target with the probability ``level``."""
        model = self._fitted
        return model.predict_interval(self._checked(X, fitting=False), level)


class PsiClassifier(ClassifierMixin, _Psi):
    __doc__ = f"""Classifier that predicts classes with their probabilities, and explains them by attributions.

    >>> model = PsiClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    >>> model.explain(X).to_pandas()  # doctest: +SKIP
    {_PARAMETERS}
    classes_ : ndarray
        Class labels, in the order of the columns of predict_proba.
"""

    def fit(self, X: Frame, y: Any, sample_weight: Any = None) -> PsiClassifier:
        """Fit the classifier. X may contain missing values. Ctrl-C ends training and keeps the best model so far.

        psi does not use a column from which it cannot learn anything, such as a constant one. A warning names the column.
        Another warning names columns that look like row identifiers. psi uses them as features: remove them from X unless they matter.
        A ``ConvergenceWarning`` means that the model may be underfitted: it predicts no better than a baseline model, or
        training was too short. A ``UserWarning`` names columns that predict y almost perfectly on their own: they may be known only
        after the outcome.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        name = _name(y)
        X = self._checked(X, fitting=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        check_consistent_length(X, y)
        classes, codes = np.unique(y, return_inverse=True)
        counts = np.ones(len(y), bool) if sample_weight is None else _check_sample_weight(sample_weight, X) != 0
        if len(np.unique(codes[counts])) < 2:
            raise PsiError("the rows of y with a weight above 0 have only one class", "give rows of at least two classes")
        labels = [str(c) for c in classes]
        if len(set(labels)) < len(labels):
            raise PsiError("two classes have the same text", "give labels of one type")
        arguments = ["--task", "multiclass"]
        if len(classes) == 2:
            arguments = ["--task", "binary", "--positive", labels[1]]
        self.model_ = self._fit(X, pa.array(labels).take(pa.array(codes)), name, sample_weight, arguments)
        self.classes_ = classes
        return self

    def predict_proba(self, X: Frame) -> npt.NDArray[np.float64]:
        """Predict class probabilities, of shape (rows, classes), in the order of ``classes_``."""
        model = self._fitted
        found = model.predict_proba(self._checked(X, fitting=False))
        order = [(model.classes or []).index(str(c)) for c in self.classes_]
        return found[:, order]

    def predict(self, X: Frame) -> npt.NDArray[Any]:
        """Predict the most probable class of each row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]


def _name(y: Any) -> str:
    """Return the name of the target: the name of a series, or y."""
    name = getattr(y, "name", None)
    return str(name) if isinstance(name, str) and name else "y"


def _free(name: str, table: pa.Table) -> str:
    while name in table.column_names:
        name += "_"
    return name
