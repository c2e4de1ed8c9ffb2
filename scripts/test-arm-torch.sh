#!/usr/bin/env bash
# Runs the capture tests on AArch64 with a real torch, under qemu, on an x86-64 machine.
# build/arm-torch holds all files: an AArch64 Python from Debian's packages, torch's CPU wheel, and
# the cross-compiled package. Only install-deps.sh changes the system. Downloads about 250 MB once
# and takes 10 to 15 minutes on two cores. torch 2.10.0 is the last release whose AArch64 wheel has
# no CUDA; TORCH=... selects another.
set -euo pipefail
cd "$(dirname "$0")/.."

torch=${TORCH:-2.10.0}
home=$PWD/build/arm-torch
root=$home/root
site=$home/site-$torch
triplet=aarch64-linux-gnu

if [ "$(uname -m)" = aarch64 ]; then
    echo "== This machine is AArch64: make test runs these tests without qemu"
    exit 0
fi
scripts/install-deps.sh test arm
python=$(scripts/find-python.sh)
case $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') in
3.11) ;;
*)
    echo "test-arm-torch: Python 3.11 (the version of Debian 12) is required; set PYTHON" >&2
    exit 1
    ;;
esac

# apt with separate state: AArch64 packages only, none installed.
foreign_apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State="$home/apt" -o Dir::State::status="$home/apt/status" \
        -o Dir::Cache="$home/apt/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User= "$@"
}

if [ ! -e "$root/done" ]; then
    echo "Unpacking an AArch64 Python into $root"
    mkdir -p "$home"/apt/{lists,cache}/partial "$home/apt/cache/archives/partial" "$root"
    touch "$home/apt/status"
    foreign_apt update
    foreign_apt install -y --download-only --no-install-recommends \
        python3.11 python3.11-dev libstdc++6 zlib1g-dev libzstd-dev
    for package in "$home"/apt/cache/archives/*.deb; do
        dpkg -x "$package" "$root"
    done
    # An absolute link would point outside $root.
    ln -sfn ../lib/$triplet/ld-linux-aarch64.so.1 "$root/lib/ld-linux-aarch64.so.1"
    touch "$root/done"
fi

if [ ! -e "$site/done" ]; then
    echo "Installing torch $torch for AArch64 into $site (about 180 MB)"
    "$python" -m pip --disable-pip-version-check install --quiet --no-deps --target "$site" \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 \
        --platform manylinux2014_aarch64 --python-version 3.11 --only-binary=:all: \
        "torch==$torch" numpy filelock typing-extensions sympy mpmath \
        networkx jinja2 MarkupSafe fsspec setuptools pytest pygments iniconfig pluggy packaging
    touch "$site/done"
fi

echo "Building the package for AArch64"
cmake -S . -B "$home/package" -DCMAKE_BUILD_TYPE=Release -DPYRO_PYTHON=ON \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_SYSROOT="$root" \
    -DCMAKE_C_COMPILER="$triplet-gcc" -DCMAKE_CROSSCOMPILING_EMULATOR="qemu-aarch64;-L;$root" \
    -DCMAKE_LIBRARY_PATH="/usr/lib/$triplet" -DPython3_EXECUTABLE="$python" \
    -DPython3_INCLUDE_DIR="$root/usr/include/python3.11" >/dev/null
cmake --build "$home/package" -j "${JOBS:-2}" >/dev/null
cp -R include "$home/package/python/pyrometer/" # where an installed package has them

# Programs under test restart themselves by this name, so that no kernel support is needed.
mkdir -p "$home/bin"
cat >"$home/bin/python3" <<SCRIPT
#!/bin/sh
export PYTHONHOME="$root/usr" PYTHONPATH="$home/package/python:$site\${PYTHONPATH:+:\$PYTHONPATH}"
exec qemu-aarch64 -L "$root" -0 "$home/bin/python3" "$root/usr/bin/python3.11" "\$@"
SCRIPT
chmod +x "$home/bin/python3"

export CXX="$triplet-g++ --sysroot=$root" XDG_CACHE_HOME="$home/cache" PYTHONDONTWRITEBYTECODE=1
export PATH="$home/bin:$PATH"
echo "== Capturing on AArch64 with torch $torch, under qemu"
if [ $# -eq 0 ]; then
    set -- tests/python/capture/test_layers.py tests/python/capture/test_layer_inputs.py \
        tests/python/capture/test_observers.py tests/python/capture/test_observed_values.py
fi
# The deselected test measures memory, and qemu leaks about 280 KB per finished thread.
"$home/bin/python3" -m pytest "$@" \
    --deselect tests/python/capture/test_observers.py::test_on_and_off_a_thousand_times
