#!/usr/bin/env bash
# Runs each fuzz target of a build folder for SECONDS: fuzz.sh BUILD SECONDS
# Writes new inputs and crashes to BUILD; only reads fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
seconds=$2
failed=()
for target in "$build"/fuzz_*; do
    if [ ! -x "$target" ] || [ -d "$target" ]; then
        continue
    fi
    name=$(basename "$target")
    name=${name#fuzz_}
    corpus=$build/corpus/$name
    mkdir -p "$corpus" "$build/crashes"
    seeds=()
    if [ -d "fuzz/corpus/$name" ]; then
        seeds=("fuzz/corpus/$name")
    fi
    dictionary=()
    if [ -f "fuzz/$name.dict" ]; then
        dictionary=("-dict=fuzz/$name.dict")
    fi
    echo "== $name for $seconds s"
    if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -malloc_limit_mb=4096 \
        -artifact_prefix="$build/crashes/$name-" -print_final_stats=1 \
        "${dictionary[@]}" "$corpus" "${seeds[@]}"; then
        failed+=("$name")
    fi
done
if [ ${#failed[@]} -ne 0 ]; then
    echo "fuzz: failed: ${failed[*]}; the inputs are in $build/crashes" >&2
    exit 1
fi
