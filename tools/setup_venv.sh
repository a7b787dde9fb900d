#!/usr/bin/env bash
# Creates the virtual environment given as $1 and installs the project with everything it can use into it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=$1

# A name on the PATH is not yet a Python: version managers leave stubs that fail, and distributions ship a
# python3 without venv.
usable='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
python=
for name in python3.13 python3.12 python3.11 python3; do
    while read -r candidate; do
        if "$candidate" -c "$usable" >/dev/null 2>&1; then
            python=$candidate
            break 2
        fi
    done < <(type -ap "$name")
done
if [[ -z $python ]]; then
    echo "make setup needs Python 3.11 or newer with its venv module: install it" \
        "(Debian, Ubuntu: apt-get install python3 python3-venv) and run make setup again." >&2
    exit 1
fi

if ! "$venv/bin/python" -c "$usable" >/dev/null 2>&1; then
    echo "creating $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi

pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet install --constraint constraints.txt)
echo "installing the build tools"
"${pip[@]}" pip setuptools wheel
echo "installing indextables and what it uses; pyspark alone is 450 MB, so this takes a minute or two"
# pyspark comes as a source package: built with the pinned tools from above, not with whatever is newest.
started=$SECONDS
while sleep 15 >/dev/null 2>&1; do echo "  ... still installing, $((SECONDS - started)) s"; done &
ticker=$!
trap 'kill "$ticker" 2>/dev/null || true' EXIT
"${pip[@]}" --no-build-isolation --editable '.[spark,ui,demo,dev]'
echo "installed in $((SECONDS - started)) s"
