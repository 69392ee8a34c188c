"""What the tests of both of Triton's clients share."""

import inspect

import numpy as np
import pytest

import scene

# What a server may leave out. Each must say so, soon, and not by a failure of its own.
REFUSED = {
    "update_trace_settings": {"settings": {"trace_level": ["TIMESTAMPS"]}},
    "get_trace_settings": {},
    "update_log_settings": {"settings": {"log_verbose_level": 1}},
    "get_log_settings": {},
    "get_system_shared_memory_status": {},
    "register_system_shared_memory": {"name": "region", "key": "/region", "byte_size": 64},
    "unregister_system_shared_memory": {},
    "get_cuda_shared_memory_status": {},
    "register_cuda_shared_memory": {"name": "region", "raw_handle": b"", "device_id": 0, "byte_size": 64},
    "unregister_cuda_shared_memory": {},
}


def calls(client: type) -> set[str]:
    return {name for name, member in inspect.getmembers(client, callable) if not name.startswith("_")}


def check_every_call_is_tested(client: type, tested: set[str]) -> None:
    """A new version of a client may have calls that nothing here makes."""
    assert calls(client) == tested | set(REFUSED) | {"close"}


def check_answer(result, model: str, want: scene.Reference, names: list[str]) -> None:
    for name in names:
        got = result.as_numpy(name)
        assert got.dtype == np.float32
        scene.same(got, want.tensors[name], f"{model}: {name}")
    for name in set(scene.OUTPUTS) - set(names):
        assert result.as_numpy(name) is None, f"{name} was not asked for"


def usual(want: scene.Reference) -> list[str]:
    """Outputs of a request that names none."""
    return [name for name in scene.OUTPUTS[:3] if name in want.tensors]


def missing_and_masked(asked: scene.Rows) -> tuple[scene.Rows, np.ndarray]:
    """Rows without gaps, and a mask that has those of the rows asked for, which are new cells in the former."""
    whole = scene.Rows(asked.columns, asked.kinds, [
        [("masked" if kind == "category" else 77.0) if cell is None else cell for cell, kind in zip(row, asked.kinds)] for row in asked.cells
    ])
    return whole, np.array([[cell is not None for cell in row] for row in asked.cells])


models = pytest.mark.parametrize("model", scene.MODELS)
