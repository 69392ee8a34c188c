#!/usr/bin/env bash
# The six lines of README.md in an environment that has nothing: seconds from pip install to the picture.
#     bench/first.sh [WHEEL]        make wheel leaves one in dist/
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheel=$(realpath "${1:-$(echo "$here"/dist/psishap-*.whl)}")
python3=$(command -v python3)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Python and the tools of the system alone: neither Go nor a compiler.
mkdir "$scratch/bin"
for tool in env grep rm sed uname; do ln -s "$(command -v "$tool")" "$scratch/bin/"; done
"$python3" -m venv "$scratch/venv"
export PATH=$scratch/venv/bin:$scratch/bin
for absent in go gcc cc; do
	if command -v "$absent" >/dev/null; then
		echo "$absent is in the PATH" >&2
		exit 1
	fi
done

cd "$scratch"
begun=$EPOCHREALTIME
pip install --quiet --disable-pip-version-check "${wheel}[pandas,plots]"
installed=$EPOCHREALTIME
psi sample bike -o bike.csv 2>/dev/null
# The example is the one that people read; a line after each of its statements tells the time.
# shellcheck disable=SC2016
sed -n '/^```python$/,/^```$/{/^```$/q;/^```/!p;}' "$here/README.md" >example.py
[[ $(grep -c . example.py) == 6 ]] || { echo "README.md does not start with an example of six lines" >&2; exit 1; }
sed -i -e '$s/$/.figure.savefig("beeswarm.png")/' -e '1i import time; begun = time.time()' -e 's/^model = .*/imported = time.time()\n&\nfitted = time.time()/' example.py
echo 'drawn = time.time(); print(f"import and read {imported - begun:.1f} s, fit {fitted - imported:.1f} s, explain and draw {drawn - fitted:.1f} s")' >>example.py
python example.py
ended=$EPOCHREALTIME
[[ -s beeswarm.png ]]
python -c "print(f'pip install {$installed - $begun:.1f} s; from pip install to the picture {$ended - $begun:.1f} s')"
