"""Which code made a result: versions of packages, the commit of bench/, and a digest of psi's training code."""

import hashlib
import io
import re
import subprocess
import tarfile
from functools import cache
from pathlib import Path, PurePosixPath

from peers import Peer

HERE = Path(__file__).parent
ROOT = HERE.parent
CHANGED = " and changes"

MODULE = "github.com/psi-shapley/psi"
# Training is what these packages and all that they import do, and these files of the package psi, which prepare rows,
# choose settings and calibrate. Files of the package that only explain or write models do not count.
TRAINING = ["internal/train", "internal/dataset"]
TRAINING_FILES = [
    "bags.go", "calibrate.go", "inputs.go", "scale.go", "settings.go", "train.go", "train_data.go",
]  # fmt: skip
# Reading and writing files, and the wording of messages, change no model.
NOT_TRAINING = {"table", "internal/prose"}
NATIVE = "native"  # the backend that uses no tensor engine
ENGINES = {"internal/engine", "internal/network"}


def package_version(peer: Peer) -> str:
    """As the list of packages pins it, from which the environment is made."""
    return pinned(peer.requirements)[peer.package]


@cache
def pinned(requirements: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", (HERE / requirements).read_text(), re.MULTILINE))


@cache
def revision() -> str:
    """The commit of the code that fits peers, in the form in which psi reports its own; "" outside a git checkout."""
    git = ["git", "-C", str(HERE)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode != 0:
        return ""
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "*.py", "requirements*.txt"]).returncode
    return head.stdout.strip() + (CHANGED if changed else "")


@cache
def training_code(commit: str, backend: str) -> str | None:
    """The digest of psi's training code for a backend at a commit. None if the history does not have it, or if files
    differed from it: what they were then, nobody knows now."""
    if commit.endswith(CHANGED):
        return None
    done = subprocess.run(["git", "-C", str(ROOT), "archive", "--format=tar", commit], capture_output=True, check=False)
    if done.returncode != 0:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        return digest(
            {
                member.name: extracted.read().decode()
                for member in archive
                if is_source(member.name) and (extracted := archive.extractfile(member))
            },
            backend,
        )


def training_code_of(program: Path, commit: str, backend: str) -> str | None:
    """The digest for a program that has just trained. If it was built from changed files, it is that of the files on disk,
    which must then be older than the program."""
    if not commit.endswith(CHANGED):
        return training_code(commit, backend)
    newest = max((ROOT / name).stat().st_mtime for name in counted(sources_on_disk(), backend))
    if program.stat().st_mtime < newest:
        raise RuntimeError(f"{program} is older than the training code: run make")
    return training_code_on_disk(backend)


@cache
def training_code_on_disk(backend: str) -> str:
    return digest(sources_on_disk(), backend)


def sources_on_disk() -> dict[str, str]:
    listed = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*.s"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: (ROOT / name).read_text() for name in names if is_source(name) and (ROOT / name).exists()}


def is_source(name: str) -> bool:
    return name.endswith((".go", ".s")) and not name.endswith("_test.go")


def digest(sources: dict[str, str], backend: str) -> str:
    """Of the code alone: comments and the form of its lines do not count, but lines such as //go:build do."""
    text = "\n".join(f"{name}\n{code(sources[name])}" for name in counted(sources, backend))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def counted(sources: dict[str, str], backend: str) -> list[str]:
    packages = training_packages(sources, backend)
    return [n for n in sorted(sources) if n in TRAINING_FILES or str(PurePosixPath(n).parent) in packages]


def training_packages(sources: dict[str, str], backend: str) -> set[str]:
    """The packages that training runs through: those of TRAINING and all that they import of this module."""
    left_out = NOT_TRAINING | (ENGINES if backend == NATIVE else set())
    imports: dict[str, set[str]] = {}
    for name, text in sources.items():
        found = re.findall(rf'"{re.escape(MODULE)}/([^"]+)"', text)
        imports.setdefault(str(PurePosixPath(name).parent), set()).update(found)
    reached: set[str] = set()
    ahead = set(TRAINING)
    while ahead:
        reached |= ahead
        ahead = {i for package in ahead for i in imports.get(package, set())} - reached - left_out
    return reached


TOKENS = re.compile(
    r"""(?P<kept>`[^`]*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?m:^//go:[^\n]*))|//[^\n]*|/\*.*?\*/""", re.DOTALL
)


def code(text: str) -> str:
    bare = TOKENS.sub(lambda found: found["kept"] or " ", text)
    return "\n".join(line for line in (" ".join(line.split()) for line in bare.splitlines()) if line)
