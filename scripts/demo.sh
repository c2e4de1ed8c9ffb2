#!/usr/bin/env bash
# Shows the cost of built-in models and, if torch is importable, of a live nn.Module.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { "$1" -c "import $2" >/dev/null 2>&1; }

# Prints the interpreter for the live part: .venv, then $PYTHON; nothing if neither has torch.
find_torch() {
    local candidate
    for candidate in .venv/bin/python "${PYTHON:-python3}"; do
        if command -v "$candidate" >/dev/null && has "$candidate" torch; then
            echo "$candidate"
            return
        fi
    done
}

# Builds the package for an interpreter into build-live/, without installing it.
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

# Keeps the command and the lines of a summary that change with the sizes.
sizes() {
    sed -n '1p;/Inputs: *x/p;/Decoding Step:/p;/Total MACs:/p;/ Traffic:/p;/Footprint:/p;/KV Cache:/p;$p'
}

echo "# List built-in models, most expensive first"
show models resnet --sort macs
echo "# Cost of one model, without running it"
show cost resnet50
echo "# The same model with another batch and image size (summary only)"
show cost resnet50 --input-shape 8,3,320,352 -q | sizes
echo "# A language model: a prompt of 2048 tokens, then one token after 8192 (summaries only)"
show cost llama3_8b --prefill 2048 -q | sizes
show cost llama3_8b --decode --past 8192 -q | sizes
echo "# Compare models"
show cost resnet50 vit_b_16 efficientnet_b0 convnext_tiny -q
echo "# Check our counts against the numbers that torchvision publishes"
show check --models resnet50,vit_b_16 --against torchvision

# Last, so that the name of the page is the last line.
show_page() {
    [ -f web/dist/index.html ] || return 0
    echo "# The same as a page: open build/report.html in a browser"
    show report resnet50 -o build/report.html
}
trap show_page EXIT

python=$(find_torch)
if [ -z "$python" ]; then
    echo "Skipped: cost of a live nn.Module, because torch is missing; 'make python' installs it."
    exit 0
fi
if ! has "$python" pyrometer; then
    if ! log=$(build_beside "$python" 2>&1); then
        echo "Skipped: cost of a live nn.Module, because building the extension for $python failed:"
        echo "$log" | tail -n 5
        exit 0
    fi
    export PYTHONPATH=build-live/python${PYTHONPATH:+:$PYTHONPATH}
fi
echo "# Cost of your own nn.Module, from Python"
echo "\$ python examples/python/live.py"
"$python" examples/python/live.py
