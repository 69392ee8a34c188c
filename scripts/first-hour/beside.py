"""Other tools on the same rows, as bench/ has them. Needs Python with bench/requirements.txt."""

import lightgbm
import numpy as np
import pandas as pd
from sklearn.linear_model import LassoCV
from sklearn.metrics import r2_score as r2
from sklearn.metrics import roc_auc_score as auroc
from sklearn.metrics import root_mean_squared_error as rmse

__all__ = ["auroc", "boosted", "frames", "lasso", "np", "r2", "rmse"]

Table = list[list[str]]


def frames(*tables: Table, target: str, drop: list[str] | None = None) -> list[tuple[pd.DataFrame, np.ndarray]]:
    """Features and target of each table: numbers, days as numbers, and categories, the same in all of them."""
    both = pd.concat([pd.DataFrame(table[1:], columns=table[0]) for table in tables], keys=range(len(tables))).drop(columns=drop or [])
    both = both.replace("", None)
    for name in both:
        numbers, days = pd.to_numeric(both[name], errors="coerce"), pd.to_datetime(both[name], format="%Y-%m-%d", errors="coerce")
        of = [numbers, (days - pd.Timestamp(0)) / pd.Timedelta(days=1), both[name].astype("category")]
        both[name] = next(column for column in of if column.notna().sum() >= 0.95 * both[name].notna().sum())
    y = both.pop(target)
    y = y.cat.codes if y.dtype == "category" else y
    return [(both.loc[k], y.loc[k].to_numpy()) for k in range(len(tables))]


def boosted(train: tuple[pd.DataFrame, np.ndarray], test: pd.DataFrame, classes: bool = False) -> np.ndarray:
    """LightGBM's predictions, or probabilities of the second class, with bench's settings and a tenth of the rows to stop by."""
    x, y = train
    held = np.random.default_rng(0).permutation(len(y)) < len(y) // 10
    kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    model = kind(n_estimators=3000, learning_rate=0.05, num_leaves=31, random_state=1, verbose=-1)
    model.fit(x[~held], y[~held], eval_X=x[held], eval_y=y[held], callbacks=[lightgbm.early_stopping(50, verbose=False)])
    return model.predict_proba(test)[:, 1] if classes else model.predict(test)


def lasso(train: tuple[pd.DataFrame, np.ndarray], test: pd.DataFrame) -> np.ndarray:
    return LassoCV(cv=5).fit(*train).predict(test)
