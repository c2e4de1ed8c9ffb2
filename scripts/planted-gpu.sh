#!/usr/bin/env bash
# Records the planted scripts on a GPU with the interpreter PYTHON (default: python3) and its torch, and
# checks what `pyrometer trace` says about them. Installs nothing; builds the package in build-gpu/.
# `planted-gpu.sh FOLDER 100` keeps the recordings in FOLDER and stops recording after 100 seconds; the
# next call resumes.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-build-gpu/planted}
python=$(command -v "${PYTHON:-python3}") || {
    echo "planted-gpu: ${PYTHON:-python3}: no such interpreter; set PYTHON" >&2
    exit 1
}
scripts/build-gpu.sh "$python"
export PYTHONPATH=$PWD/build-gpu/python${PYTHONPATH:+:$PYTHONPATH} PYRO_TOOL=$PWD/build-gpu/pyrometer
exec "$python" tests/planted_scripts/check.py -o "$folder" --json "$folder.json" \
    ${2:+--seconds "$2"}
