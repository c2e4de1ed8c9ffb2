#!/usr/bin/env bash
# Runs the tests of capturing with another torch, in an environment of its own under build/.
# Installed without what it depends on, so that no CUDA packages come with it; what the CPU part
# needs is small.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?which torch? make test-torch TORCH=2.8.0}
venv=build/torch-$version

python=$(scripts/find-python.sh)
if ! "$venv/bin/python" -c "import torch, pytest; assert torch.__version__.split('+')[0] == '$version'" \
    2>/dev/null; then
    echo "Into $venv will be downloaded: torch $version and what it needs, 100 MB to 900 MB."
    mkdir -p build
    "$python" -m venv --clear "$venv"
    pip() { "$venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; }
    pip pytest 'numpy<2' filelock typing-extensions sympy networkx jinja2 fsspec setuptools
    pip --no-deps "torch==$version"
    if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
        echo "torch $version does not load without its CUDA packages:" >&2
        "$venv/bin/python" -c 'import torch' 2>&1 | tail -1 >&2
        echo "test-torch: an index of CPU builds helps, as in PIP_INDEX_URL" >&2
        exit 1
    fi
fi
echo "== Capturing with torch $version"
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet --force-reinstall --no-deps \
    --config-settings=build-dir="build-python/{wheel_tag}" .
"$venv/bin/python" -m pytest tests/python/test_observers.py tests/python/test_capture_grid.py
