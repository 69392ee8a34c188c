"""What modules of the package import: no circles, nothing that an installation may lack, and little before it is used."""

import ast
import graphlib
import pathlib
import re
import subprocess
import sys

import pytest

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


def imported(code: str) -> set[str]:
    """Top-level modules that a fresh Python has after it ran some code."""
    code += "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return set(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split())


def test_the_package_alone_is_light():
    """The command psi starts quickly, and so does a program that may need psishap."""
    assert not imported("import psishap, psishap._command") & {"numpy", "pyarrow", "pandas", "sklearn", "scipy", "importlib_metadata"}


def test_every_name_without_optional_packages():
    optional = ["pandas", "polars", "matplotlib", "shap", "onnxruntime", "IPython"]
    lacking = f"import sys; sys.modules.update(dict.fromkeys({optional}))"  # importing None raises ModuleNotFoundError
    assert "sklearn" in imported(f"{lacking}\nimport psishap\nfor name in psishap.__all__: getattr(psishap, name)")


@pytest.mark.parametrize("lacking", [["fcntl", "resource", "pwd", "grp", "termios"], ["msvcrt", "winreg"]], ids=["windows", "posix"])
def test_systems_lack_modules(lacking):
    """No module imports what only another system has, unless it asks for the system first."""
    system = "win32" if "fcntl" in lacking else "linux"
    home = pathlib.Path(psishap.__file__).parent
    for path in home.glob("*.py"):
        for name in needed(ast.parse(path.read_text(encoding="utf-8")), system):
            assert name not in lacking, f"{path.name} imports {name}"


def needed(node: ast.AST, system: str):
    """Top-level modules that a module imports on a system."""
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and (test := re.fullmatch(r"sys\.platform (==|!=) '(\w+)'", ast.unparse(node.test))):
        children = node.body if (test[2] == system) == (test[1] == "==") else node.orelse
    if isinstance(node, ast.Import):
        yield from (name.name.partition(".")[0] for name in node.names)
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module.partition(".")[0]
    for child in children:
        yield from needed(child, system)
