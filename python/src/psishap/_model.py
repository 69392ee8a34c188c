"""A trained model: the bytes of a model.psi, and what is asked of it."""

from __future__ import annotations

import os
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import _psi
from ._child import Child, asking
from ._explanation import Explanation
from ._frames import Frame, kind, to_arrow
from ._stored import Stored, files, labelled


class Model(Stored):
    """A trained model. It is made by :func:`load`, or lies in ``model_`` of an estimator that was fitted.

    A pickle of it has the model's bytes inside. The psi process that answers starts with the first question. Those of the two
    models that were asked last stay until the Python process ends, or :meth:`close` is called.
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
        """The model with base rate and scale set anew on rows whose outcome y is known, without training.

        Attributions are multiplied by one factor and still add up to the prediction. ``manifest["recalibrations"][-1]`` of what is returned
        has the errors of these rows before and after, the latter out of fold. It needs 30 rows.
        """
        rows = labelled(self, self._table(X), y)
        with files(self, rows) as (path, data, _):
            out = data + ".psi"
            _psi.run("recalibrate", path, data, "-o", out)
            return Model(pathlib.Path(out).read_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, which ``psi`` and :func:`load` read."""
        pathlib.Path(path).write_bytes(self._data)

    def close(self) -> None:
        """Ends the model's process now. The next question starts another."""
        self._child.close()

    def _named(self, X: Frame) -> pa.Table:
        """X in Arrow. The columns of an array are the model's, or all that it was trained on, in their order."""
        wide = kind(X) == "numpy" and np.shape(X)[1:] == (len(self._trained_on),)
        return to_arrow(X, self._trained_on if wide else self.columns)

    def _table(self, X: Frame) -> pa.Table:
        """The columns of X that the model uses."""
        table = self._named(X)
        return table.select([name for name in self.columns if name in table.column_names])

    def predict_table(self, X: Frame, unknown: str | Sequence[str] | None = None) -> pa.Table:
        """All that ``psi predict`` says of each row: prediction, its standard deviation, probabilities.

        ``unknown`` are columns to take for missing: X may lack them.
        """
        return self._child.predict(self._table(X), unknown=_names(unknown))

    def predict(self, X: Frame) -> npt.NDArray[Any]:
        """The expected number of each row, or the label of its likeliest class, as a text."""
        cells = self.predict_table(X).column("prediction")
        return np.asarray(cells.to_pylist(), object) if self.classes else cells.to_numpy()

    def predict_proba(self, X: Frame) -> npt.NDArray[np.float64]:
        """Probabilities [rows, classes], in the order of ``classes``."""
        if not self.classes:
            raise _psi.PsiError("the model predicts a number and has no classes", "call predict or predict_interval")
        table = self.predict_table(X)
        if self.task == "binary":
            positive = table.column("probability").to_numpy()
            return np.column_stack([1 - positive, positive])
        return np.column_stack([table.column(f"probability_{c}").to_numpy() for c in self.classes])

    def predict_interval(self, X: Frame, level: float = 0.9) -> npt.NDArray[np.float64]:
        """Lower and upper bound [rows, 2] between which a row's number lies with the probability ``level``.

        At 0.9 the ranges hold 90 % of rows like the validation rows, whatever the distribution of errors. Other levels are scaled
        from it as those of a normal distribution.
        """
        if self.classes:
            raise _psi.PsiError("the model predicts classes, which have no interval", "call predict_proba")
        if not 0 < level < 1:
            raise ValueError(f"level is {level}: it must lie between 0 and 1")
        table = self.predict_table(X)
        lower, upper = (table.column(name).to_numpy() for name in ("range_lower", "range_upper"))  # of 90 %
        normal = statistics.NormalDist()
        z, z90 = normal.inv_cdf((1 + level) / 2), normal.inv_cdf(0.95)
        if self.manifest["target_scale"] != "identity":  # learned on a scale of logs
            centre, std = np.log(upper * lower) / 2, np.log(upper / lower) / (2 * z90)
            return np.exp(np.column_stack([centre - z * std, centre + z * std]))
        std = table.column("range_std").to_numpy()
        bounds = np.column_stack([upper - (z90 + z) * std, upper - (z90 - z) * std])
        return np.maximum(bounds, 0) if self.manifest.get("non_negative") else bounds

    def explain(self, X: Frame, unknown: str | Sequence[str] | None = None, z: float = 1.96, output: str | None = None) -> Explanation:
        """Predictions of the rows of X and every column's part in them, as a distribution.

        ``unknown`` are columns to take for missing: X may lack them. ``output`` is the one class to explain; without it all
        are. Intervals have the probability of ∓ ``z`` standard deviations of a normal distribution: 1.96 is 95 %.
        """
        rows, unknown = self._table(X), _names(unknown)
        answer = self._child.explain(rows, unknown=unknown, output=output)
        return Explanation._of(answer, self, X, rows, unknown=unknown, output=output, z=z)

    def explain_batches(
        self, batches: Iterable[pa.RecordBatch], unknown: str | Sequence[str] | None = None, layout: str = "wide"
    ) -> Iterator[pa.Table]:
        """Explains rows as they come, a few thousand at a time, for tables that do not fit into memory.

        What comes out are tables with the columns of ``psi explain``, wide or long, whose ``row`` counts on.
        """
        rows = (batch for given in batches for batch in self._table(given).to_batches())
        yield from self._child.stream(asking("/explain", unknown=_names(unknown), layout=layout), rows)


def _names(unknown: str | Sequence[str] | None) -> list[str]:
    return [unknown] if isinstance(unknown, str) else list(unknown or ())


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model file, which ``psi train`` or :meth:`Model.save` wrote."""
    model = Model(pathlib.Path(path).read_bytes())
    _ = model.manifest  # says now what is wrong with the file
    return model
