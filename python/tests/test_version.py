"""The version of the package is that of the program inside, in Python's form."""

import importlib.util
import json
import pathlib
import subprocess

from packaging.version import Version

import psishap
from psishap import _psi

PATH = pathlib.Path(__file__).parents[1] / "hatch_build.py"
SPEC = importlib.util.spec_from_file_location("hatch_build", PATH)
hatch_build = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hatch_build)


def test_forms():
    forms = {
        "(devel)": "0.dev0",
        "v0.0.0-20261118005812-5221a5d0c1de": "0.0.0.dev20261118005812+5221a5d0c1de",
        "v0.2.0-rc.1": "0.2.0rc1",
        "v0.2.0-rc.1.0.20261118005812-5221a5d0c1de": "0.2.0rc2.dev20261118005812+5221a5d0c1de",
        "v0.2.0": "0.2.0",
        "v0.2.1-0.20261118005812-5221a5d0c1de+dirty": "0.2.1.dev20261118005812+5221a5d0c1de.dirty",
        "v0.2.1": "0.2.1",
    }
    assert [hatch_build.python_version(version) for version in forms] == list(forms.values())
    assert [str(version) for version in sorted(map(Version, forms.values()))] == list(forms.values())


def test_package_has_the_version_of_the_program():
    printed = subprocess.run([_psi.program(), "version", "--json"], capture_output=True, text=True, check=True).stdout
    version = json.loads(printed)["version"]
    assert psishap.__version__ == hatch_build.python_version("(devel)" if version == "devel" else "v" + version)
