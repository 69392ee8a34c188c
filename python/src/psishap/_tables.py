"""Explanations as tables: of all numbers, wide or long, and of attributions alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ._attributions import Attributions
from ._axes import OUTPUTS
from ._frames import from_arrow, kind

if TYPE_CHECKING:
    import pandas


def wide(e: Attributions) -> pa.Table:
    """Return one line per row and output, with the columns of psi explain."""
    columns: dict[str, Any] = {"row": np.repeat(e._row, len(e.output_names))}
    if len(e.output_names) > 1:
        columns["output"] = np.tile(np.array(e.output_names, dtype=object), len(e._values))
    columns |= {"prediction": e._prediction.ravel(), "prediction_std": e._prediction_std.ravel()}
    if e._probability is not None:
        columns["probability"] = e._probability.ravel()
    columns["base"] = e._base_values.ravel()
    for d, (name, unique) in enumerate(zip(e.feature_names, value_names(e.feature_names))):
        columns[unique] = e._values[:, d].ravel()
        columns[f"{name}__std"] = e._spread[:, d].ravel()
        if e._doubt is not None:
            columns[f"{name}__model_std"] = e._doubt[:, d].ravel()
    return pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})


def long(e: Attributions) -> pandas.DataFrame:
    """Return one line per row, output and feature."""
    import pandas as pd

    rows, features, outputs = e._values.shape

    def lines(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.moveaxis(array, OUTPUTS, 1).ravel()

    def repeated(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:  # for each output
        return np.repeat(cells, outputs, axis=0).ravel()

    return pd.DataFrame(
        {
            "row": np.repeat(e._row, features * outputs),
            "output": np.tile(np.repeat(np.array(e.output_names, dtype=object), features), rows),
            "player": np.tile(np.array(e.feature_names, dtype=object), rows * outputs),
            "value": repeated(e._data),
            "observed": repeated(e._observed),
            "mean": lines(e._values),
            "std": lines(e._spread),
            **({} if e._doubt is None else {"model_std": lines(e._doubt)}),
            "lower": lines(e._values - e._reach),
            "upper": lines(e._values + e._reach),
            "p_positive": lines(e._p_positive),
        }
    )


def indexed(frame: pandas.DataFrame, X: Any) -> pandas.DataFrame:
    """Give a frame the index of the explained rows, each label as often as a row has lines."""
    if kind(X) == "pandas":
        frame.index = X.index.repeat(len(frame) // max(1, len(X)))
    return frame


def attributions(e: Attributions) -> Any:
    """Return the attributions alone, in the format of the explained rows; an array becomes a pandas frame if pandas is installed."""
    columns: dict[str, Any] = {}
    names = e.feature_names
    if len(e.output_names) > 1:
        columns["output"] = np.tile(np.array(e.output_names, dtype=object), len(e._values))
        names = ["output__mean" if name == "output" else name for name in names]
    columns |= {name: e._values[:, d].ravel() for d, name in enumerate(names)}
    of = kind(e.X)
    if of not in ("pandas", "numpy"):
        return from_arrow(pa.table(columns), e.X)
    try:
        import pandas as pd
    except ImportError:
        return e.values
    return indexed(pd.DataFrame(columns), e.X)


def value_names(features: Sequence[str]) -> list[str]:
    """Return the column names of the attributions: the names of the features, made unique."""
    taken = {"file", "row", "output", "prediction", "prediction_std", "probability", "base"}
    taken |= {f"{name}__{deviation}" for name in features for deviation in ("std", "model_std")}
    names = {name: name for name in features if name not in taken}
    taken |= set(names)
    for feature in features:
        name = feature if feature in names else f"{feature}__mean"
        while feature not in names and name in taken:
            name += "__mean"
        names[feature] = name
        taken.add(name)
    return [names[name] for name in features]
