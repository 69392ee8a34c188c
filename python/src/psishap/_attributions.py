"""Attributions of rows as arrays: their shapes, their uncertainty, and selection along their axes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import _axes, _cells, _former
from ._axes import FEATURES, OUTPUTS, ROWS, Places
from ._cells import Floats
from ._frames import from_arrow, kind
from ._law import Law
from ._rows import Rows
from ._stored import Game, Stored

Bools = npt.NDArray[np.bool_]
Self = TypeVar("Self", bound="Attributions")
Cell = TypeVar("Cell", bound=np.generic)

_SCALES = {"binary": "logit", "multiclass": "score"}

# Former names, with what replaced them.
_FORMER = {
    "mean": "values, of shape (rows, features), or (rows, features, outputs) for several outputs",
    "std": "spread, of shape (rows, features), or (rows, features, outputs) for several outputs",
    "model_std": "doubt, of shape (rows, features), or (rows, features, outputs) for several outputs",
    "base": "base_values, of shape (rows,), or (rows, outputs) for several outputs",
    "players": "feature_names",
    "outputs": "output_names",
}


class Attributions:
    """Arrays of an explanation. :class:`Explanation` adds tables, plots and reports.

    Inside, arrays have all three axes: rows, features and outputs. Users see them without the axes that an index has dropped, and
    without the axis of outputs if there was only one to explain.
    """

    def __init__(
        self,
        *,
        models: Sequence[Stored],
        rows: Rows,
        X: Any,
        feature_names: Sequence[str],
        output_names: Sequence[str],
        scale: str,
        values: Floats,
        spread: Floats,
        doubt: Floats | None,
        base_values: Floats,
        prediction: Floats,
        prediction_std: Floats,
        probability: Floats | None,
        bags: int,
        unknown: Sequence[str],
        z: float,
        game: Game | None,
        row: npt.NDArray[np.int64] | None = None,
        dropped: Sequence[bool] | None = None,
    ):
        self._models = tuple(models)  # one, or one for each output
        self._given = rows
        self.X = X
        self._columns = list(feature_names)  # or groups of columns, as the model calls them
        self._feature_names, self.output_names, self.scale = list(feature_names), list(output_names), scale
        self._values, self._spread, self._doubt = values, spread, doubt
        self._base_values, self._prediction, self._prediction_std, self._probability = base_values, prediction, prediction_std, probability
        self.bags, self.unknown, self.z = bags, list(unknown), z
        self._game = game  # None if it is the model's own
        self._row = np.arange(len(values)) if row is None else row
        self._dropped = (False, False, len(output_names) == 1) if dropped is None else tuple(dropped)

    @classmethod
    def _of(
        cls: type[Self],
        found: Mapping[str, Floats],
        model: Stored,
        X: Any,
        rows: Rows,
        *,
        unknown: Sequence[str] = (),
        output: str | None = None,
        z: float = 1.96,
        game: Game | None = None,
    ) -> Self:
        """Create an explanation from the arrays that psi computed for the rows of X."""
        features = model.players
        outputs = [output] if output is not None and len(model.classes or ()) > 2 else model._outputs
        shape = len(rows), len(outputs)

        def numbers(name: str) -> Floats:
            return found[name].reshape(shape) if name in found else np.full(shape, np.nan)

        def attributions(name: str) -> Floats:
            return np.transpose(found[name].reshape(*shape, len(features)), (0, 2, 1))

        values = attributions("mean")
        doubt = attributions("model_std") if "model_std" in found else None
        return cls(
            models=[model],
            rows=rows,
            X=_indexable(X, rows),
            feature_names=features,
            output_names=outputs,
            scale=model.manifest.get("target_scale") or _SCALES[model.task],
            values=values,
            spread=attributions("std") if "std" in found else np.full_like(values, np.nan),
            doubt=doubt,
            base_values=numbers("base"),
            prediction=numbers("prediction"),
            prediction_std=numbers("prediction_std"),
            probability=numbers("probability") if "probability" in found else None,
            bags=0 if doubt is None else model.manifest["settings"]["bags"],
            unknown=unknown,
            z=z,
            game=game,
        )

    @classmethod
    def join(cls: type[Self], parts: Sequence[Self], output_names: Sequence[str], scale: str) -> Self:
        """Join explanations of the same rows by several models, one for each output.

        The doubt is known if all models have it. A model whose training was cut short may have fewer bags. Intervals of all outputs
        then use the smallest number of bags, which gives the widest intervals.
        """

        def beside(name: str) -> Floats:
            return np.concatenate([getattr(p, name) for p in parts], axis=-1)

        first, known = parts[0], all(p._doubt is not None for p in parts)
        return cls(
            models=[p._models[0] for p in parts],
            rows=first._given,
            X=first.X,
            feature_names=first._columns,
            output_names=output_names,
            scale=scale,
            values=beside("_values"),
            spread=beside("_spread"),
            doubt=beside("_doubt") if known else None,
            base_values=beside("_base_values"),
            prediction=beside("_prediction"),
            prediction_std=beside("_prediction_std"),
            probability=None,
            bags=min(p.bags for p in parts) if known else 0,
            unknown=first.unknown,
            z=first.z,
            game=first._game,
            row=first._row,
        )

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns, or groups of columns, that have attributions. Other names can be assigned, for tables and plots."""
        return self._feature_names

    @feature_names.setter
    def feature_names(self, names: Iterable[Any]) -> None:
        given = [str(name) for name in names]
        if len(given) != len(self._columns) or len(set(given)) != len(given):
            raise ValueError(f"give {len(self._columns)} different names, one for each feature, instead of {given}")
        self._feature_names = given

    # Arrays, without dropped axes. They are views: a change of their numbers changes the explanation.

    def _shown(self, array: npt.NDArray[Cell], *axes: int) -> npt.NDArray[Cell]:
        found: npt.NDArray[Cell] = array[tuple(0 if self._dropped[axis] else slice(None) for axis in axes)]
        return found

    @property
    def values(self) -> Floats:
        """Attributions, of shape (rows, features), or (rows, features, outputs) for several outputs."""
        return self._shown(self._values, ROWS, FEATURES, OUTPUTS)

    @property
    def spread(self) -> Floats:
        """Standard deviation of the contributions of a feature among rows like this one, like ``values``.

        It is NaN if it is unknown: for trees of :func:`from_model`.
        """
        return self._shown(self._spread, ROWS, FEATURES, OUTPUTS)

    @property
    def doubt(self) -> Floats | None:
        """Epistemic uncertainty, like ``values``: a standard deviation, how far another sample of training rows would have moved a value.

        It is None if it is unknown: for trees of :func:`from_model` and for models without bags, such as models with ``head="learned"``.
        """
        return None if self._doubt is None else self._shown(self._doubt, ROWS, FEATURES, OUTPUTS)

    @property
    def base_values(self) -> Floats:
        """Prediction if no feature is known, of shape (rows,), or (rows, outputs) for several outputs."""
        return self._shown(self._base_values, ROWS, OUTPUTS)

    @property
    def prediction(self) -> Floats:
        """Predictions on ``scale``, like ``base_values``. ``Model.predict`` returns them in the units of the target.

        It returns 0 instead of a negative number if no target of the training table was negative.
        """
        return self._shown(self._prediction, ROWS, OUTPUTS)

    @property
    def prediction_std(self) -> Floats:
        """Standard deviation of predictions, like ``base_values``.

        It is NaN if it is unknown: for trees that were imported without rows, and for their classes.
        """
        return self._shown(self._prediction_std, ROWS, OUTPUTS)

    @property
    def probability(self) -> Floats | None:
        """Probability of each explained class, like ``base_values``; None if the model predicts a number."""
        return None if self._probability is None else self._shown(self._probability, ROWS, OUTPUTS)

    @property
    def row(self) -> npt.NDArray[np.int64]:
        """Positions of the rows among all explained rows."""
        return self._shown(self._row, ROWS)

    @property
    def _rows(self) -> pa.Table:
        return self._given.table

    @property
    def data(self) -> npt.NDArray[Any]:
        """Cells of the explained rows, of shape (rows, features): floats if all columns are numbers, else objects.

        Missing cells, and the cells of a group of columns, are NaN among floats and None among objects.
        """
        return self._shown(self._data, ROWS, FEATURES)

    @functools.cached_property
    def _data(self) -> npt.NDArray[Any]:
        return _cells.array(self._rows, self._columns)

    @property
    def observed(self) -> Bools:
        """Whether the cell of a feature is present, of shape (rows, features). If not, its numbers are 0.

        A missing cell is a value for trees of another package: for them it is present unless the column is ``unknown``.
        """
        return self._shown(self._observed, ROWS, FEATURES)

    @property
    def _observed(self) -> Bools:
        if self.interval == "none":
            return np.tile([name not in self.unknown for name in self._columns], (len(self._values), 1))
        return np.asarray(np.any((self._values != 0) | (self._spread != 0) | (self._deviations != 0), axis=OUTPUTS))

    @property
    def interactions(self) -> Floats:
        """Shapley interaction indices of all pairs, of shape (rows, features, features), or with outputs as a last axis.

        They are symmetric, with 0 on the diagonal. They are exact for the model if ``exact`` is true. psi computes them when they are
        first used. They need rows × features² × outputs numbers in memory: with many rows, select some, as in ``e[:100].interactions``.
        """
        return self._shown(self._interactions, ROWS, FEATURES, FEATURES, OUTPUTS)

    @functools.cached_property
    def _interactions(self) -> Floats:
        found = []
        for model in self._models:
            features, outputs = model.players, model._outputs
            asked = model._explained(self._given, self._game, unknown=self.unknown, interactions=True, no_doubt=True)
            pairs = asked["interactions"].reshape(len(self._given), len(outputs), len(features), len(features))
            pairs = np.triu(pairs, 1)
            pairs += np.swapaxes(pairs, 2, 3)
            here = [outputs.index(name) for name in self.output_names] if len(self._models) == 1 else [0]
            places = [features.index(name) for name in self._columns]
            found.append(pairs[np.ix_(range(len(pairs)), here, places, places)])
        return np.moveaxis(np.concatenate(found, axis=1), 1, -1)

    # Uncertainty.

    @property
    def interval(self) -> str:
        """Uncertainty that ``lower``, ``upper`` and ``p_positive`` use: ``doubt``, ``spread`` if the doubt is unknown, or ``none``.

        It is ``none`` for trees of another package, whose bounds and ``p_positive`` are NaN.
        """
        if self._doubt is not None:
            return "doubt"
        return "none" if self._spread.size and np.isnan(self._spread).all() else "spread"

    @property
    def _law(self) -> Law:
        return Law(self.bags)

    @property
    def _deviations(self) -> Floats:
        """Standard deviations for intervals: doubt, or spread if the doubt is unknown."""
        return self._spread if self._doubt is None else self._doubt

    @property
    def _reach(self) -> Floats:
        """Half the width of the interval around each value."""
        return self._law.reach(self.z) * self._deviations

    @property
    def lower(self) -> Floats:
        """Lower bound of the interval around each value, like ``values``.

        With doubt it is value − t·doubt, with spread value − z·spread. t is the quantile of Student's t distribution with bags − 1 degrees
        of freedom for the probability of z.
        """
        return self._shown(self._values - self._reach, ROWS, FEATURES, OUTPUTS)

    @property
    def upper(self) -> Floats:
        """Upper bound of the interval around each value, as far from it as ``lower``."""
        return self._shown(self._values + self._reach, ROWS, FEATURES, OUTPUTS)

    @property
    def spread_lower(self) -> Floats:
        """Lower bound by spread: value − z·spread, whatever ``interval`` is."""
        return self.values - self.z * self.spread

    @property
    def spread_upper(self) -> Floats:
        """Upper bound by spread: value + z·spread, whatever ``interval`` is."""
        return self.values + self.z * self.spread

    @property
    def p_positive(self) -> Floats:
        """Probability that an attribution is above 0, like ``values``.

        It is NaN where the cell is missing, and everywhere if ``interval`` is ``none``. With doubt it is T(value/doubt), where T is
        Student's t distribution with bags − 1 degrees of freedom. With spread it is Φ(value/spread).
        """
        return self._shown(self._p_positive, ROWS, FEATURES, OUTPUTS)

    @property
    def _p_positive(self) -> Floats:
        std = self._deviations
        if self.interval == "none":
            return np.full_like(std, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = self._law.above(self._values / std)
        return np.where(std > 0, p, np.where(self._observed[:, :, None], (1 + np.sign(self._values)) / 2, np.nan))

    # What was explained.

    @property
    def head(self) -> str:
        """``exact`` or ``learned``, ``trees`` of another package, or ``mixture`` of several models."""
        return str(self._models[0].manifest["head"])

    @property
    def game(self) -> str:
        """What a prediction is when columns are absent; ``values`` are the Shapley values of this game. See :meth:`Model.explain`."""
        return self._models[0].game if self._game is None else self._game.name

    @property
    def exact(self) -> bool:
        """Whether ``values`` are the Shapley values of the model, up to rounding."""
        return self.head != "learned"

    # Selection.

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of ``values``."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self: Self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        found = np.asarray(self.values, dtype=dtype)
        if copy is False and found.dtype != self.values.dtype:
            raise ValueError(f"the values cannot become {found.dtype} without a copy: leave copy=False out")
        return found.copy() if copy else found

    def __getitem__(self: Self, key: Any) -> Self:
        """Select rows, features and outputs, as in ``e[:10, "age"]``.

        Keys are numbers, slices, masks and lists, as in numpy, and names of features and outputs. A number or a name drops its axis. Lists
        for several axes select all their combinations.
        """
        kept = [axis for axis in (ROWS, FEATURES, OUTPUTS) if not self._dropped[axis]]
        names = (None, self.feature_names, self.output_names)
        chosen, dropped = [np.arange(n) for n in self._values.shape], list(self._dropped)
        for axis, k in zip(kept, _axes.keys(key, len(kept))):
            what = ("row", "feature", "output")[axis]
            if axis == FEATURES and isinstance(k, str) and k in self.output_names and k not in self.feature_names:
                raise KeyError(f"{k!r} is an output, not a feature: write e[..., {k!r}] or e.output({k!r})")
            chosen[axis], dropped[axis] = _axes.places(k, len(chosen[axis]), names[axis], what)
        return self._select(chosen, dropped)

    def output(self: Self, name: Any) -> Self:
        """Select one output, by the name or the label of its class. The explanation loses the axis of outputs."""
        rows, features, _ = (np.arange(n) for n in self._values.shape)
        return self._select([rows, features, np.array([self._output(name)])], [*self._dropped[:2], True])

    def _output(self, name: Any) -> int:
        if str(name) not in self.output_names:
            raise ValueError(_axes.unknown(str(name), self.output_names, "output"))
        return self.output_names.index(str(name))

    def _select(self: Self, chosen: Sequence[Places], dropped: Sequence[bool]) -> Self:
        rows, features, outputs = chosen

        def cut(array: Floats) -> Floats:
            return array[np.ix_(rows, features, outputs) if array.ndim == 3 else np.ix_(rows, outputs)]

        part = type(self)(
            models=self._models if len(self._models) == 1 else [self._models[c] for c in outputs],
            rows=self._given.take(rows),
            X=_take(self.X, self._given, rows),
            feature_names=[self._columns[d] for d in features],
            output_names=[self.output_names[c] for c in outputs],
            scale=self.scale,
            values=cut(self._values),
            spread=cut(self._spread),
            doubt=None if self._doubt is None else cut(self._doubt),
            base_values=cut(self._base_values),
            prediction=cut(self._prediction),
            prediction_std=cut(self._prediction_std),
            probability=None if self._probability is None else cut(self._probability),
            bags=self.bags,
            unknown=self.unknown,
            z=self.z,
            game=self._game,
            row=self._row[rows],
            dropped=dropped,
        )
        part.feature_names = [self.feature_names[d] for d in features]
        if "_interactions" in vars(self):  # computed already
            part._interactions = self._interactions[np.ix_(rows, features, features, outputs)]
        return part

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in _FORMER:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            _former.warn(f"{type(self).__name__}.{name}", _FORMER[name])
            now = {"mean": "_values", "std": "_spread", "model_std": "_doubt", "base": "_base_values"}
            found = getattr(self, now.get(name) or _FORMER[name])
            return np.moveaxis(found, OUTPUTS, 1) if isinstance(found, np.ndarray) and found.ndim == 3 else found


def _indexable(X: Any, rows: Rows) -> Any:
    """Return explained rows in a format that can be indexed by rows: an array for lists, sparse matrices and single rows."""
    of = kind(X)
    if of == "polars":
        return X.collect() if hasattr(X, "collect") else X  # a LazyFrame has collect
    if of != "numpy" or (isinstance(X, np.ndarray) and X.ndim == 2):
        return X
    return from_arrow(rows.table, np.empty(0))


def _take(X: Any, rows: Rows, places: Places) -> Any:
    """Select rows in the user's format, or in Arrow if the data has only the Arrow interface."""
    of = kind(X)
    if of == "pandas":
        return X.iloc[places]
    if of in ("numpy", "polars"):
        return X[places]
    return (X if of == "pyarrow" else rows.table).take(pa.array(places))
