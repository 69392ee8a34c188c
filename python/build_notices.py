"""Print the licences of all that is inside the program psi: Go modules, packages of the viewer, and tables.

    python build_notices.py >THIRD_PARTY_NOTICES.txt

Licences of Go modules come from the module cache, those of the viewer from the file that its build writes beside it.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]
SYSTEMS = ["linux", "darwin", "windows"]
PROCESSORS = ["amd64", "arm64"]

HEAD = """Third-party notices

psi and psishap are licensed under the Apache License 2.0; see LICENSE. The program psi also contains the software and the tables
below, under their own licences. python/build_notices.py writes this file.
"""

LEGAL = re.compile(r"(licen[sc]e|copying|notice|patents|unlicense)(-\w+)?(\.txt|\.md)?", re.I)

# FreeType-Go offers two licences, and its LICENSE names their files. psi uses it under this one.
CHOSEN = {"github.com/golang/freetype": "licenses/ftl.txt"}


def go(*arguments: str, **environment: str) -> str:
    """Return what the go command prints, for a program without cgo."""
    environment = os.environ | {"CGO_ENABLED": "0"} | environment
    return subprocess.run(["go", *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


def packages() -> dict[str, set[pathlib.Path]]:
    """Return directories of the packages in the program, by module and version. They differ between systems."""
    form = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
    found: dict[str, set[pathlib.Path]] = {}
    for system in SYSTEMS:
        for processor in PROCESSORS:
            listed = go("list", "-deps", "-tags", "grpcnotrace", "-f", form, "./cmd/psi", GOOS=system, GOARCH=processor)
            for line in filter(None, listed.splitlines()):
                module, top, directory = line.split("\t")
                below = pathlib.Path(directory).relative_to(top)
                found.setdefault(module, set()).update(pathlib.Path(top, place) for place in [below, *below.parents])
    return found


def read(file: pathlib.Path) -> str:
    """Return a text in UTF-8, or in Latin-1, which the FreeType licence uses for its copyright sign."""
    data = file.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def licences() -> Iterator[tuple[str, str]]:
    """Yield a name and a legal text for everything in the program."""
    yield "Go standard library", read(pathlib.Path(go("env", "GOROOT").strip(), "LICENSE"))
    for module, directories in sorted(packages().items()):
        files = [file for directory in sorted(directories) for file in sorted(directory.iterdir()) if LEGAL.fullmatch(file.name)]
        if chosen := CHOSEN.get(module.split()[0]):
            files.append(min(directories) / chosen)
        if not any(file.is_file() for file in files):
            sys.exit(f"{module} has no licence file in {min(directories)}: ask its authors, or use another module")
        for file in filter(pathlib.Path.is_file, files):
            yield module, read(file)
    for package in json.loads(read(ROOT / "report/viewer/licences.json")):
        yield f"{package['name']} {package['version']} (viewer of reports)", package["text"]
    for table in sorted((ROOT / "cmd/psi/tables").glob("*.txt")):
        yield f"table {table.stem} (https://creativecommons.org/licenses/by/4.0/)", read(table)


def main() -> None:
    """Print each legal text once, below the names that it holds for."""
    names: dict[str, list[str]] = {}
    for name, text in licences():
        names.setdefault("\n".join(line.rstrip() for line in text.splitlines()).strip("\n"), []).append(name)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    print(HEAD)
    for text, holders in names.items():
        print("=" * 80, *dict.fromkeys(holders), "-" * 80, text, "", sep="\n")


if __name__ == "__main__":
    main()
