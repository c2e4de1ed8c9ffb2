#!/usr/bin/env bash
# Builds for another processor and runs the unit tests under qemu: test-foreign.sh x86_64|aarch64
# On a machine with that processor it runs them directly. Debian and Ubuntu only: installs their
# packages of the cross compiler and of the other architecture's libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

processor=${1:?x86_64 or aarch64}
case $processor in
x86_64) architecture=amd64 compiler=x86-64-linux-gnu ;;
aarch64) architecture=arm64 compiler=aarch64-linux-gnu ;;
*)
    echo "test-foreign: $processor: unsupported; use x86_64 or aarch64" >&2
    exit 2
    ;;
esac
triplet=$processor-linux-gnu

if [ "$(uname -m)" = "$processor" ]; then
    echo "== This machine is $processor: running its unit tests without qemu"
    make --no-print-directory test-c
    exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
    root=(sudo)
fi
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"; }

packages=("gcc-$compiler" qemu-user "libc6:$architecture" "zlib1g-dev:$architecture"
    "libzstd-dev:$architecture" "libcmocka-dev:$architecture")
if ! dpkg -s "${packages[@]}" >/dev/null 2>&1; then
    echo "Installing the cross compiler, qemu and the libraries of $architecture: ${packages[*]}"
    "${root[@]}" dpkg --add-architecture "$architecture"
    apt update
    apt install -y --no-install-recommends "${packages[@]}"
fi

build=build-$processor
export PKG_CONFIG_LIBDIR=/usr/lib/$triplet/pkgconfig:/usr/share/pkgconfig
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DPYRO_TESTS=ON \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" \
    -DCMAKE_C_COMPILER="$triplet-gcc" -DCMAKE_CROSSCOMPILING_EMULATOR="qemu-$processor" \
    -DCMAKE_LIBRARY_PATH="/usr/lib/$triplet" \
    -DPython3_EXECUTABLE="$(scripts/find-python.sh)" >/dev/null
cmake --build "$build" -j "${JOBS:-2}"
ctest --test-dir "$build" -L unit --output-on-failure -j "${JOBS:-2}"
