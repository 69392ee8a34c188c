"""Put the program psi into the wheel, and give the wheel the program's version and platform.

The environment variable PSI_PROGRAM is the path of the program. The default is src/psishap/bin/psi.
"""

import os
import pathlib
import re
import struct
import subprocess

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STAGES = {"alpha": "a", "beta": "b", "rc": "rc"}


def program() -> pathlib.Path:
    """Return the path of the program for the wheel."""
    path = pathlib.Path(__file__).parent / os.environ.get("PSI_PROGRAM", "src/psishap/bin/psi")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: run make wheel, which builds it first")
    return path


def version() -> str:
    """Return the version of the program, which Go took from the tag of the source, in Python's form."""
    build = subprocess.run(["go", "version", "-m", str(program())], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    found = re.search(r"^\tmod\tgithub\.com/psi-shapley/psi\t(\S+)", build, re.M)
    return python_version(found[1] if found else "(devel)")


def python_version(version: str) -> str:
    """Return a version of Go in Python's form: v0.2.1-0.20261118005812-5221a5d0c1de is 0.2.1.dev20261118005812+5221a5d0c1de.

    Python sorts a development version before its release, Go a revision after its tag: what follows rc.1 precedes rc2.
    """
    if version == "(devel)":
        return "0.dev0"
    form = r"v(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?(?:[-.](?:0\.)?(\d{14})-([0-9a-f]{12}))?(\+dirty)?"
    parts = re.fullmatch(form, version)
    if not parts:
        raise ValueError(f"{version} has no form in Python: use tags such as v0.2.0 and v0.2.0-rc.1")
    number, stage, count, time, revision, changed = parts.groups()
    before = STAGES[stage] + str(int(count) + bool(time)) if stage else ""
    local = ".".join(filter(None, [revision, changed and "dirty"]))
    return number + before + (f".dev{time}" if time else "") + (f"+{local}" if local else "")


def platform_tag(program: bytes) -> str:
    """Return the platform tag for an executable file, from its first bytes."""
    if program[:5] == b"\x7fELF\x02":
        return linux_tag(program)
    if program[:4] == b"\xcf\xfa\xed\xfe":
        return macos_tag(program)
    if program[:2] == b"MZ":
        return windows_tag(program)
    raise ValueError("it is not a 64-bit executable of Linux, macOS or Windows")


def linux_tag(program: bytes) -> str:
    """Return the tags for the oldest glibc and the oldest musl, for a static program needs neither."""
    machine = processor({62: "x86_64", 183: "aarch64"}, struct.unpack_from("<H", program, 18)[0])
    start, size, count = (struct.unpack_from(form, program, at)[0] for form, at in (("<Q", 32), ("<H", 54), ("<H", 56)))
    interpreter = 3  # PT_INTERP, the segment that names a dynamic linker
    if any(struct.unpack_from("<I", program, start + i * size)[0] == interpreter for i in range(count)):
        raise ValueError("it is not static: build it with CGO_ENABLED=0")
    return f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"


def macos_tag(program: bytes) -> str:
    """Return the tag for the oldest macOS that the program runs on, which Go's linker writes into the file."""
    machine = processor({0x01000007: "x86_64", 0x0100000C: "arm64"}, struct.unpack_from("<I", program, 4)[0])
    at = 32
    for _ in range(struct.unpack_from("<I", program, 16)[0]):
        command, size, _, oldest = struct.unpack_from("<4I", program, at)
        if command == 0x32:  # LC_BUILD_VERSION
            return f"macosx_{oldest >> 16}_{oldest >> 8 & 0xFF}_{machine}"
        at += size
    raise ValueError("it does not say which macOS it needs")


def windows_tag(program: bytes) -> str:
    """Return the tag for a PE file."""
    header = struct.unpack_from("<I", program, 60)[0]
    return "win_" + processor({0x8664: "amd64", 0xAA64: "arm64"}, struct.unpack_from("<H", program, header + 4)[0])


def processor(names: dict[int, str], number: int) -> str:
    """Return the name of a processor, from its number in the header of a file."""
    if number not in names:
        raise ValueError("its processor is neither x86-64 nor 64-bit ARM")
    return names[number]


class Program(BuildHookInterface):
    """Adds the program to a wheel. Refuses a source distribution, which would need Go and the rest of the repository."""

    def initialize(self, version, build_data):
        if self.target_name != "wheel":
            raise RuntimeError("psishap has no source distribution: the program inside needs the whole repository; run make wheel there")
        path = program()
        with path.open("rb") as file:
            head = file.read(1 << 16)
        try:
            tag = platform_tag(head)
        except (ValueError, struct.error) as err:
            raise ValueError(f"{path} does not fit into a wheel: {err}") from err
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
        build_data["force_include"][str(path)] = "psishap/bin/" + ("psi.exe" if tag.startswith("win") else "psi")
