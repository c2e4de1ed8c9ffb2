#!/usr/bin/env bash
# Runs the part of the Python tests that needs no torch with Python 3.12, where one is at hand.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-3.12

find_python() {
    local candidate
    for candidate in ${PYTHON312:+"$PYTHON312"} python3.12 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12.*/bin/python3.12; do
        if command -v "$candidate" >/dev/null &&
            PYTHON=$candidate scripts/find-python.sh 2>/dev/null; then
            return
        fi
    done
}

python=$(find_python)
if [ -z "$python" ]; then
    echo "== Python 3.12: skipped, there is no such interpreter here"
    exit 0
fi
echo "== Python 3.12, without torch: $python"
if ! "$venv/bin/python" -c 'import pytest, numpy' 2>/dev/null; then
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet \
        -c requirements/constraints.txt pytest numpy
fi
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet --force-reinstall --no-deps \
    --config-settings=build-dir="build-python/{wheel_tag}" .
PYRO_TOOL=build/pyrometer "$venv/bin/python" -m pytest tests/python
