#!/usr/bin/env bash
# Makes .venv in steps, each skipped when its inputs have not changed since it was last done:
# `torch` (pinned torch and this package), `test` (also what the tests need).
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:?torch or test}
venv=.venv
python=$(scripts/find-python.sh)

# done_before STEP KEY: whether the step was finished with this very key.
done_before() { [ "$(cat "$venv/pyrometer-$1.key" 2>/dev/null)" = "$2" ]; }
mark_done() { echo "$2" >"$venv/pyrometer-$1.key"; }

digest() { sha256sum "$@" | sha256sum | cut -d' ' -f1; }

# All that a built package depends on.
package_files() {
    find CMakeLists.txt cmake pyproject.toml README.md LICENSE include src cli python \
        catalog/skeletons -type f ! -name '*.pyc' 2>/dev/null | LC_ALL=C sort
}

pip_install() { "$venv/bin/python" -m pip install --quiet "$@"; }

announce() {
    echo "Into $venv, by pip with your own settings, will be downloaded:"
    if [ "$torch_key" != done ]; then
        cat <<'TEXT'
    torch 2.13.0 and what it needs: about 200 MB as the CPU build; the default build for Linux
    on x86-64 carries CUDA and is about 3 GB. An index of CPU builds in pip's own settings
    (pip.conf or PIP_EXTRA_INDEX_URL) makes it the smaller one.
TEXT
    fi
    if [ "$level" = test ] && [ "$test_key" != done ]; then
        cat <<'TEXT'
    torchvision 0.28.0, timm, transformers, fvcore, pandas, pytest and what they need:
    about 80 MB.
TEXT
    fi
    echo "    scikit-build-core, to build this package: under 1 MB."
}

interpreter_key=$("$python" -c 'import sys; print(sys.executable, sys.version)' | digest)
if ! done_before interpreter "$interpreter_key"; then
    echo "Making $venv with $python"
    "$python" -m venv --clear "$venv"
    mark_done interpreter "$interpreter_key"
fi

torch_key=$(digest requirements/torch.txt requirements/constraints.txt)
test_key=$(digest requirements/*.txt)
package_key=$(package_files | xargs sha256sum | digest)
wanted_torch=$torch_key
wanted_test=$test_key
if done_before torch "$torch_key"; then torch_key=done; fi
if done_before test "$test_key"; then test_key=done; fi

if [ "$torch_key" != done ] || { [ "$level" = test ] && [ "$test_key" != done ]; }; then
    announce
fi

if [ "$torch_key" != done ]; then
    pip_install -r requirements/torch.txt -c requirements/constraints.txt
    mark_done torch "$wanted_torch"
fi
if [ "$level" = test ] && [ "$test_key" != done ]; then
    pip_install --no-deps -r requirements/no-deps.txt
    pip_install -r requirements/test.txt -c requirements/constraints.txt
    mark_done test "$wanted_test"
fi

if ! done_before package "$package_key"; then
    echo "Building and installing the package into $venv"
    pip_install --force-reinstall --no-deps --config-settings=build-dir=build-python .
    mark_done package "$package_key"
fi
