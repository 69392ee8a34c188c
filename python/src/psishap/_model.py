"""A trained or imported model: the content of a model.psi file, with predictions and explanations."""

from __future__ import annotations

import os
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import _psi
from ._child import Child, asking
from ._explanation import Explanation
from ._frames import Frame, as_trees, kind, to_arrow, underscored
from ._stored import Game, Stored, explain, files, labelled


class Model(Stored):
    """A model, from :func:`load`, from :func:`from_model` or from ``model_`` of a fitted estimator.

    A pickle contains the bytes of the model. The first call that needs the model starts a psi process, which computes the results.
    The processes of the two models used last run until the Python process ends, or until :meth:`close`.
    """

    def __init__(self, data: bytes):
        super().__init__(data)
        self._child = Child.of(self._data, self.digest)

    def __reduce__(self) -> tuple[type[Model], tuple[bytes]]:
        return type(self), (self._data,)

    def __repr__(self) -> str:
        m = self.manifest
        return f"<psishap.Model of {m['target']!r}: {m['task']}, {len(m['columns'])} columns, {self.digest[:19]}…>"

    def recalibrate(self, X: Frame, y: Any) -> Model:
        """Return the model with base and scale adjusted to rows with known outcomes y, without training.

        One factor multiplies all attributions, and they still add up to the prediction. ``manifest["recalibrations"][-1]`` of the returned
        model contains the errors on these rows before and after, the latter out of fold. At least 30 rows are required.
        """
        rows = labelled(self, self._table(X), y)
        with files(self, rows) as (path, data, _):
            out = data + ".psi"
            _psi.run("recalibrate", path, data, "-o", out)
            return Model(pathlib.Path(out).read_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that ``psi`` and :func:`load` can read."""
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
        table = table.select([name for name in self.columns if name in table.column_names])
        return table if kinds is None else as_trees(table, kinds)

    def predict_table(self, X: Frame, unknown: str | Sequence[str] | None = None) -> pa.Table:
        """Predict each row as a table with the columns of ``psi predict``: prediction, standard deviation, probabilities.

        ``unknown`` names columns to treat as missing; X need not contain them.
        """
        return self._child.predict(self._table(X), unknown=_names(unknown))

    def predict(self, X: Frame) -> npt.NDArray[Any]:
        """Predict the expected value of each row, or the label of its most probable class as a string."""
        cells = self.predict_table(X).column("prediction")
        return np.asarray(cells.to_pylist(), object) if self.classes else cells.to_numpy()

    def predict_proba(self, X: Frame) -> npt.NDArray[np.float64]:
        """Predict class probabilities, of shape (rows, classes), in the order of ``classes``."""
        if not self.classes:
            raise _psi.PsiError("the model predicts a number, not classes", "call predict or predict_interval")
        table = self.predict_table(X)
        if self.task == "binary":
            positive = table.column("probability").to_numpy()
            return np.column_stack([1 - positive, positive])
        return np.column_stack([table.column(f"probability_{c}").to_numpy() for c in self.classes])

    def predict_interval(self, X: Frame, level: float = 0.9) -> npt.NDArray[np.float64]:
        """Predict intervals, of shape (rows, 2): lower and upper bounds that contain the target with the probability ``level``.

        At 0.9, intervals contain 90 % of rows like the validation rows, whatever the distribution of errors. Other levels are scaled
        from this one as for a normal distribution.
        """
        if self.classes:
            raise _psi.PsiError("the model predicts classes, which have no intervals", "call predict_proba")
        if not 0 < level < 1:
            raise ValueError(f"level is {level}: it must be between 0 and 1")
        table = self.predict_table(X)
        if "range_lower" not in table.column_names:
            raise _psi.PsiError("the trees were imported without rows that measure their errors", "pass rows with the target to from_model")
        lower, upper = (table.column(name).to_numpy() for name in ("range_lower", "range_upper"))  # 90 % intervals
        normal = statistics.NormalDist()
        z, z90 = normal.inv_cdf((1 + level) / 2), normal.inv_cdf(0.95)
        if self.manifest["target_scale"] != "identity":  # trained on a log scale
            centre, std = np.log(upper * lower) / 2, np.log(upper / lower) / (2 * z90)
            return np.exp(np.column_stack([centre - z * std, centre + z * std]))
        std = table.column("range_std").to_numpy()
        bounds = np.column_stack([upper - (z90 + z) * std, upper - (z90 - z) * std])
        return np.maximum(bounds, 0) if self.manifest.get("non_negative") else bounds

    def explain(
        self,
        X: Frame,
        unknown: str | Sequence[str] | None = None,
        z: float = 1.96,
        output: str | None = None,
        game: str | None = None,
        reference: Any = None,
    ) -> Explanation:
        """Explain the predictions for the rows of X: an attribution for each column, as a distribution.

        ``unknown`` names columns to treat as missing; X need not contain them. ``output`` is the class to explain; the default is all
        classes. Intervals have the probability of ∓ ``z`` standard deviations of a normal distribution: 1.96 is 95 %.

        ``game`` says what a prediction is when columns are absent; the default is the model's own (``game`` of the model). With
        ``baseline``, absent columns have the values of the ``reference``, one row: a frame, a pandas Series or a dict. With
        ``interventional``, the default with a ``reference``, predictions are averaged over its rows, at most 1,000. Each of these costs
        about as much time as a row of X.
        """
        rows, unknown = self._table(X), _names(unknown)
        chosen = self._game(game, reference)
        if chosen is None:
            answer = self._child.explain(rows, unknown=unknown, output=output)
        elif rows.num_rows == 0:
            raise _psi.PsiError("there are no rows", "give at least one row")
        else:
            answer = explain(self, rows, unknown, *([] if output is None else ["--output", output]), game=chosen)
        return Explanation._of(answer, self, X, rows, unknown=unknown, output=output, z=z, game=chosen)

    def _game(self, game: str | None, reference: Any) -> Game | None:
        """Return the chosen game; None if it is the model's own."""
        if reference is None:
            return None if game in (None, self.game) else Game(str(game), None)
        return Game(game or "interventional", self._table(_frame(reference)))

    def explain_batches(
        self, batches: Iterable[pa.RecordBatch], unknown: str | Sequence[str] | None = None, layout: str = "wide"
    ) -> Iterator[pa.Table]:
        """Explain rows in batches, a few thousand at a time, for tables that do not fit into memory.

        Yields tables with the columns of ``psi explain``, wide or long. ``row`` numbers the rows through all batches.
        """
        rows = (batch for given in batches for batch in self._table(given).to_batches())
        yield from self._child.stream(asking("/explain", unknown=_names(unknown), layout=layout), rows)


def _names(unknown: str | Sequence[str] | None) -> list[str]:
    return [unknown] if isinstance(unknown, str) else list(unknown or ())


def _frame(reference: Any) -> Frame:
    """Return reference rows as a table, also if they are one row: a pandas Series, a dict or an array of one dimension."""
    if isinstance(reference, Mapping) or type(reference).__name__ == "Series":
        return pa.table({str(name): pa.array([cell], from_pandas=True) for name, cell in reference.items()})
    return np.reshape(reference, (1, -1)) if kind(reference) == "numpy" and np.ndim(reference) == 1 else reference


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file written by ``psi train``, ``psi import`` or :meth:`Model.save`."""
    model = Model(pathlib.Path(path).read_bytes())
    _ = model.manifest  # fail now if the file is invalid
    return model
