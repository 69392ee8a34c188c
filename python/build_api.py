"""Write docs/python-api.md from the docstrings of the installed package.

    python build_api.py ../docs/python-api.md

It describes the names in ``psishap.__all__``, and public functions of the modules for other platforms.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import psishap
from psishap import _adopt, _plots, _reasons

HEAD = """# Python API

This page is the reference of the package `psishap`. `python build_api.py` in `python/` generates it from the docstrings.
To start, read [python/README.md](../python/README.md). Complete examples are in [python/notebooks](../python/notebooks).
"""

# Classes that functions return and users do not create.
RETURNED = [_plots.Plots, _plots.Picture, _reasons.Reason, _adopt.AdoptedModel, _adopt.Fidelity]


def main() -> None:
    made = [getattr(psishap, name) for name in psishap.__all__]
    errors = [c for c in made if inspect.isclass(c) and issubclass(c, Exception)]
    classes = [c for c in made if inspect.isclass(c) and c not in errors]
    classes.sort(key=lambda c: not hasattr(c, "fit"))  # estimators first
    parts = [HEAD, *map(describe_class, [*classes, *RETURNED])]
    parts.append("## Functions\n")
    parts += [describe_function(f, "psishap.", "###") for f in made if inspect.isfunction(f)]
    parts += map(describe_class, errors)
    parts += platforms()
    pathlib.Path(sys.argv[1]).write_text("\n".join(parts), encoding="utf-8")


def platforms() -> Iterator[str]:
    """Describe the modules for other platforms without importing them, because few environments have these platforms."""
    for path in sorted(pathlib.Path(psishap.__file__).parent.glob("[!_]*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        yield f"## psishap.{path.stem}\n\n{markdown(ast.get_docstring(module, clean=False) or '')}\n"
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                signature = code(node.name, _parameters(node.args), ast.unparse(node.returns) if node.returns else None)
                yield f"### psishap.{path.stem}.{node.name}\n\n{signature}{markdown(ast.get_docstring(node) or '')}\n"


def _parameters(given: ast.arguments) -> list[str]:
    names = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(names) - len(given.defaults)), *given.defaults]
    out = [_written(a, d) for a, d in zip(names, defaults)]
    if given.vararg:
        out.append("*" + _written(given.vararg, None))
    elif given.kwonlyargs:
        out.append("*")
    out += [_written(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        out.append("**" + _written(given.kwarg, None))
    return out


def _written(argument: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return argument.arg + kind + (f" = {ast.unparse(default)}" if default else "")


def describe_class(c: type) -> str:
    called = "psishap." if c.__name__ in psishap.__all__ else ""
    text = [f"## {called}{c.__name__}\n"]
    signature = code(c.__name__, parameters(c)) if hasattr(c, "fit") or dataclasses.is_dataclass(c) else ""
    text.append(signature + markdown(inspect.getdoc(c) or "") + "\n")
    if dataclasses.is_dataclass(c):
        text.append(fields(c))
    properties = [(n, m) for n, m in members(c) if not inspect.isfunction(m) and inspect.getdoc(m)]
    if properties:
        text.append("\n".join(f"- `{n}`: {first(m)}" for n, m in properties) + "\n")
    for _name, member in members(c):
        if inspect.isfunction(member):
            text.append(describe_function(member, f"{c.__name__}.", "###", method=True))
    return "\n".join(text)


def members(c: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class from this package, its own before those of its bases."""
    seen = set()
    for base in c.__mro__:
        if not base.__module__.startswith("psishap"):
            continue
        for name, member in vars(base).items():
            member = getattr(member, "__func__", member)  # a class method
            of = getattr(member, "func", getattr(member, "fget", member))  # a property, cached or not
            if name.startswith("_") or name in seen or not inspect.isfunction(of):
                continue
            seen.add(name)
            yield name, member


def fields(c: type) -> str:
    """List the fields of a data class with their comments."""
    comments = dict(re.findall(r"^ +(\w+): .*?#: (.*)$", inspect.getsource(c), re.M))
    return (
        "\n".join(f"- `{f.name}`" + (f": {markdown(comments[f.name])}" if f.name in comments else "") for f in dataclasses.fields(c)) + "\n"
    )


def first(member: Any) -> str:
    return " ".join(markdown(inspect.getdoc(member) or "").split())


def describe_function(f: Any, prefix: str, heading: str, method: bool = False) -> str:
    result = inspect.signature(f).return_annotation
    returns = None if result is inspect.Signature.empty else str(result)
    return f"{heading} {prefix}{f.__name__}\n\n{code(f.__name__, parameters(f, method), returns)}{markdown(inspect.getdoc(f) or '')}\n"


def parameters(f: Any, method: bool = False) -> list[str]:
    out, named = [], False
    for i, p in enumerate(inspect.signature(f).parameters.values()):
        if i == 0 and method:
            continue
        if p.kind is p.KEYWORD_ONLY and not named:
            out.append("*")
        named = named or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        kind = "" if p.annotation is p.empty else f": {p.annotation}"
        out.append(stars + p.name + kind + ("" if p.default is p.empty else f" = {p.default!r}"))
    return out


def code(name: str, given: list[str], returns: str | None = None) -> str:
    """Format a signature, with one parameter per line if it is long."""
    end = f" -> {returns}" if returns else ""
    line = f"{name}({', '.join(given)}){end}"
    if len(line) > 110:
        line = name + "(\n" + "".join(f"    {p},\n" for p in given) + f"){end}"
    return f"```python\n{line}\n```\n\n"


def markdown(text: str) -> str:
    """Convert a docstring in numpydoc style to Markdown. Examples, which are at its end, become a session of Python."""
    text, found, examples = text.partition("\nExamples\n--------\n")
    if found:
        return f"{markdown(text)}\n\n**Examples**\n\n```pycon\n{examples.strip()}\n```"
    text = re.sub(r"  # doctest: \+SKIP", "", text)
    text = re.sub(r":\w+:`~?(?:psishap\.)?([^`]+)`", r"`\1`", text).replace("``", "`")
    out: list[str] = []
    lines = text.split("\n")
    listed = example = False
    for i, line in enumerate(lines):
        if re.fullmatch(r"-{3,}", line):
            continue
        code = line.startswith(">>> ") or (line.startswith("    ") and not listed)
        if code and not example:
            out.append("```python")
        if example and not code and line:
            while out[-1] == "":
                out.pop()
            out += ["```", ""]
        example = code or (example and not line)
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1]):
            listed = True
            out += [f"**{line}**", ""]
            continue
        if listed and line and not lines[i - 1] and not line.startswith(" ") and not re.match(r"\**\w+( :|$)", line):
            listed = False  # end of the list
        if listed and line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            out.append(f"- `{name}`" + (f" ({kind})" if kind else ""))
        elif listed and line:
            out.append("  " + line.strip())
        else:
            out.append(line.removeprefix(">>> ").removeprefix("    ") if code else line)
    while out and out[-1] == "":
        out.pop()
    return "\n".join([*out, "```"] if example else out)


if __name__ == "__main__":
    main()
