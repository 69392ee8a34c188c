"""Tag the wheel with the platforms of the program inside: py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64."""

import pathlib
import platform

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PT_INTERP = 3


def is_static(program: bytes) -> bool:
    """Return whether no program header of the 64-bit ELF file names a dynamic linker."""
    start, size, count = (int.from_bytes(program[at : at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2)))
    return all(int.from_bytes(program[start + i * size :][:4], "little") != PT_INTERP for i in range(count))


class Platform(BuildHookInterface):
    """Sets the tag. A static program needs neither glibc nor musl, so the tag has the oldest versions of both."""

    def initialize(self, version, build_data):
        psi = pathlib.Path(self.root, "src/psishap/bin/psi")
        if not psi.exists():
            raise FileNotFoundError("src/psishap/bin/psi does not exist: run make wheel, which builds it first")
        with psi.open("rb") as file:
            if not is_static(file.read(4096)):
                raise ValueError("src/psishap/bin/psi is not static: run make wheel, which builds it with CGO_ENABLED=0")
        machine = platform.machine()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}"
