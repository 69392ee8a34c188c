"""Explanations: the attributions of each row, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import _html, _plots
from ._cells import Floats, floats, missing, numeric
from ._frames import from_arrow, kind
from ._law import Law
from ._reasons import Reason, digits, reasons
from ._stored import Game, Stored, explain

if TYPE_CHECKING:
    import pandas
    import shap

Bools = npt.NDArray[np.bool_]

_SCALES = {"binary": "logit", "multiclass": "score"}


class Explanation:
    """Attributions of rows, with their uncertainty. :meth:`psishap.Model.explain` returns it.

    The features that have attributions are called players: columns, or groups of columns. In every row, ``base`` plus the sum of
    ``mean`` over all players is the ``prediction``. If the cell of a player is missing, its mean, std and model_std are 0.

    Attributes
    ----------
    outputs : list of str
        Name of the target for a number, the positive class for two classes, or all classes if there are more.
    players : list of str
        Names of the columns, or groups of columns, that have attributions.
    mean : array of float, shape (rows, outputs, players)
        Attributions.
    std : array of float, shape (rows, outputs, players)
        Spread, a standard deviation: how much contributions of the column vary among rows like this one. NaN if it is unknown: for
        trees of :func:`from_model`.
    model_std : array of float, shape (rows, outputs, players), or None
        Doubt (epistemic uncertainty), a standard deviation: how far another sample of training rows would have moved the mean. None if
        it is unknown: for trees of :func:`from_model` and for models without bags, such as models with ``head="learned"``.
    bags : int
        Number of networks, trained on resampled rows, that estimate the doubt; 0 if it is unknown.
    prediction, prediction_std, base : array of float, shape (rows, outputs)
        Prediction, its standard deviation and the base value, on ``scale``. ``Model.predict`` returns the prediction in the units of
        the target. It returns 0 instead of a negative number if no target of the training table was negative. ``prediction_std`` is
        NaN if it is unknown: for trees that were imported without rows, and for their classes.
    probability : array of float, shape (rows, outputs), or None
        Probability of each class; None if the model predicts a number.
    scale : str
        Scale of predictions and attributions. For a number: ``identity`` (units of the target), ``log-mean`` (log of its mean) or ``log``
        (mean of its log). For classes: ``logit`` (log odds of the positive class), ``score`` (of a class, before softmax) or ``share``
        (the probability itself, for forests of :func:`from_model`).
    head : str
        ``exact`` or ``learned``, ``trees`` of another package, or ``mixture`` of several models.
    game : str
        What a prediction is when columns are absent; ``mean`` contains the Shapley values of this game. See :meth:`Model.explain`.
    exact : bool
        Whether ``mean`` contains the Shapley values of the model, up to rounding.
    z : float
        Intervals have the probability of ∓ z standard deviations of a normal distribution: 1.96 is 95 %.
    data
        The explained rows, as passed in.
    """

    def __init__(
        self,
        *,
        models: Sequence[Stored],
        rows: pa.Table,
        data: Any,
        outputs: Sequence[str],
        players: Sequence[str],
        scale: str,
        base: Floats,
        prediction: Floats,
        prediction_std: Floats,
        probability: Floats | None,
        mean: Floats,
        std: Floats,
        model_std: Floats | None = None,
        bags: int = 0,
        unknown: Sequence[str] = (),
        row: npt.NDArray[np.int64] | None = None,
        z: float = 1.96,
        game: Game | None = None,
    ):
        self._models = tuple(models)  # one, or one for each output
        self._rows = rows
        self.data = data
        self.outputs, self.players, self.scale = list(outputs), list(players), scale
        self.base, self.prediction, self.prediction_std, self.probability = base, prediction, prediction_std, probability
        self.mean, self.std, self.model_std, self.bags = mean, std, model_std, bags
        self.unknown = list(unknown)
        self.row = np.arange(len(mean)) if row is None else row
        self.z = z
        self._game = game  # None if it is the model's own
        self._page: str | None = None

    @classmethod
    def _of(
        cls,
        answer: pa.Table,
        model: Stored,
        X: Any,
        rows: pa.Table,
        *,
        unknown: Sequence[str] = (),
        output: str | None = None,
        z: float = 1.96,
        game: Game | None = None,
    ) -> Explanation:
        """Create an explanation from a wide table of psi explain and the rows of X it explains."""
        players, names = model.players, answer.column_names
        outputs = [output] if output is not None and len(model.classes or ()) > 2 else model._outputs
        lines = answer.num_rows // len(outputs)
        start = names.index("base") + 1  # the players follow, whatever their names

        def numbers(at: int) -> Floats:
            return floats(answer.column(at)).reshape(lines, len(outputs))

        each = (len(names) - start) // len(players)  # mean, std and, if the doubt is known, model_std
        arrays = [np.empty((lines, len(outputs), len(players))) for _ in range(each)]
        for at in range(each * len(players)):
            arrays[at % each][:, :, at // each] = numbers(start + at)
        mean, std, model_std = *arrays[:2], arrays[2] if each == 3 else None
        return cls(
            models=[model],
            rows=rows,
            data=X.collect() if hasattr(X, "collect") else X,
            outputs=outputs,
            players=players,
            scale=model.manifest.get("target_scale") or _SCALES[model.task],
            base=numbers(start - 1),
            prediction=numbers(names.index("prediction")),
            prediction_std=numbers(names.index("prediction_std")),
            probability=numbers(names.index("probability")) if "probability" in names[:start] else None,
            mean=mean,
            std=std,
            model_std=model_std,
            bags=0 if model_std is None else model.manifest["settings"]["bags"],
            unknown=unknown,
            z=z,
            game=game,
        )

    @classmethod
    def join(cls, parts: Sequence[Explanation], outputs: Sequence[str], scale: str) -> Explanation:
        """Join explanations of the same rows by several models, one for each output.

        The doubt is known if all models have it. A model whose training was cut short may have fewer bags. Intervals of all outputs
        then use the smallest number of bags, which gives the widest intervals.
        """

        def beside(name: str) -> Floats:
            return np.concatenate([getattr(p, name) for p in parts], axis=1)

        first, known = parts[0], all(p.model_std is not None for p in parts)
        return cls(
            models=[p._models[0] for p in parts],
            rows=first._rows,
            data=first.data,
            outputs=outputs,
            players=first.players,
            scale=scale,
            base=beside("base"),
            prediction=beside("prediction"),
            prediction_std=beside("prediction_std"),
            probability=None,
            mean=beside("mean"),
            std=beside("std"),
            model_std=beside("model_std") if known else None,
            bags=min(p.bags for p in parts) if known else 0,
            unknown=first.unknown,
            row=first.row,
            z=first.z,
            game=first._game,
        )

    # Properties.

    @property
    def head(self) -> str:
        return self._models[0].manifest["head"]

    @property
    def game(self) -> str:
        return self._models[0].game if self._game is None else self._game.name

    @property
    def exact(self) -> bool:
        return self.head != "learned"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of rows, outputs and players."""
        return self.mean.shape

    @property
    def interval(self) -> str:
        """Uncertainty that ``lower``, ``upper`` and ``p_positive`` use: ``doubt``, ``spread`` if the doubt is unknown, or ``none``.

        It is ``none`` for trees of another package, whose bounds and ``p_positive`` are NaN.
        """
        if self.model_std is not None:
            return "doubt"
        return "none" if self.std.size and np.isnan(self.std).all() else "spread"

    @property
    def lower(self) -> Floats:
        """Lower bound of the interval around each mean.

        With doubt it is mean − t·model_std, with spread mean − z·std. t is the quantile of Student's t distribution with bags − 1 degrees
        of freedom for the probability of z.
        """
        return self.mean - self._law.reach(self.z) * self._deviations

    @property
    def upper(self) -> Floats:
        """Upper bound of the interval around each mean, as far from it as ``lower``."""
        return self.mean + self._law.reach(self.z) * self._deviations

    @property
    def spread_lower(self) -> Floats:
        """Lower bound by spread: mean − z·std, whatever ``interval`` is."""
        return self.mean - self.z * self.std

    @property
    def spread_upper(self) -> Floats:
        """Upper bound by spread: mean + z·std, whatever ``interval`` is."""
        return self.mean + self.z * self.std

    @property
    def p_positive(self) -> Floats:
        """Probability that an attribution is above 0; NaN where the cell is missing, and everywhere if ``interval`` is ``none``.

        With doubt it is T(mean/model_std), where T is Student's t distribution with bags − 1 degrees of freedom. With spread it is
        Φ(mean/std).
        """
        std = self._deviations
        if self.interval == "none":
            return np.full_like(std, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = self._law.above(self.mean / std)
        return np.where(std > 0, p, np.where(self.observed[:, None], (1 + np.sign(self.mean)) / 2, np.nan))

    @property
    def _law(self) -> Law:
        return Law(self.bags)

    @property
    def _deviations(self) -> Floats:
        """Standard deviations for intervals: doubt, or spread if the doubt is unknown."""
        return self.std if self.model_std is None else self.model_std

    @property
    def observed(self) -> Bools:
        """Whether the cell of a player is present, of shape (rows, players). If not, mean and standard deviations are 0.

        A missing cell is a value for trees of another package: for them it is present unless the column is ``unknown``.
        """
        if self.interval == "none":
            return np.tile([name not in self.unknown for name in self.players], (len(self), 1))
        return ((self.mean != 0) | (self.std != 0) | (self._deviations != 0)).any(axis=1)

    @property
    def values(self) -> npt.NDArray[np.object_]:
        """Cells of the explained rows, of shape (rows, players); None for missing cells and for groups of columns."""
        cells = np.full((len(self), len(self.players)), None, dtype=object)
        for d, name in enumerate(self.players):
            if name in self._rows.column_names:
                cells[:, d] = [None if missing(v) else v for v in self._rows.column(name).to_pylist()]
        return cells

    def __len__(self) -> int:
        return len(self.mean)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Explanation:
        """Select rows by an index, a slice, a mask or a list of indices; after a comma, select an output by name or number."""
        rows, output = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(output, str):
            output = self._output(output)
        if isinstance(output, (int, np.integer)):
            output = slice(output, output + 1) if output >= 0 else slice(output, output + 1 or None)
        places = np.arange(len(self))[rows]
        places = np.atleast_1d(places)
        cut = dict(
            models=self._models if len(self._models) == 1 else self._models[output],
            rows=self._rows.take(pa.array(places)),
            data=_take(self.data, self._rows, places),
            outputs=self.outputs[output],
            base=self.base[places][:, output],
            prediction=self.prediction[places][:, output],
            prediction_std=self.prediction_std[places][:, output],
            probability=None if self.probability is None else self.probability[places][:, output],
            mean=self.mean[places][:, output],
            std=self.std[places][:, output],
            model_std=None if self.model_std is None else self.model_std[places][:, output],
            row=self.row[places],
        )
        return Explanation(players=self.players, scale=self.scale, bags=self.bags, unknown=self.unknown, z=self.z, game=self._game, **cut)

    def _output(self, output: str | None) -> int:
        if output is None:
            return 0
        if output not in self.outputs:
            raise ValueError(f"unknown output {output!r}: the outputs are {self.outputs}")
        return self.outputs.index(output)

    # Tables.

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with one line per row and output, and the columns of ``psi explain -o x.arrow``."""
        rows, outputs, _ = self.shape
        columns: dict[str, Any] = {"row": np.repeat(self.row, outputs)}
        if outputs > 1:
            columns["output"] = np.tile(np.array(self.outputs, dtype=object), rows)
        columns |= {"prediction": self.prediction.ravel(), "prediction_std": self.prediction_std.ravel()}
        if self.probability is not None:
            columns["probability"] = self.probability.ravel()
        columns["base"] = self.base.ravel()
        for d, name in enumerate(_mean_names(self.players)):
            columns[name] = self.mean[:, :, d].ravel()
            columns[f"{self.players[d]}__std"] = self.std[:, :, d].ravel()
            if self.model_std is not None:
                columns[f"{self.players[d]}__model_std"] = self.model_std[:, :, d].ravel()
        return pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})

    @property
    def frame(self) -> Any:
        """The table of :meth:`to_arrow`, in the format of the explained rows.

        The format is pandas (with its index), polars, pyarrow or numpy.
        """
        return self.to_pandas() if kind(self.data) == "pandas" else from_arrow(self.to_arrow(), self.data)

    def to_pandas(self, layout: str = "wide") -> pandas.DataFrame:
        """Return a pandas data frame: ``wide`` has one line per row and output, ``long`` one per row, output and player.

        It keeps the index of the explained rows, if they have one.
        """
        import pandas as pd

        rows, outputs, players = self.shape
        if layout not in ("wide", "long"):
            raise ValueError(f"layout is {layout!r}: it must be wide or long")
        if layout == "wide":
            frame, times = self.to_arrow().to_pandas(), outputs
        else:
            times = outputs * players

            def each(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:  # repeat the cells of a row for each output
                return np.repeat(cells, outputs, axis=0).ravel()

            frame = pd.DataFrame(
                {
                    "row": np.repeat(self.row, times),
                    "output": np.tile(np.repeat(np.array(self.outputs, dtype=object), players), rows),
                    "player": np.tile(np.array(self.players, dtype=object), rows * outputs),
                    "value": each(self.values),
                    "observed": each(self.observed),
                    "mean": self.mean.ravel(),
                    "std": self.std.ravel(),
                    **({} if self.model_std is None else {"model_std": self.model_std.ravel()}),
                    "lower": self.lower.ravel(),
                    "upper": self.upper.ravel(),
                    "p_positive": self.p_positive.ravel(),
                }
            )
        if isinstance(self.data, (pd.DataFrame, pd.Series)):
            frame.index = self.data.index.repeat(times)
        return frame

    def importance(self) -> dict[str, float]:
        """Return the mean absolute attribution of each player over rows and outputs, largest first."""
        size = np.abs(self.mean).mean(axis=(0, 1)) if len(self) else np.zeros(len(self.players))
        return {self.players[d]: float(size[d]) for d in np.argsort(-size, kind="stable")}

    # Other representations.

    def to_shap(self) -> shap.Explanation:
        """Convert to a :class:`shap.Explanation`, for the plots of shap.

        For one output, ``values`` has the shape (rows, players) and ``base_values`` has the shape (rows). For several outputs, both have
        them as the last axis. ``error_std`` is ``std``. ``lower_bounds`` and ``upper_bounds`` are ``lower`` and ``upper``, which
        ``shap.plots.waterfall`` draws. For labels, ``data`` contains their positions in sorted order, and ``display_data`` the labels.
        Times become years, because shap draws numbers. If ``interval`` is ``none``, ``error_std`` and the bounds are None.
        """
        import shap

        one, known = len(self.outputs) == 1, self.interval != "none"

        def turned(array: Floats) -> Floats:
            return array[:, 0] if one else np.moveaxis(array, 1, 2)

        data, shown = numeric(self._rows, self.players, self.unknown)
        return shap.Explanation(
            values=turned(self.mean),
            base_values=self.base[:, 0] if one else self.base,
            data=data,
            display_data=shown,
            feature_names=list(self.players),
            output_names=None if one else list(self.outputs),
            error_std=turned(self.std) if known else None,
            lower_bounds=turned(self.lower) if known else None,
            upper_bounds=turned(self.upper) if known else None,
        )

    def interactions(self) -> Floats:
        """Return the Shapley interaction indices of all pairs, of shape (rows, outputs, players, players).

        They are symmetric, with 0 on the diagonal. They are exact for the model if ``exact`` is true. They need rows × outputs × players²
        numbers in memory: with many rows, explain a sample.
        """
        count = len(self.players)
        out = np.zeros((*self.shape, count))
        for at, model in enumerate(self._models):
            table = explain(model, self._rows, self.unknown, "--interactions", "--doubt=none", game=self._game)
            known = model._outputs
            here = [known.index(name) for name in self.outputs] if len(self._models) == 1 else [0]
            column = table.column_names.index("base") + 1 + 2 * count
            for a in range(count):
                for b in range(a + 1, count):
                    pair = floats(table.column(column)).reshape(len(self), len(known))[:, here]
                    out[:, at : at + len(here), a, b] = out[:, at : at + len(here), b, a] = pair
                    column += 1
        return out

    def reasons(self, k: int = 3, output: str | None = None) -> list[list[Reason]]:
        """Return for each row its most important players whose interval does not contain 0: at most k, largest first.

        ``str`` of a reason is the text of ``psi explain --reasons``. With several outputs, the default is the output with the highest
        prediction in each row. If ``interval`` is ``none``, all players count whose attribution is not 0.
        """
        if k < 1:
            raise ValueError(f"k is {k}: it must be at least 1")
        chosen = np.full(len(self), self._output(output)) if output is not None else self.prediction.argmax(axis=1)
        observed = self.observed
        columns = {n: self._rows.column(n) for n in self.players if n in self._rows.column_names}

        def of(i: int) -> list[Reason]:
            cells = {name: column[i].as_py() for name, column in columns.items()}
            mean, std = self.mean[i, chosen[i]], self._deviations[i, chosen[i]]
            return reasons(self.players, mean, std, observed[i], cells, k, self.z, self._law)

        return [of(i) for i in range(len(self))]

    @property
    def plot(self) -> _plots.Plots:
        """Plots of these rows, such as ``e.plot.bar()`` and ``e.plot.waterfall(row=3)``; see :class:`Plots`."""
        return _plots.Plots(self)

    def report(self, path: str, *, y: Any = None, by: str | None = None) -> str:
        """Write a report on the model and these rows as one HTML file, and return its path.

        With the true outcomes ``y``, the report also evaluates the predictions. It compares importances between the values of the column
        ``by``.
        """
        return _plots.report(self, path, y=y, by=by)

    def __repr__(self) -> str:
        rows, outputs, _ = self.shape
        of = repr(self.outputs[0]) if outputs == 1 else f"{outputs} classes"
        how = "exact Shapley values of the model" if self.exact else "approximate Shapley values of the model (head='learned')"
        if self.game != "observational":
            how += f" ({self.game})"
        sure = "no intervals" if self.interval == "none" else f"intervals by {self.interval}"
        first = f"Explanation of {of}: {rows:,} rows, {len(self.players)} features, {how}, scale {self.scale}, {sure}"
        top = list(self.importance().items())[:5]
        write = digits(np.array([size for _, size in top]))
        return first + "\nmean absolute attributions: " + ", ".join(f"{name} {write(size)}" for name, size in top)

    def _repr_html_(self) -> str:
        if self._page is None:
            self._page = _html.page(self)
        return self._page


def _mean_names(players: Sequence[str]) -> list[str]:
    """Return the column names of the means: the names of the players, made unique."""
    taken = {"file", "row", "output", "prediction", "prediction_std", "probability", "base"}
    taken |= {f"{p}__{deviation}" for p in players for deviation in ("std", "model_std")}
    names = {p: p for p in players if p not in taken}
    taken |= set(names)
    for p in players:
        name = p if p in names else f"{p}__mean"
        while p not in names and name in taken:
            name += "__mean"
        names[p] = name
        taken.add(name)
    return [names[p] for p in players]


def _take(data: Any, rows: pa.Table, places: npt.NDArray[np.intp]) -> Any:
    """Select rows in the user's format, or in Arrow if the data has only the Arrow interface."""
    of = kind(data)
    if of == "pandas":
        return data.iloc[places]
    if of == "numpy":
        return np.asarray(data)[places]
    if of == "polars":
        return data[places]
    return (data if of == "pyarrow" else rows).take(pa.array(places))
