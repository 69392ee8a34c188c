"""A trained or imported model: the content of a model.psi file, with predictions and explanations."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import pathlib
import statistics
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import _html, _psi
from ._cells import Floats
from ._child import asking
from ._choices import GameName, Layout, check, suggestion
from ._directory import Directory
from ._explanation import Explanation
from ._frames import Frame, as_rows, as_trees, complete, from_arrow, kind, to_arrow, underscored
from ._rows import Rows, numbers_of
from ._stored import Game, Stored, files, labelled, write


class Model(Stored):
    """A model, from :func:`load`, from :func:`from_model` or from ``model_`` of a fitted estimator.

    A pickle contains the bytes of the model. The first call that needs the model starts a psi process, which computes the results.
    The processes of the four models used last run until the Python process ends, or until :meth:`close`.

    Parameters
    ----------
    data : bytes
        Content of a model file.

    Examples
    --------
    >>> import psishap
    >>> table = psishap.sample("synth1", rows=300)
    >>> estimator = psishap.PsiRegressor(effort="fast", steps=50, n_bags=0, random_state=0, verbose=False)
    >>> model = estimator.fit(table.drop(columns="y"), table["y"]).model_
    >>> model.columns[:2], model.task
    (['x1', 'x2'], 'regression')
    >>> sorted(model.evaluate(table, table["y"]))[:3]
    ['coverage_50', 'coverage_90', 'mae']
    """

    def __reduce__(self) -> tuple[type[Model], tuple[bytes]]:
        return type(self), (self._data,)

    def __repr__(self) -> str:
        m = self.manifest
        return f"<psishap.Model of {m['target']!r}: {m['task']}, {len(m['columns'])} columns, {self.digest[:19]}…>"

    def _repr_html_(self) -> str:
        return _html.model(self.manifest)

    def recalibrate(self, X: Frame, y: Any) -> Model:
        """Return the model with base and scale adjusted to rows with known outcomes y, without training.

        One factor multiplies all attributions, and they still add up to the prediction.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            Rows, at least 30.
        y : array of shape (rows,)
            Their outcomes.

        Returns
        -------
        Model
            ``manifest["recalibrations"][-1]`` contains the errors on these rows before and after, the latter out of fold.
        """
        rows = labelled(self, self._rows(X), y)
        with files(self, rows) as (path, data, _):
            out = data + ".psi"
            _psi.run("recalibrate", path, data, "-o", out)
            return Model(pathlib.Path(out).read_bytes())

    def evaluate(self, X: Frame, y: Any) -> dict[str, float]:
        """Measure the predictions on rows with known outcomes. Use rows that the model was not trained on.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            Rows.
        y : array of shape (rows,)
            Their outcomes. Rows without an outcome are skipped.

        Returns
        -------
        dict of str to float
            Metrics: ``rmse``, ``mae``, ``r2``, ``nll``, ``coverage_50`` and ``coverage_90`` of a number; ``auroc``,
            ``average_precision``, ``log_loss``, ``brier``, ``ece`` and ``accuracy`` of two classes; ``accuracy``, ``log_loss`` and
            ``macro_auroc`` of more. A metric that is undefined is absent.
        """
        with files(self, labelled(self, self._rows(X), y)) as (path, data, _):
            metrics: dict[str, float] = _psi.run("evaluate", path, data)["metrics"]
            return metrics

    def audit(self, X: Frame, y: Any = None, rows: int = 200) -> dict[str, Any]:
        """Compare attributions with Shapley values that are computed from predictions for subsets of columns alone.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            Rows that the model was not trained on.
        y : array of shape (rows,), optional
            Their outcomes. With them, ``loss_importance`` says how much each column lowers the error.
        rows : int, default 200
            Number of rows to draw from X.

        Returns
        -------
        dict
            Document of ``psi audit``. ``relative_rmse`` is the error of attributions relative to their size.
        """
        table = self._rows(X)
        with files(self, table if y is None else labelled(self, table, y)) as (path, data, _):
            return _psi.run("audit", path, data, "--rows", str(rows))

    def ask(self, X: Frame, reference: Frame | None = None, most: int = 3) -> Any:
        """Rank the missing columns of each row by the value of knowing them.

        Parameters
        ----------
        X : data frame, Series or dict
            Rows. Columns that X does not have are missing.
        reference : data frame, optional
            Similar rows, such as training rows, from which psi draws possible values of missing cells. The default is the rows that
            the model keeps, if it was trained to keep some.
        most : int, default 3
            Maximum number of columns for each row.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            In the format of X. The columns are ``row``, ``column``, ``variance`` (of the outcome), ``reduction`` (of the variance, on
            average, if the value were known) and ``share`` (of both). For classes, ``output`` is the class.
        """
        X = as_rows(X)
        table = self._table(X)
        unknown = [f"--unknown={_psi.quoted(name)}" for name in self.columns if name not in table.column_names]
        with files(self, table) as (path, data, _):
            if reference is not None:
                unknown += ["--reference", write(pathlib.Path(data + ".reference.arrow"), self._rows(reference))]
            answer = _psi.run("ask", path, data, "--most", str(most), *unknown)
        questions = pa.Table.from_pylist(answer["questions"])
        return questions if kind(X) == "numpy" else from_arrow(questions, X)

    def export_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one ONNX graph, from cells to prediction and attributions, which runs without psi.

        Parameters
        ----------
        path : path
            Name of the file, ending in ``.onnx``.
        """
        with Directory() as directory:
            file, out = directory / "model.psi", directory / "model.onnx"
            self.save(file)
            _psi.run("export", "onnx", str(file), "-o", str(out))
            pathlib.Path(path).write_bytes(out.read_bytes())

    @property
    def history(self) -> dict[str, list[Any]]:
        """Validations during training: ``member``, ``phase``, ``step``, ``loss`` and ``score`` of each; empty if there are none."""
        with zipfile.ZipFile(io.BytesIO(self._data)) as file:
            if "history.csv" not in file.namelist():
                return {}
            names, *lines = csv.reader(io.StringIO(file.read("history.csv").decode()))
        types: dict[str, Any] = {"member": int, "phase": str, "step": int}
        return {n: [types.get(n, float)(cell or "nan") for cell in cells] for n, cells in zip(names, zip(*lines))}

    @property
    def stopped_by(self) -> str:
        """Why training ended: ``steps``, ``validation`` (its error no longer fell), ``time_budget`` or ``interrupt``."""
        with zipfile.ZipFile(io.BytesIO(self._data)) as file:
            content = json.loads(file.read("manifest.json"))["content"]
        made = content["provenance"]
        if round(100 * made.get("share", 1)) < 100:
            return "time_budget" if made["time_budget"] else "interrupt"
        history = self.history
        lines = zip(history.get("member", ()), history.get("phase", ()), history.get("step", ()))
        last = {member: step for member, phase, step in lines if phase == "fit"}
        return "validation" if any(step < content["settings"]["steps"] for step in last.values()) else "steps"

    def __call__(self, X: Frame) -> npt.NDArray[np.float64]:
        """Return the numbers that attributions add up to, so that explainers of shap can call the model.

        They are on the ``scale`` of explanations: log odds for two classes, scores for more.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows.

        Returns
        -------
        ndarray of shape (rows,) or (rows, classes)
        """
        return self.explain(X).prediction

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that ``psi`` and :func:`load` can read.

        Parameters
        ----------
        path : path
            Name of the file, such as ``bike.psi``.
        """
        pathlib.Path(path).write_bytes(self._data)

    def close(self) -> None:
        """Stop the process of this model. The next call that needs it starts another."""
        self._child.close()

    def _named(self, X: Frame) -> pa.Table:
        """Convert X to Arrow. Columns of an array get the names of the model's columns, or of all columns of the training table."""
        wide = kind(X) == "numpy" and np.shape(X)[1:] == (len(self._trained_on),)
        return to_arrow(X, self._trained_on if wide else self.columns, trees=self._imported is not None)

    def _table(self, X: Frame) -> pa.Table:
        """Return the columns of X that the model uses."""
        table, kinds = self._named(X), self._tree_kinds
        if kinds is not None:
            table = underscored(table, self.columns)
        found = set(table.column_names)
        table = table.select([name for name in self.columns if name in found])
        return table if kinds is None else as_trees(table, kinds)

    def _unknown(self, unknown: str | Sequence[str] | None) -> list[str]:
        """Return the names of columns that a caller marks as unknown."""
        names = _names(unknown)
        for name in names:
            if name not in self.columns:
                near = suggestion(name, self.columns)
                raise _psi.PsiError(f"unknown names a column that the model does not use{near}", "check the spelling", column=name)
        return names

    @functools.cached_property
    def _numeric(self) -> bool:
        """Whether all columns are plain numbers, which need no Arrow."""
        return all(c["kind"] == "number" for c in self.manifest["columns"]) and not self.manifest["missing"]

    def _input(self, X: Frame, unknown: Sequence[str] = ()) -> Rows:
        """Return the columns of X that the model uses, for a request. All but unknown ones must be there."""
        numbers = numbers_of(X, self.columns, self._trained_on) if self._numeric else None
        return Rows(self.columns, self._rows(X, unknown) if numbers is None else numbers)

    def _rows(self, X: Frame, unknown: Sequence[str] = ()) -> pa.Table:
        """Return the columns of X that the model uses. All but unknown ones must be there."""
        return complete(self._table(X), X, self.columns, unknown)

    def predict_table(self, X: Frame, unknown: str | Sequence[str] | None = None) -> pa.Table:
        """Predict each row as a table with the columns of ``psi predict``: prediction, standard deviation, probabilities.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        pyarrow.Table
        """
        found = self._predicted(X, unknown)
        rows, classes = len(next(iter(found.values()))), self.classes
        columns: dict[str, Any] = {"row": np.arange(rows, dtype=np.float64)}
        if not classes:
            columns.update(found)
        elif len(classes) == 2:
            names = [name for name in ("probability", "score", "score_std") if name in found]
            columns.update(prediction=self._labels(found), **{name: found[name] for name in names})
        else:
            each = found["probability"].reshape(rows, -1)
            columns.update(prediction=self._labels(found), **{f"probability_{c}": each[:, k].copy() for k, c in enumerate(classes)})
        return pa.table(columns)

    def _predicted(self, X: Frame, unknown: str | Sequence[str] | None) -> dict[str, Floats]:
        """Predict rows, as arrays: numbers with their deviations and ranges, or labels with their probabilities and scores."""
        names = self._unknown(unknown)
        return self._child.arrays(self._input(X, names), asking(predict=True, unknown=names))

    def _labels(self, found: dict[str, Floats]) -> npt.NDArray[np.object_]:
        return np.array(self.classes, object)[found["label"].astype(np.intp)]

    def predict(self, X: Frame, unknown: str | Sequence[str] | None = None) -> npt.NDArray[Any]:
        """Predict the expected value of each row, or the label of its most probable class as a string.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        ndarray of shape (rows,)
        """
        found = self._predicted(X, unknown)
        return self._labels(found) if self.classes else found["prediction"]

    def predict_proba(self, X: Frame, unknown: str | Sequence[str] | None = None) -> npt.NDArray[np.float64]:
        """Predict class probabilities, in the order of ``classes``.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        ndarray of shape (rows, classes)
        """
        if not self.classes:
            raise _psi.PsiError("the model predicts a number, not classes", "call predict or predict_interval")
        found = self._predicted(X, unknown)["probability"]
        return np.column_stack([1 - found, found]) if len(self.classes) == 2 else found.reshape(-1, len(self.classes))

    def predict_interval(self, X: Frame, level: float = 0.9, unknown: str | Sequence[str] | None = None) -> npt.NDArray[np.float64]:
        """Predict intervals: lower and upper bounds that contain the target with the probability ``level``.

        At 0.9, intervals contain 90 % of rows like the validation rows, whatever the distribution of errors. Other levels are scaled
        from this one as for a normal distribution.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows. Columns are matched by name. A Series or a dict is one row.
        level : float, default 0.9
            Probability, between 0 and 1.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.

        Returns
        -------
        ndarray of shape (rows, 2)
        """
        if self.classes:
            raise _psi.PsiError("the model predicts classes, which have no intervals", "call predict_proba")
        if not 0 < level < 1:
            raise ValueError(f"level is {level}: it must be between 0 and 1")
        found = self._predicted(X, unknown)
        if "range_lower" not in found:
            raise _psi.PsiError("the trees were imported without rows that measure their errors", "pass rows with the target to from_model")
        lower, upper = found["range_lower"], found["range_upper"]  # 90 % intervals
        normal = statistics.NormalDist()
        z, z90 = normal.inv_cdf((1 + level) / 2), normal.inv_cdf(0.95)
        if self.manifest["target_scale"] != "identity":  # trained on a log scale
            centre, std = np.log(upper * lower) / 2, np.log(upper / lower) / (2 * z90)
            logs: npt.NDArray[np.float64] = np.column_stack([centre - z * std, centre + z * std])
            return np.exp(logs)
        std = found["range_std"]
        bounds: npt.NDArray[np.float64] = np.column_stack([upper - (z90 + z) * std, upper - (z90 - z) * std])
        return np.maximum(bounds, 0) if self.manifest.get("non_negative") else bounds

    def explain(
        self,
        X: Frame,
        unknown: str | Sequence[str] | None = None,
        z: float = 1.96,
        output: str | None = None,
        game: GameName | None = None,
        reference: Any = None,
    ) -> Explanation:
        """Explain the predictions for the rows of X: an attribution for each column, as a distribution.

        Parameters
        ----------
        X : data frame, array, sparse matrix, Series or dict
            Rows to explain. Columns are matched by name. A Series or a dict is one row.
        unknown : str or list of str, optional
            Columns to treat as missing. X need not contain them.
        z : float, default 1.96
            Intervals have the probability of ∓ ``z`` standard deviations of a normal distribution: 1.96 is 95 %.
        output : str, optional
            Class to explain, of more than two. The default is all classes.
        game : {"observational", "path-dependent", "missing-branch", "baseline", "interventional"}, optional
            What a prediction is when columns are absent. The default is the model's own (``game`` of the model), or ``interventional``
            with a ``reference``. With ``baseline``, absent columns have the values of the ``reference``, one row. With
            ``interventional``, predictions are averaged over its rows.
        reference : data frame, Series or dict, optional
            Rows for ``game``, at most 1,000. Each costs about as much time as a row of X.

        Returns
        -------
        Explanation
        """
        unknown = self._unknown(unknown)
        rows = self._input(X, unknown)
        chosen = self._game(game, reference)
        found = self._explained(rows, chosen, unknown=unknown, output=output)
        return Explanation._of(found, self, X, rows, unknown=unknown, output=output, z=z, game=chosen)

    def _game(self, game: str | None, reference: Any) -> Game | None:
        """Return the chosen game; None if it is the model's own."""
        if game is not None:
            check("game", game, GameName)
        if reference is None:
            return None if game in (None, self.game) else Game(str(game), None)
        return Game(game or "interventional", self._rows(_frame(reference)))

    def explain_batches(
        self, batches: Iterable[pa.RecordBatch], unknown: str | Sequence[str] | None = None, layout: Layout = "wide"
    ) -> Iterator[pa.Table]:
        """Explain rows in batches, a few thousand at a time, for tables that do not fit into memory.

        Parameters
        ----------
        batches : iterable of data frames or record batches
            Rows to explain.
        unknown : str or list of str, optional
            Columns to treat as missing. Batches need not contain them.
        layout : {"wide", "long"}, default "wide"
            One line for each row, or one for each row and column.

        Returns
        -------
        iterator of pyarrow.Table
            Tables with the columns of ``psi explain``. ``row`` numbers the rows through all batches.
        """
        check("layout", layout, Layout)
        names = self._unknown(unknown)
        rows = (batch for given in batches for batch in self._rows(given, names).to_batches())
        return self._child.stream(asking(unknown=names, layout=layout), rows)


def _names(unknown: str | Sequence[str] | None) -> list[str]:
    return [unknown] if isinstance(unknown, str) else list(unknown or ())


def _frame(reference: Any) -> Frame:
    """Return reference rows as a table, also if they are one row: a pandas Series, a dict or an array of one dimension."""
    reference = as_rows(reference)
    return np.reshape(reference, (1, -1)) if kind(reference) == "numpy" and np.ndim(reference) == 1 else reference


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file written by ``psi train``, ``psi import`` or :meth:`Model.save`.

    Parameters
    ----------
    path : path
        Name of the file.

    Returns
    -------
    Model

    Examples
    --------
    >>> import psishap
    >>> psishap.load("bike.psi").columns  # doctest: +SKIP
    ['season', 'yr', 'mnth', 'hr', ...]
    """
    model = Model(pathlib.Path(path).read_bytes())
    _ = model.manifest  # fail now if the file is invalid
    return model
