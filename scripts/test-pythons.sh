#!/usr/bin/env bash
# Runs the Python tests that need no torch with every other interpreter from 3.11 on that is
# installed (in PATH or under pyenv), at the same time, and prints which were tested and which are
# missing.
# PYTHONS="python3.13 /opt/python3.14t/bin/python3" selects them instead.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=(3.11 3.12 3.13 3.14)
own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true)
key=$({
    cat requirements/constraints.txt
    find CMakeLists.txt cmake pyproject.toml include src cli python catalog/skeletons schemas \
        -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
} | sha256sum | cut -d' ' -f1)
tested=() missing=()

find_python() {
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/"python$1"; do
        if command -v "$candidate" >/dev/null &&
            PYTHON=$candidate scripts/find-python.sh 2>/dev/null; then
            return
        fi
    done
}

version_of() {
    "$1" -c 'import sys, sysconfig
print("%d.%d" % sys.version_info[:2] + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))'
}

run_tests() {
    local python=$1 version venv
    version=$(version_of "$python")
    venv=.venv-$version
    echo "== Python $version, without torch: $python"
    if ! "$venv/bin/python" -c 'import pytest, numpy' 2>/dev/null; then
        "$python" -m venv --clear "$venv"
        "$venv/bin/python" -m pip --disable-pip-version-check install --quiet \
            -c requirements/constraints.txt pytest numpy
    fi
    if [ "$(cat "$venv/pyrometer-package.key" 2>/dev/null)" != "$key" ]; then
        "$venv/bin/python" -m pip --disable-pip-version-check install --quiet --force-reinstall \
            --no-deps --config-settings=build-dir="build-python/{wheel_tag}" .
        echo "$key" >"$venv/pyrometer-package.key"
    fi
    PYRO_TOOL=build/pyrometer "$venv/bin/python" -m pytest tests/python
}

# All interpreters run at the same time; what one prints stays together.
logs=$(mktemp -d)
processes=() failed=0
# shellcheck disable=SC2329 # the trap calls it
end() {
    jobs -p | xargs -r kill 2>/dev/null || true # of an interrupted run
    rm -rf "$logs"
}
trap end EXIT

start_tests() {
    tested+=("$(version_of "$1")")
    run_tests "$1" >"$logs/${#tested[@]}" 2>&1 &
    processes+=($!)
}

if [ -n "${PYTHONS:-}" ]; then
    for python in $PYTHONS; do
        start_tests "$(PYTHON=$python scripts/find-python.sh)"
    done
else
    for version in "${wanted[@]}"; do
        if [ "$version" = "$own" ]; then
            continue # all tests have already run with it
        fi
        python=$(find_python "$version")
        if [ -n "$python" ]; then
            start_tests "$python"
        else
            missing+=("$version")
        fi
    done
fi
for index in "${!processes[@]}"; do
    wait "${processes[$index]}" || failed=1
    cat "$logs/$((index + 1))"
done
echo "== Tested with Python ${own:+$own }${tested[*]:-}; not installed: ${missing[*]:-none}"
exit "$failed"
