"""Former names, which work with a warning for one release."""

from __future__ import annotations

import warnings


def warn(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn the caller of the caller that a name has changed."""
    warnings.warn(f"{old} is now {new}; the old name will be removed in the next release", FutureWarning, stacklevel=stacklevel)
