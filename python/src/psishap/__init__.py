"""psishap: one model that predicts and explains, with uncertainty.

    from psishap import PsiRegressor

    model = PsiRegressor(random_state=0).fit(X, y)
    explanation = model.explain(X)

The psi program inside this package does all the work.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._psi import PsiError

if TYPE_CHECKING:
    from ._adopt import explain_model
    from ._estimators import PsiClassifier, PsiRegressor
    from ._explanation import Explanation
    from ._imported import from_model
    from ._model import Model, load
    from ._sample import sample

__all__ = ["Explanation", "Model", "PsiClassifier", "PsiError", "PsiRegressor", "explain_model", "from_model", "load", "sample"]

# Modules that need other packages are imported on first use, so that the command psi starts quickly.
_LATER = {
    "Explanation": "._explanation",
    "Model": "._model",
    "PsiClassifier": "._estimators",
    "PsiRegressor": "._estimators",
    "explain_model": "._adopt",
    "from_model": "._imported",
    "load": "._model",
    "sample": "._sample",
}


if TYPE_CHECKING:
    __version__: str
else:  # type checkers would take any name for one of the module

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("psishap")
        if name in _LATER:
            return getattr(importlib.import_module(_LATER[name], __name__), name)
        suggestion = importlib.import_module("._choices", __name__).suggestion(name, __all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{suggestion}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, "__version__"])
