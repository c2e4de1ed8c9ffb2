#!/usr/bin/env bash
# Makes .venv in steps and skips steps whose inputs have not changed. Levels: `torch` (pinned torch
# and this package), `test` (also the tests' requirements), `catalog` (also the catalog's).
# With --plan it only prints what it would download.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:?torch, test or catalog}
mode=${2:-}
venv=.venv

# A step stores a digest of its inputs.
is_done() { [ "$(cat "$venv/pyrometer-$1.key" 2>/dev/null)" = "$2" ]; }
mark_done() { echo "$2" >"$venv/pyrometer-$1.key"; }
digest() { sha256sum "$@" | sha256sum | cut -d' ' -f1; }

# All inputs of the built package.
package_files() {
    find CMakeLists.txt cmake pyproject.toml README.md LICENSE include src cli python \
        catalog/skeletons schemas -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z
}

pip_install() { "$venv/bin/python" -m pip --disable-pip-version-check install "$@"; }

torch_key=$(digest requirements/torch.txt requirements/constraints.txt)
test_key=$(digest requirements/{torch,no-deps,test,constraints}.txt)
torchvision_files=(scripts/venv/pyrometer_torchvision_import.py python/pyrometer/_helper/torchvision_ops.py)
torchvision_key=$(digest "${torchvision_files[@]}")
wants_torch() { ! is_done torch "$torch_key"; }
catalog_key=$(digest requirements/{catalog,constraints}.txt)
wants_test() { [ "$level" != torch ] && ! is_done test "$test_key"; }
wants_torchvision() { [ "$level" != torch ] && ! is_done torchvision "$torchvision_key"; }
wants_catalog() { [ "$level" = catalog ] && ! is_done catalog "$catalog_key"; }

if [ "$mode" = --plan ]; then
    if wants_torch || wants_test || wants_catalog; then
        echo "pip, with your settings, will download into $venv:"
    fi
    if wants_torch; then
        cat <<'TEXT'
    torch 2.13.0 and its dependencies: about 200 MB for the CPU build. The default build for Linux
    on x86-64 includes CUDA and is about 3 GB; to get the CPU build, add an index of CPU builds to
    pip's settings (pip.conf or PIP_EXTRA_INDEX_URL).
TEXT
    fi
    if wants_test; then
        echo "    torchvision 0.28.0, timm, transformers, fvcore, onnxruntime, tensorboard, ray, pandas,"
        echo "    pytest and their dependencies: about 200 MB."
    fi
    if wants_catalog; then
        echo "    diffusers and its dependencies: about 10 MB."
    fi
    exit 0
fi

python=$(scripts/find-python.sh)
interpreter_key=$("$python" -c 'import sys; print(sys.executable, sys.version)' | digest)
if ! is_done interpreter "$interpreter_key"; then
    echo "Making $venv with $python"
    "$python" -m venv --clear "$venv"
    mark_done interpreter "$interpreter_key"
fi
if wants_torch; then
    echo "Installing torch into $venv"
    pip_install -r requirements/torch.txt -c requirements/constraints.txt
    mark_done torch "$torch_key"
fi
if wants_test; then
    echo "Installing the tests' requirements into $venv"
    pip_install --quiet --no-deps -r requirements/no-deps.txt
    pip_install --quiet --use-pep517 -r requirements/test.txt -c requirements/constraints.txt
    mark_done test "$test_key"
fi
if wants_torchvision; then
    # Makes torchvision and transformers importable in any order and in any process.
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp "${torchvision_files[0]}" "$site/"
    cp "${torchvision_files[1]}" "$site/pyrometer_torchvision_ops.py"
    echo "import pyrometer_torchvision_import" >"$site/pyrometer_torchvision.pth"
    mark_done torchvision "$torchvision_key"
fi
if wants_catalog; then
    echo "Installing the catalog's requirements into $venv"
    pip_install --quiet -r requirements/catalog.txt -c requirements/constraints.txt
    mark_done catalog "$catalog_key"
fi

package_key=$(package_files | xargs -0 sha256sum | digest)
if ! is_done package "$package_key"; then
    echo "Building the package into $venv (pip fetches scikit-build-core, under 1 MB)"
    pip_install --quiet --force-reinstall --no-deps --config-settings=build-dir="build-python/{wheel_tag}" .
    mark_done package "$package_key"
fi
