"""Estimators with the scikit-learn API."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight, check_is_fitted, validate_data

from . import _frames
from ._cells import label
from ._choices import Effort, GameName, Head, TargetScale, check, check_columns
from ._frames import Frame
from ._model import Model
from ._psi import PsiError, quoted
from ._training import score_of, train

if TYPE_CHECKING:
    from ._explanation import Explanation

Floats = npt.NDArray[np.float64]
_Self = TypeVar("_Self", bound="_Psi")

_KEPT = 512  # maximum number of training rows that ask draws values from


class _Psi(BaseEstimator):
    def __init__(
        self,
        *,
        head: Head = "exact",
        effort: Effort = "normal",
        target_scale: TargetScale = "auto",
        n_members: int | None = None,
        n_bags: int | None = None,
        steps: int | None = None,
        validation_fraction: float = 0.1,
        validation_by: str | None = None,
        order_by: str | None = None,
        validation_after: Any = None,
        time_budget: float | None = None,
        drop: Sequence[str | int] | None = None,
        categorical_features: Sequence[str | int] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        missing: Sequence[str | float] | None = None,
        missing_as_level: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | None = None,
    ):
        self.head = head
        self.effort = effort
        self.target_scale = target_scale
        self.n_members = n_members
        self.n_bags = n_bags
        self.steps = steps
        self.validation_fraction = validation_fraction
        self.validation_by = validation_by
        self.order_by = order_by
        self.validation_after = validation_after
        self.time_budget = time_budget
        self.drop = drop
        self.categorical_features = categorical_features
        self.groups = groups
        self.missing = missing
        self.missing_as_level = missing_as_level
        self.settings = settings
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept_rows"}  # training rows stay in this process

    def _checked(self, X: Frame, *, fitting: bool) -> Frame:
        """Validate the shape and the names of X, and the cells if X is an array. After fit, columns with names may be in any order."""
        of = "numpy" if _frames.is_row(X) else _frames.kind(X)
        if of == "numpy":
            return self._checked_array(X, fitting=fitting)
        if hasattr(X, "collect"):  # a polars LazyFrame
            X = X.collect()
        if fitting or not hasattr(self, "feature_names_in_"):
            named = X.head(0).to_arrow() if of == "polars" else X  # some versions of scikit-learn do not find the names of polars columns
            validate_data(self, named, reset=fitting, skip_check_array=True)
        if fitting and X.shape[0] < 2:
            raise PsiError(f"there is {X.shape[0]} sample", "a minimum of 2 is required")
        if fitting and X.shape[1] < 1:
            raise PsiError("there are 0 feature(s)", "a minimum of 1 is required")
        return X

    def _given(self, X: Frame) -> Frame:
        """Return rows as the model takes them. Columns without names, as of an array, are in the order of fit."""
        X = self._checked(_frames.as_rows(X), fitting=False)
        if _frames.kind(X) != "numpy":
            return X if hasattr(self, "feature_names_in_") else _frames.renamed(X, self._columns)
        known = set(self.model_._trained_on)
        kept = [i for i, name in enumerate(self._columns) if name in known]  # not those of drop and validation_by
        return X if len(kept) == len(self._columns) else X[:, kept]

    def _checked_array(self, X: Frame, *, fitting: bool) -> Frame:
        kind = getattr(getattr(X, "dtype", None), "kind", None)
        texts = kind == "O" and not _frames.is_row(X) and any(isinstance(cell, str) for cell in np.ravel(X))
        return validate_data(
            self,
            X,
            reset=fitting,
            accept_sparse="csr",
            dtype=None if texts or kind in ("U", "S") else "numeric",
            ensure_all_finite=False if texts else "allow-nan",
            ensure_min_samples=2 if fitting else 1,
        )

    def fit(self: _Self, X: Frame, y: Any, sample_weight: Any = None, eval_set: Any = None) -> _Self:
        """Fit the model. X may contain missing values. Ctrl-C ends training and keeps the best model so far.

        psi does not use a column from which it cannot learn anything, such as a constant one. A warning names the column.
        Another warning names columns that look like row identifiers. psi uses them as features: name them in ``drop`` unless they matter.
        A ``ConvergenceWarning`` means that the model may be underfitted: it predicts no better than a baseline model, or
        training was too short. A ``UserWarning`` names columns that predict y almost perfectly on their own: they may be known only
        after the outcome.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (rows, columns)
            Features.
        y : array of shape (rows,)
            Target: numbers for a regressor, labels of any type for a classifier.
        sample_weight : array of shape (rows,), optional
            Weights of the rows, 0 or more.
        eval_set : (X, y) or [(X, y)], optional
            Validation rows, instead of a fraction of X. They all weigh the same.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        name = _name(y)
        X = self._checked(X, fitting=True)
        counted = np.ones(X.shape[0], bool) if sample_weight is None else _check_sample_weight(sample_weight, X) != 0
        cells, arguments = self._target(y, counted)
        check_consistent_length(X, cells)
        held = None
        if eval_set is not None:
            rows, outcomes = _pair(eval_set)
            held = self._checked(rows, fitting=False), self._cells(outcomes)
            check_consistent_length(*held)
        return self._train(X, cells, name, sample_weight, [*arguments, *self._validation_flags(eval_set)], held)

    def _target(self, y: Any, counted: npt.NDArray[np.bool_]) -> tuple[pa.Array, list[str]]:
        """Return y as cells of the training table, and the flags of the task. Rows count if their weight is not 0."""
        raise NotImplementedError

    def _cells(self, y: Any) -> pa.Array:
        """Return y as cells of the validation table."""
        raise NotImplementedError

    def _train(
        self: _Self, X: Frame, y: pa.Array, name: str, sample_weight: Any, arguments: list[str], held: tuple[Frame, pa.Array] | None = None
    ) -> _Self:
        """Train on checked rows and set the attributes. ``held`` are the validation rows."""
        table = _frames.to_arrow(X)
        features = table.column_names
        flags = self._flags(table)
        target = _free(name, table)
        table = table.append_column(target, y)
        flags = [*arguments, "--target", target, *flags]
        validation = None
        if held is not None:
            rows = _frames.complete(_frames.to_arrow(held[0], features), held[0], features)
            validation = rows.select(features).append_column(target, held[1])
        if sample_weight is not None:
            weight = _free("weight", table)
            table = table.append_column(weight, pa.array(_check_sample_weight(sample_weight, X, dtype=np.float64)))
            flags += ["--weight", weight]
            if validation is not None:
                validation = validation.append_column(weight, pa.array(np.ones(validation.num_rows)))
        trained = train(
            table,
            flags,
            title=f"{type(self).__name__} of {target!r}, {len(features)} columns",
            verbose=self.verbose,
            validation=validation,
            threads=None if self.n_jobs is None else effective_n_jobs(self.n_jobs),
            checkpoint=self.checkpoint,
        )
        self._columns = features
        self.model_ = Model(trained.data)
        self.history_ = self.model_.history
        self.validation_score_ = score_of(trained.report["metrics"])[1]
        self.stopped_by_ = "interrupt" if trained.interrupted else self.model_.stopped_by
        self._kept_rows = _some(table.select(features))
        return self

    def _flags(self, table: pa.Table) -> list[str]:
        """Translate the parameters into flags of psi train."""
        check("head", self.head, Head)
        check("effort", self.effort, Effort)
        check("target_scale", self.target_scale, TargetScale)
        seed = self.random_state
        if self.checkpoint is not None and not isinstance(seed, (int, np.integer)):
            raise PsiError("a training with checkpoint needs a seed that stays the same", "give an integer random_state")
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        flags = ["--seed", str(seed), "--head", self.head, "--effort", self.effort]
        if self.target_scale != "auto":
            flags += ["--target-scale", self.target_scale]
        if self.n_members is not None:
            flags += ["--members", str(self.n_members)]
        if self.n_bags is not None:
            flags += ["--bags", str(self.n_bags)]
        if self.time_budget is not None:
            if not self.time_budget > 0:
                raise PsiError(f"time_budget is {self.time_budget}", "give seconds, more than 0")
            flags += ["--time-budget", f"{self.time_budget}s"]
        for flag, columns in (
            ("--drop", _names("drop", self.drop, table)),
            ("--categorical", _names("categorical_features", self.categorical_features, table)),
            ("--missing-as-level", _names("missing_as_level", self.missing_as_level, table)),
        ):
            for column in columns:
                flags += [flag, quoted(column)]
        for column in _names("order_by", self.order_by, table):
            flags += ["--order-by", column]
        for column in _names("validation_by", self.validation_by, table):
            flags += ["--validation-by", column]
        for group, names in (self.groups or {}).items():
            flags += ["--group", f"{group}={','.join(map(quoted, _names('groups', names, table)))}"]
        for cell in self.missing if self.missing is not None else ():
            flags += ["--missing", cell if isinstance(cell, str) else label(float(cell))]
        settings = dict(self.settings or {})
        if self.steps is not None:  # the stages after the mean get half of its steps
            half = max(1, self.steps // 2)
            settings = {"steps": self.steps, "refit_steps": half, "polish_steps": half, "spread_steps": half, **settings}
        for key, value in settings.items():
            flags += ["--set", f"{key}={value}"]
        return flags

    def _validation_flags(self, eval_set: Any) -> list[str]:
        """Translate the parameters that choose validation rows into flags of psi train."""
        if eval_set is not None:
            for parameter in ("validation_by", "order_by", "validation_after"):
                if getattr(self, parameter) is not None:
                    raise PsiError(f"eval_set and {parameter} both choose validation rows", "leave one of them out")
            return []
        if self.validation_after is not None:
            return ["--validation-after", str(self.validation_after)]
        return ["--validation-fraction", str(self.validation_fraction)]

    @property
    def _fitted(self) -> Model:
        check_is_fitted(self, "model_")
        model: Model = self.model_
        return model

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each column of X: its mean absolute attribution on the validation rows, as a share of the sum.

        The columns of a group share its importance evenly. Columns that the model does not use have 0. The numbers are those of the audit
        at the end of training.
        """
        audit, groups = self._fitted.manifest["audit"], {g["name"]: g["columns"] for g in self._fitted.manifest["groups"]}
        sizes = np.sum([output["importance"] for output in audit["outputs"]], axis=0)
        of: dict[str, float] = {}
        for player, size in zip(audit["players"], sizes):
            members = groups.get(player["name"], [player["name"]])
            of |= {name: size / len(members) for name in members}
        found = np.array([of.get(str(name), 0.0) for name in self._columns])
        return found / found.sum() if found.sum() > 0 else found

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns of X; those of an array are x0, x1, ….

        Parameters
        ----------
        input_features : list of str, optional
            Names of the columns. If X had names, they must be the same.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "model_")
        return np.asarray(_check_feature_names_in(self, input_features), object)

    def __call__(self, X: Frame) -> Floats:
        """Return the numbers that attributions add up to; see :meth:`Model.__call__`."""
        return self._fitted(self._given(X))

    def explain(
        self,
        X: Frame,
        unknown: str | Sequence[str] | None = None,
        z: float = 1.96,
        output: Any = None,
        game: GameName | None = None,
        reference: Any = None,
    ) -> Explanation:
        """Explain the predictions for the rows of X; see :meth:`Model.explain`.

        Columns are matched by name. X may contain other columns too, such as the target.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows to explain. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.
        z : float, default 1.96
            Intervals have the probability of ∓ ``z`` standard deviations of a normal distribution: 1.96 is 95 %.
        output : label, optional
            Class to explain, of more than two. The default is all classes.
        game : {"observational", "path-dependent", "missing-branch", "baseline", "interventional"}, optional
            What a prediction is when columns are absent. The default is the model's own.
        reference : data frame, Series or dict, optional
            Rows that absent columns take their values from, for ``baseline`` and ``interventional``.

        Returns
        -------
        Explanation
        """
        model = self._fitted
        rows, class_ = self._given(X), None if output is None else str(output)
        return model.explain(rows, unknown=unknown, z=z, output=class_, game=game, reference=reference)

    def evaluate(self, X: Frame, y: Any) -> dict[str, float]:
        """Measure the predictions on rows with known outcomes; see :meth:`Model.evaluate`."""
        return self._fitted.evaluate(self._given(X), y)

    def audit(self, X: Frame, y: Any = None, rows: int = 200) -> dict[str, Any]:
        """Compare attributions with Shapley values of the same model; see :meth:`Model.audit`."""
        return self._fitted.audit(self._given(X), y, rows)

    def ask(self, X: Frame, reference: Frame | None = None, most: int = 3) -> Any:
        """Rank the missing columns of each row by the value of knowing them; see :meth:`Model.ask`.

        The default ``reference`` is a sample of 512 training rows, which the estimator keeps after fit. Pickles and model files do not
        contain it: pass ``reference`` there.
        """
        model = self._fitted
        rows = self._given(X)
        return model.ask(rows, getattr(self, "_kept_rows", None) if reference is None else reference, most)

    def export_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as an ONNX graph; see :meth:`Model.export_onnx`."""
        self._fitted.export_onnx(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that ``psi`` and :func:`load` can read.

        Parameters
        ----------
        path : path
            Name of the file, such as ``bike.psi``.
        """
        self._fitted.save(path)


_PARAMETERS = """
    Parameters
    ----------
    head : {"exact", "learned"}, default "exact"
        How attributions are computed. With ``exact`` they are the Shapley values of the model. With ``learned`` they approximate them.
    effort : {"fast", "normal", "best"}, default "normal"
        Training effort. ``fast`` takes a third to a half of the time of ``normal``. ``best`` takes about three times as long: it
        averages two networks that train for twice as many steps or, for classes of fewer than 10,000 rows, four networks.
    target_scale : {"auto", "identity", "log-mean", "log"}, default "auto"
        Scale of a numeric target during training. ``auto`` tries ``log-mean`` if a positive target is skewed, and keeps the scale that
        predicts better. With ``log-mean``, columns multiply the predicted mean. ``log`` predicts the median. Not used for classes.
    n_members : int, optional
        Number of networks to train and average. The default depends on the effort: one or two.
    n_bags : int, optional
        Number of small networks trained on resampled rows, for the epistemic uncertainty of attributions. The default is 8. With 0 there
        are none.
    steps : int, optional
        Number of training steps of the mean. The default depends on the size of the table.
    validation_fraction : float, default 0.1
        Fraction of the rows used for validation, which selects the best weights. ``eval_set`` of fit gives other rows instead.
    validation_by : str, optional
        Column such as a patient number. Rows with equal values stay together in training or validation. Not used as a feature.
    order_by : str, optional
        Column of numbers or times. The newest rows by this column are used for validation, as for a model that predicts the future. It
        stays a feature.
    validation_after : str, number or time, optional
        Value of ``order_by``, such as "2024-03-01". All later rows are used for validation, instead of ``validation_fraction``.
    time_budget : float, optional
        Maximum duration of fit in seconds. An effort that would take longer is reduced accordingly, and networks of ``n_bags`` for which
        no time is left are not trained.
    drop : list of str or int, optional
        Columns of X that are not used as features.
    categorical_features : list of str or int, optional
        Columns to treat as categories although they look like numbers or dates. Text columns are categories by default, unless they
        contain formatted numbers or dates ("$1,234.50", "48.4%", "31.12.2024"). pandas categories always are.
    groups : dict of str to list of str, optional
        Groups of columns, by name. The columns of a group share one attribution.
    missing : list of str or number, optional
        Cells to treat as missing values, such as "unknown" or -9.
    missing_as_level : list of str, optional
        Columns in which a missing value is a category of its own, such as "never asked".
    settings : dict, optional
        Further settings, which ``psi train --help-config`` in a terminal describes.
    checkpoint : path, optional
        Directory that keeps the state of the training. After a crash, the same fit continues from it and gives the same model. That
        needs an integer ``random_state``. The files are removed when fit ends.
    n_jobs : int, optional
        Number of cores that fit uses; -1 means all. The default is all cores, or the environment variable GOMAXPROCS.
    random_state : int, RandomState instance or None, default None
        Seed. The same integer gives the same model, byte for byte, on the same machine.
    verbose : bool, optional
        True prints all messages of psi, False prints nothing. By default, a terminal and a notebook show a progress bar, and then one
        line with the validation score.

    Attributes
    ----------
    model_ : Model
        The trained model.
    validation_score_ : float
        R² or accuracy on the validation rows.
    stopped_by_ : {"steps", "validation", "time_budget", "interrupt"}
        Why training ended: all steps were done, the validation error no longer fell, the time was up, or Ctrl-C.
    history_ : dict of str to list
        Validations during training, for ``pandas.DataFrame(model.history_)``. The columns are ``member`` (network), ``phase``, ``step``,
        ``loss`` (of the training batch) and ``score`` (loss on the validation rows; NaN if not measured).
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean absolute attribution of each column of X on the validation rows, as a share of the sum.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X. Only defined if X has names.
"""


class PsiRegressor(RegressorMixin, _Psi):
    __doc__ = f"""Regressor that predicts a number with its uncertainty, and explains it by attributions.
    {_PARAMETERS}
    Examples
    --------
    >>> import psishap
    >>> table = psishap.sample("synth1", rows=300)
    >>> model = psishap.PsiRegressor(effort="fast", steps=50, n_bags=0, random_state=0, verbose=False)
    >>> model = model.fit(table.drop(columns="y"), table["y"])
    >>> model.predict(table.head(2)).shape
    (2,)
    >>> model.predict_interval(table.head(2), level=0.9).shape
    (2, 2)
    """

    def _target(self, y: Any, counted: npt.NDArray[np.bool_]) -> tuple[pa.Array, list[str]]:
        return self._cells(y), ["--task", "regression"]

    def _cells(self, y: Any) -> pa.Array:
        return pa.array(check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype="float64", input_name="y"))

    def predict(self, X: Frame, unknown: str | Sequence[str] | None = None) -> Floats:
        """Predict the expected value of the target for each row.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name, and other columns are ignored. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        ndarray of shape (rows,)
        """
        model = self._fitted
        return model.predict(self._given(X), unknown)

    def predict_interval(self, X: Frame, level: float = 0.9, unknown: str | Sequence[str] | None = None) -> Floats:
        """Predict intervals that contain the target with the probability ``level``; see :meth:`Model.predict_interval`.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name, and other columns are ignored. A Series or a dict is one row.
        level : float, default 0.9
            Probability, between 0 and 1.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        ndarray of shape (rows, 2)
            Lower and upper bounds.
        """
        model = self._fitted
        return model.predict_interval(self._given(X), level, unknown)


class PsiClassifier(ClassifierMixin, _Psi):
    __doc__ = f"""Classifier that predicts classes with their probabilities, and explains them by attributions.
    {_PARAMETERS.rstrip()}
    classes_ : ndarray
        Class labels, in the order of the columns of predict_proba.

    Examples
    --------
    >>> import psishap
    >>> table = psishap.sample("synth1-binary", rows=300)
    >>> model = psishap.PsiClassifier(effort="fast", steps=50, n_bags=0, random_state=0, verbose=False)
    >>> model = model.fit(table.drop(columns="y"), table["y"])
    >>> model.predict_proba(table.head(2)).shape
    (2, 2)
    """

    def _target(self, y: Any, counted: npt.NDArray[np.bool_]) -> tuple[pa.Array, list[str]]:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        check_consistent_length(y, counted)
        classes = np.unique(y)
        if len(np.unique(y[counted])) < 2:
            raise PsiError("the rows of y with a weight above 0 have only one class", "give rows of at least two classes")
        labels = [str(c) for c in classes]
        if len(set(labels)) < len(labels):
            raise PsiError("two classes have the same text", "give labels of one type")
        self.classes_ = classes
        return self._cells(y), ["--task", "binary", "--positive", labels[1]] if len(classes) == 2 else ["--task", "multiclass"]

    def _cells(self, y: Any) -> pa.Array:
        y = column_or_1d(y, warn=True)
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        others = np.unique(y[self.classes_[codes] != y])
        if len(others):
            raise PsiError(f"eval_set has the class {others.tolist()[0]!r}, which y does not have", "give rows of the classes of y")
        return pa.array([str(c) for c in self.classes_]).take(pa.array(codes))

    def predict_proba(self, X: Frame, unknown: str | Sequence[str] | None = None) -> Floats:
        """Predict class probabilities.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name, and other columns are ignored. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        ndarray of shape (rows, classes)
            In the order of ``classes_``.
        """
        model = self._fitted
        found = model.predict_proba(self._given(X), unknown)
        order = [(model.classes or []).index(str(c)) for c in self.classes_]
        return found[:, order]

    def predict(self, X: Frame, unknown: str | Sequence[str] | None = None) -> npt.NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name, and other columns are ignored. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        ndarray of shape (rows,)
            Labels of the type of y.
        """
        likeliest = self.predict_proba(X, unknown).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[likeliest]
        return labels

    def decision_function(self, X: Frame) -> Floats:
        """Return scores whose largest is the predicted class: the logarithms of the probabilities.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name, and other columns are ignored. A Series or a dict is one row.

        Returns
        -------
        ndarray of shape (rows,) or (rows, classes)
            The log odds of the second of two classes, which are above 0 if it is predicted. Of more classes, log probabilities minus their
            mean.
        """
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        scores: Floats = logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs - logs.mean(axis=1, keepdims=True)
        return scores


def _pair(eval_set: Any) -> tuple[Frame, Any]:
    """Return X and y of an eval_set: a pair, or a list of one pair."""
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if len(pairs) != 1 or len(pairs[0]) != 2:
        raise PsiError("eval_set is not one pair of X and y", "give (X_val, y_val) or [(X_val, y_val)]")
    return pairs[0][0], pairs[0][1]


def _name(y: Any) -> str:
    """Return the name of the target: the name of a series, or y."""
    name = getattr(y, "name", None)
    return str(name) if isinstance(name, str) and name else "y"


def _free(name: str, table: pa.Table) -> str:
    while name in table.column_names:
        name += "_"
    return name


def _names(parameter: str, columns: Sequence[str | int] | str | None, table: pa.Table) -> list[str]:
    """Return the names of columns that a parameter gives by name or position."""
    listed: Sequence[str | int] = [columns] if isinstance(columns, str) else () if columns is None else columns
    for column in listed:
        if isinstance(column, (int, np.integer)) and not -table.num_columns <= column < table.num_columns:
            raise PsiError(f"{parameter} names column {column}, but X has {table.num_columns} columns", "count them from 0")
    names = [table.column_names[c] if isinstance(c, (int, np.integer)) else str(c) for c in listed]
    check_columns(parameter, names, table.column_names)
    return names


def _some(table: pa.Table) -> pa.Table:
    """Return a random sample of the rows of a table."""
    if table.num_rows <= _KEPT:
        return table
    return table.take(pa.array(np.sort(np.random.default_rng(0).choice(table.num_rows, _KEPT, replace=False))))
