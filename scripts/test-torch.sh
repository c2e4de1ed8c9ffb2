#!/usr/bin/env bash
# Runs the capture tests with another torch, in its own environment under build/. Installs torch
# without dependencies first, because a CPU build needs few; a CUDA build does not load without its
# packages and gets them too.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?set the version of torch: make test-torch TORCH=2.8.0}
venv=build/torch-$version

python=$(scripts/find-python.sh)
if ! "$venv/bin/python" -c "import torch, pytest; assert torch.__version__.split('+')[0] == '$version'" \
    2>/dev/null; then
    echo "Downloading into $venv: torch $version and its dependencies, 100 MB to 900 MB."
    mkdir -p build
    "$python" -m venv --clear "$venv"
    pip() { "$venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; }
    pip pytest 'numpy<2' filelock typing-extensions sympy networkx jinja2 fsspec setuptools
    pip --no-deps "torch==$version"
    if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
        echo "This build of torch requires its CUDA packages: about 3 GB more."
        pip "torch==$version"
    fi
fi
echo "== Capturing with torch $version"
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet --force-reinstall --no-deps \
    --config-settings=build-dir="build-python/{wheel_tag}" .
"$venv/bin/python" -m pytest tests/python/capture/test_observers.py tests/python/capture/test_observed_values.py \
    tests/python/capture/test_layers.py tests/python/capture/test_layer_inputs.py \
    tests/python/capture/test_capture_grid.py tests/python/capture/test_fallback.py
