#!/usr/bin/env bash
# Compares the readers of model files with onnx, torch and transformers (tests/formats). torch's
# exporter of ONNX needs onnxscript, which is installed under build/ only.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=$PWD/build/pyrometer
python=$PWD/.venv/bin/python
packages=$PWD/build/verify-formats
if [ ! -d "$packages/onnxscript" ]; then
    echo "Downloading into $packages: onnxscript and onnx_ir, about 2 MB."
    "$python" -m pip --disable-pip-version-check install --quiet --no-deps --target "$packages" \
        onnxscript onnx_ir
fi
failed=()
check() {
    echo "== $1"
    PYTHONPATH=$packages "$python" "${@:2}" || failed+=("$1")
}
check "node tests of onnx" tests/formats/node_tests.py "$tool"
check "exports by dynamo" tests/formats/compare_onnx.py "$tool"
check "exports by TorchScript" tests/formats/compare_onnx.py "$tool" --older
check "configurations of transformers" tests/formats/compare_folders.py "$tool"
check "FLOPs of training" tests/models/compare_training.py "$tool"
check "memory of training" tests/models/compare_training.py "$tool" --memory
if [ ${#failed[@]} -ne 0 ]; then
    echo "verify-formats: failed: ${failed[*]}" >&2
    exit 1
fi
