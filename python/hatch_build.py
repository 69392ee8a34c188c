"""Put the program psi into the wheel, and tag the wheel with the platform that the program was built for.

The environment variable PSI_PROGRAM is the path of the program. The default is src/psishap/bin/psi.
"""

import os
import pathlib
import struct

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


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
            raise RuntimeError("psishap has no source distribution: the program inside needs the whole repository; run make wheels there")
        path = pathlib.Path(self.root, os.environ.get("PSI_PROGRAM", "src/psishap/bin/psi"))
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist: run make wheel, which builds it first")
        with path.open("rb") as file:
            head = file.read(1 << 16)
        try:
            tag = platform_tag(head)
        except (ValueError, struct.error) as err:
            raise ValueError(f"{path} does not fit into a wheel: {err}") from err
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
        build_data["force_include"][str(path)] = "psishap/bin/" + ("psi.exe" if tag.startswith("win") else "psi")
