"""Print the licences of all that is inside the program psi: Go modules, fonts, packages of the viewer, and tables.

    python scripts/notices/write.py >THIRD_PARTY_NOTICES.txt

Licences of Go modules come from the module cache, those of the viewer from web/node_modules, which npm install fills. All packages
that the viewer depends on are listed: some contain others, and the viewer's build sees the outer one alone.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[2]
SYSTEMS = ["linux", "darwin", "windows"]
PROCESSORS = ["amd64", "arm64"]

HEAD = """Third-party notices

psi and psishap are licensed under the Apache License 2.0; see LICENSE. The program psi also contains the software, the fonts and the
tables below, under their own licences. Modules marked "(psi-cloud)" are only in the program that also opens gs:// and azblob://.
scripts/notices/write.py writes this file.
"""

LEGAL = re.compile(r"(licen[sc]e|copying|notice|patents|unlicense)(-\w+)?(\.txt|\.md)?", re.I)

# FreeType-Go offers two licences, and its LICENSE names their files. psi uses it under this one.
CHOSEN = {"github.com/golang/freetype": "licenses/ftl.txt"}

# Families of fonts, with their modules and licences. The module of the Go fonts has another licence at its root.
FONTS = {
    "Go": ("golang.org/x/image", "font/gofont/ttfs/README"),
    "Liberation Mono": ("codeberg.org/go-fonts/liberation", "LICENSE-SIL"),
    "Liberation Sans": ("codeberg.org/go-fonts/liberation", "LICENSE-SIL"),
    "Liberation Serif": ("codeberg.org/go-fonts/liberation", "LICENSE-SIL"),
}


def go(*arguments: str, **environment: str) -> str:
    """Return what the go command prints, for a program without cgo."""
    environment = os.environ | {"CGO_ENABLED": "0"} | environment
    return subprocess.run(["go", *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


def packages(tags: str) -> dict[str, set[pathlib.Path]]:
    """Return directories of the packages in the program, by module and version. They differ between systems."""
    form = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
    found: dict[str, set[pathlib.Path]] = {}
    for system in SYSTEMS:
        for processor in PROCESSORS:
            listed = go("list", "-deps", "-tags", tags, "-f", form, "./cmd/psi", GOOS=system, GOARCH=processor)
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


def viewer_package(place: str, version: str) -> str:
    """Return name and version of a package, which must be the version that is installed."""
    installed = json.loads(read(ROOT / "web" / place / "package.json"))["version"]
    if installed != version:
        sys.exit(f"web/{place} is {installed}, and the lock file has {version}: run npm install --no-save in web")
    return f"{place.removeprefix('node_modules/')} {version}"


def licences() -> Iterator[tuple[str, str]]:
    """Yield a name and a legal text for everything in the program."""
    yield "Go standard library", read(pathlib.Path(go("env", "GOROOT").strip(), "LICENSE"))
    plain = packages("grpcnotrace")
    cloud = packages("grpcnotrace,cloud")
    for module, directories in sorted(cloud.items()):
        directories |= plain.get(module, set())
        files = [file for directory in sorted(directories) for file in sorted(directory.iterdir()) if LEGAL.fullmatch(file.name)]
        if chosen := CHOSEN.get(module.split()[0]):
            files.append(min(directories) / chosen)
        if not any(file.is_file() for file in files):
            sys.exit(f"{module} has no licence file in {min(directories)}: ask its authors, or use another module")
        for file in filter(pathlib.Path.is_file, files):
            yield module if module in plain else f"{module} (psi-cloud)", read(file)
    roots = {module.split()[0]: (module, min(directories)) for module, directories in cloud.items()}
    for family, (path, file) in FONTS.items():
        module, directory = roots[path]
        yield f"font {family} ({module})", read(directory / file)
    for place, package in sorted(json.loads(read(ROOT / "web/package-lock.json"))["packages"].items()):
        if place and not package.get("dev"):
            yield f"{viewer_package(place, package['version'])} (viewer of reports)", read(ROOT / "web" / place / "LICENSE")
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
