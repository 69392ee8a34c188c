"""No module of the package needs another that needs it, not even for a type."""

import ast
import graphlib
import pathlib

import psishap


def test_no_circle():
    home = pathlib.Path(psishap.__file__).parent
    needs: dict[str, set[str]] = {}
    for path in home.glob("*.py"):
        if path.stem == "__init__":  # offers the others
            continue
        own = needs.setdefault(path.stem, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                own |= {node.module} if node.module else {name.name for name in node.names}
    assert needs["_model"] >= {"_explanation", "_stored"}
    graphlib.TopologicalSorter(needs).prepare()  # raises CycleError and names the circle
