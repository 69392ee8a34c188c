"""What the tests share: a table, and a small model of it."""

import os

import numpy as np
import pandas as pd
import pytest

import psishap
from psishap import PsiRegressor

slow = pytest.mark.skipif(not os.environ.get("PSI_SLOW"), reason="takes minutes: set PSI_SLOW=1")


def table_of(rows: int, seed: int = 3) -> pd.DataFrame:
    """Numbers with gaps and categories."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
            "b": rng.normal(size=rows),
            "town": rng.choice(["Ur", "Uruk", "Nippur"], rows),
        }
    )


def target_of(table: pd.DataFrame) -> pd.Series:
    return (table["a"].fillna(0) + 2 * table["b"] + (table["town"] == "Ur")).rename("price")


@pytest.fixture(scope="session")
def fitted() -> PsiRegressor:
    table = table_of(300)
    return PsiRegressor(random_state=0, steps=60).fit(table, target_of(table))


@pytest.fixture
def model(fitted) -> psishap.Model:
    """A model whose process has not started."""
    model = psishap.Model(fitted.model_.data)
    model.close()
    return model
