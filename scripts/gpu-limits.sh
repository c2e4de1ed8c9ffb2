#!/usr/bin/env bash
# Measures on a GPU, in a few minutes per part, what limits are set for. Part 1: overhead at batch 1,
# beside torch.profiler. Part 2: tests that take long, a busy device, and files. Part 3: the most
# important numbers of part 1 with more rounds. Part 4: layers and kernels alone. Part 5: everything but
# memsets alone; both for SECONDS (400), and run again, they add rounds to those in FOLDER. Installs
# nothing. Results go to FOLDER as JSON and to the terminal as tables.
# Usage: gpu-limits.sh 1|2|3|4|5 FOLDER [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:?1, 2, 3, 4 or 5}
folder=${2:?a folder}
seconds=${3:-400}
export PYTHONUNBUFFERED=1
case $part in
1)
    scripts/bench-gpu.sh --part overhead --only vit_b_16+resnet50 --calls 8 --rounds 80 --seconds 40 \
        --their-seconds 10 --json "$folder/overhead.json"
    ;;
2)
    failed=0
    scripts/test-gpu.sh 150 test_collector.py::test_a_flush_during_a_capture \
        test_power.py::test_energy_per_step || failed=$?
    scripts/bench-gpu.sh --part overhead --only "resnet50, batch 128" --calls 3 --rounds 12 \
        --seconds 18 --their-seconds 0 --ways "layers and kernels+everything" \
        --json "$folder/busy.json" || failed=$?
    scripts/bench-gpu.sh --part files --json "$folder/files.json" || failed=$?
    scripts/test-gpu.sh 100 test_model.py::test_tool || failed=$?
    exit "$failed"
    ;;
3)
    scripts/bench-gpu.sh --part overhead --only vit_b_16+resnet50 --calls 6 --rounds 600 --seconds 125 \
        --their-seconds 26 --ways "hooks floor+times floor+layers and kernels+everything+everything but memsets" \
        --json "$folder/floors.json"
    ;;
4 | 5)
    # Each of them has a limit close to what resnet50 takes.
    way="layers and kernels" file=layers
    [ "$part" = 4 ] || way="everything but memsets" file=everything
    scripts/bench-gpu.sh --part overhead --only resnet50 --calls 12 --rounds 5000 --seconds "$seconds" \
        --their-seconds 0 --ways "$way" --add-to "$folder/$file.json"
    ;;
*)
    echo "gpu-limits: no part $part" >&2
    exit 2
    ;;
esac
