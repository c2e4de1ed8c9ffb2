#!/usr/bin/env bash
# Installs a build into a temporary prefix, checks for the expected files, and builds and runs
# the C example against that copy, shared and static: run.sh BUILD
set -euo pipefail

build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() {
    echo "install test: $*" >&2
    exit 1
}

expect_file() {
    local found
    found=$(find "$prefix" -path "$prefix/$1" -size +0 | head -n 1)
    [ -n "$found" ] || fail "nothing installed as $1"
}

"${CMAKE:-cmake}" --install "$build" --prefix "$prefix" >/dev/null

for pattern in bin/pyrometer 'lib*/libpyrometer.so' 'lib*/libpyrometer.a' \
    'lib*/pkgconfig/pyrometer.pc' include/pyrometer/pyrometer.h include/pyrometer/cost.h \
    share/pyrometer/schemas/cost-1.json share/man/man1/pyrometer.1 share/man/man1/pyrometer-cost.1 \
    share/bash-completion/completions/pyrometer share/zsh/site-functions/_pyrometer; do
    expect_file "$pattern"
done

# The tool is one file: it must not depend on the installed library.
needs_library() { grep -q libpyrometer <<<"$(ldd "$1")"; }
! needs_library "$prefix/bin/pyrometer" || fail "bin/pyrometer needs libpyrometer.so"
# Only the documented API may be exported.
foreign=$(nm -D --defined-only "$(find "$prefix" -name libpyrometer.so)" |
    awk '$3 !~ /^pyro_/ { print $3 }')
[ -z "$foreign" ] || fail "libpyrometer.so exports $foreign"

pc=$(find "$prefix" -name pyrometer.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir pyrometer)
cc=${CC:-cc}

build_example() {
    local output=$1
    shift
    "$cc" -std=c11 -Wall -Wextra -Werror "$source/examples/c/cost.c" -o "$output" "$@"
}

read -r -a shared_flags <<<"$(pkg-config --cflags --libs pyrometer)"
build_example "$prefix/cost-shared" "${shared_flags[@]}"
# The archive is named by its path, because -static would also require a static libc.
read -r -a static_flags <<<"$(pkg-config --static --cflags --libs pyrometer)"
build_example "$prefix/cost-static" "${static_flags[@]/#-lpyrometer/$libdir/libpyrometer.a}"

! needs_library "$prefix/cost-static" || fail "the static example needs libpyrometer.so"
needs_library "$prefix/cost-shared" || fail "the shared example holds the library"
LD_LIBRARY_PATH=$libdir "$prefix/cost-shared" resnet18 >"$prefix/shared.txt"
"$prefix/cost-static" resnet18 >"$prefix/static.txt"
cmp "$prefix/shared.txt" "$prefix/static.txt" || fail "the shared and the static example differ"
grep -q 'params *11689512' "$prefix/shared.txt" || fail "resnet18 has other parameters"
if "$prefix/cost-static" /no/such/file.pt2 2>"$prefix/error.txt"; then
    fail "the example took a missing file"
fi
grep -q '/no/such/file.pt2' "$prefix/error.txt" || fail "the error does not name the file"
cat "$prefix/shared.txt"
