"""Names the wheel after what the program inside needs: py3-none-manylinux_2_XX_x86_64."""

import pathlib
import re
import subprocess

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Platform(BuildHookInterface):
    """XX is the newest version of glibc of which the program uses a symbol."""

    def initialize(self, version, build_data):
        psi = pathlib.Path(self.root, "src/psishap/bin/psi")
        if not psi.exists():
            raise FileNotFoundError("src/psishap/bin/psi is not there: make wheel builds it and then the wheel")
        symbols = subprocess.run(["objdump", "-T", psi], check=True, capture_output=True, text=True).stdout
        minor = max(map(int, re.findall(r"GLIBC_2\.(\d+)", symbols)))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{max(minor, 17)}_x86_64"
