#!/usr/bin/env bash
# Shows the main job: the cost of models by name, and of a live nn.Module where torch is.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { "$1" -c "import $2" >/dev/null 2>&1; }

# The interpreter for the live part: .venv, then the chosen one; none when neither has torch.
find_torch() {
    local candidate
    for candidate in .venv/bin/python "${PYTHON:-python3}"; do
        if command -v "$candidate" >/dev/null && has "$candidate" torch; then
            echo "$candidate"
            return
        fi
    done
}

# Makes the package importable without touching the user's interpreter.
build_beside() {
    cmake -S . -B build-live -DCMAKE_BUILD_TYPE=Release -DPYRO_PYTHON=ON \
        -DPython3_EXECUTABLE="$("$1" -c 'import sys; print(sys.executable)')" &&
        cmake --build build-live --target python_package
}

show() {
    echo "\$ pyrometer $*"
    build/pyrometer "$@"
    echo
}

show models resnet --sort macs
show cost resnet50
# The lines of a summary that change with the sizes.
sizes() { sed -n '1p;/Inputs: *x/p;/Total MACs:/p;/Total Memory:/p;/KV Cache:/p;$p'; }

show cost resnet50 --input-shape 8,3,320,352 -q | sizes
show cost llama3_8b --prefill 2048 -q | sizes
show cost llama3_8b --decode --past 8192 -q | sizes
show cost resnet50 vit_b_16 efficientnet_b0 convnext_tiny -q
show check --models resnet50,vit_b_16 --against torchvision

python=$(find_torch)
if [ -z "$python" ]; then
    echo "No torch is importable, so the live part is left out; 'make python' gets one."
    exit 0
fi
if ! has "$python" pyrometer; then
    if ! log=$(build_beside "$python" 2>&1); then
        echo "torch is there, but the extension for $python could not be built; left out:"
        echo "$log" | tail -n 5
        exit 0
    fi
    export PYTHONPATH=build-live/python${PYTHONPATH:+:$PYTHONPATH}
fi
echo "\$ python examples/python/live.py"
"$python" examples/python/live.py
