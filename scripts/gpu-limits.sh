#!/usr/bin/env bash
# Measures on a GPU, in a few minutes, what limits are set for: the overhead at batch 1 (part 1), the
# tests that take longest and the overhead on a busy device (part 2). Installs nothing. Results go to
# FOLDER as JSON and to the terminal as a table. Usage: gpu-limits.sh 1|2 FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:?1 or 2}
folder=${2:?a folder}
export PYTHONUNBUFFERED=1
if [ "$part" = 1 ]; then
    scripts/bench-gpu.sh --part overhead --only vit_b_16+resnet50 --calls 8 --rounds 80 --seconds 40 \
        --their-seconds 10 --json "$folder/overhead.json"
    exit
fi
failed=0
scripts/test-gpu.sh 90 test_power.py::test_energy_per_step test_model.py::test_tool \
    test_collector.py::test_a_flush_during_a_capture || failed=$?
scripts/bench-gpu.sh --part overhead --only "resnet50, batch 128" --calls 3 --rounds 10 --seconds 22 \
    --their-seconds 8 --json "$folder/busy.json"
scripts/bench-gpu.sh --part files --json "$folder/files.json"
exit "$failed"
