#!/usr/bin/env bash
# Configures a CMake preset; prints output only on failure: configure.sh PRESET [-DNAME=VALUE...]
set -euo pipefail
cd "$(dirname "$0")/.."

if ! output=$(cmake --preset "$@" 2>&1); then
    echo "$output" >&2
    exit 1
fi
