#!/usr/bin/env bash
# Compares results with other tools (tests/peers). Each tool has an environment under build/peers,
# made once from requirements/peers-<tool>.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

make_environment() {
    local venv=build/peers/$1 requirements=requirements/peers-$1.txt key
    key=$(sha256sum "$requirements" | cut -d' ' -f1)
    if [ "$(cat "$venv/pyrometer.key" 2>/dev/null)" = "$key" ]; then
        return
    fi
    echo "Downloading into $venv: $(grep -v '^#' "$requirements" | tr '\n' ' ')(150 MB)"
    "$(scripts/find-python.sh)" -m venv --clear "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet -r "$requirements"
    echo "$key" >"$venv/pyrometer.key"
}

# `test-peers.sh --answers` remakes the stored results of tools that the ordinary tests compare with.
if [ "${1:-}" = --answers ]; then
    make_environment otava
    if [ -z "${PYRO_OTAVA:-}" ]; then
        # The source archive has the samples of Otava's own tests; the wheel does not.
        if [ ! -d build/peers/otava-source ]; then
            build/peers/otava/bin/python -m pip --disable-pip-version-check download --quiet \
                --no-deps --no-binary :all: -d build/peers "$(grep -v '^#' requirements/peers-otava.txt)"
            mkdir build/peers/otava-source
            tar -xzf build/peers/apache_otava-*.tar.gz -C build/peers/otava-source --strip-components 1
        fi
        export PYRO_OTAVA=build/peers/otava-source
    fi
    build/peers/otava/bin/python tests/python/history/make_otava_answers.py
    exit 0
fi

for name in hta tensorboard; do
    make_environment "$name"
done
echo "== Comparison with other tools"
PYRO_TOOL=${PYRO_TOOL:-build/pyrometer} ${VENV_PYTHON:-.venv/bin/python} -m pytest -m peers tests/peers "$@"
