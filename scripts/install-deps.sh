#!/usr/bin/env bash
# Installs missing packages on Debian and Ubuntu for the named jobs: build, python, test, bench,
# arm, fuzz. If none is missing, prints nothing and calls no package manager.
set -euo pipefail
cd "$(dirname "$0")/.."

cc=${CC:-cc}
missing=()

# The tests also cross-compile the observer for the other processor.
case $(uname -m) in
aarch64) foreign_triplet=x86_64-linux-gnu foreign_compiler=g++-x86-64-linux-gnu ;;
*) foreign_triplet=aarch64-linux-gnu foreign_compiler=g++-aarch64-linux-gnu ;;
esac

need() {
    local package=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        missing+=("$package")
    fi
}

has_header() { echo "#include <$1>" | "$cc" -E - >/dev/null; }

# cmocka.h requires other headers before it.
has_cmocka() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n%s\n' \
        '#include <setjmp.h>
#include <cmocka.h>' | "$cc" -E - >/dev/null
}

has_fuzzer() {
    command -v clang && echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n)
        { (void)d; (void)n; return 0; }' |
        clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null
}

check_build() {
    need gcc command -v "$cc"
    need libc6-dev has_header stdio.h
    need zlib1g-dev has_header zlib.h
    need libzstd-dev has_header zstd.h
    need cmake command -v cmake
}

check_python() {
    if ! scripts/find-python.sh >/dev/null 2>&1; then
        missing+=("${python_packages[@]}")
    fi
}

# The history loads it at run time.
has_sqlite() { ldconfig -p | grep -q libsqlite3.so.0; }

check_test() {
    check_build
    check_python
    need libsqlite3-0 has_sqlite
    need pkg-config command -v pkg-config
    need libcmocka-dev has_cmocka
    need g++ command -v c++
    need ccache command -v ccache
    need "$foreign_compiler" command -v "$foreign_triplet-g++"
}

has_simdjson() {
    command -v c++ && echo '#include <simdjson.h>' | c++ -E -x c++ - >/dev/null
}

check_bench() {
    need g++ command -v c++
    need libsimdjson-dev has_simdjson
    need util-linux command -v taskset
}

has_node() {
    [ "$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')" -ge 18 ] 2>/dev/null
}

check_web() {
    need nodejs has_node
    need npm command -v npm
}

check_chromium() {
    need chromium command -v chromium
}

check_arm() {
    need qemu-user command -v qemu-aarch64
}

check_fuzz() {
    check_build
    if ! has_fuzzer >/dev/null 2>&1; then
        missing+=(clang)
    fi
}

# Distributions with an older python3 offer Python 3.11 as extra packages.
choose_python_packages() {
    python_packages=(python3 python3-venv python3-dev)
    local offered
    offered=$(apt-cache policy python3 2>/dev/null | sed -n 's/ *Candidate: *//p')
    case $offered in
    3.[0-9].* | 3.10.*) python_packages=(python3.11 python3.11-venv python3.11-dev) ;;
    esac
}

check() {
    missing=()
    local job
    for job in "$@"; do
        "check_$job"
    done
}

# The runtimes of the sanitizers and the fuzzer are a separate package, named by version.
clang_runtime() {
    local version
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
    if [ -n "$version" ] && apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1; then
        echo "libclang-rt-$version-dev"
    fi
}

apt() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o DPkg::Lock::Timeout=120 "$@"
}

if [ -n "${PYTHON:-}" ]; then
    # An unsuitable $PYTHON is an error, not a reason to install packages.
    for job in "$@"; do
        case $job in python | test) scripts/find-python.sh >/dev/null ;; esac
    done
fi

python_packages=(python3 python3-venv python3-dev)
check "$@"
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

if ! command -v apt-get >/dev/null; then
    echo "install-deps: missing (Debian package names): ${missing[*]}" >&2
    echo "install-deps: no apt-get found; install them with this system's package manager" >&2
    exit 1
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        root=(sudo)
    else
        choose_python_packages
        check "$@"
        echo "install-deps: missing: ${missing[*]}" >&2
        echo "install-deps: neither root nor sudo; run this as root, then try again:" >&2
        echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
fi

echo "Installing missing packages: ${missing[*]}"
apt update
choose_python_packages
check "$@"
for package in "${missing[@]}"; do
    if [ "$package" = clang ]; then
        runtime=$(clang_runtime)
        missing+=(${runtime:+"$runtime"})
    fi
done
apt install -y --no-install-recommends "${missing[@]}"

check "$@"
if [ ${#missing[@]} -ne 0 ]; then
    echo "install-deps: still missing after installing: ${missing[*]}" >&2
    exit 1
fi
