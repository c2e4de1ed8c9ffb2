#!/bin/sh
# make-efficiency.sh TRACE...: writes src/predict/shipped.json, the table of efficiencies that ships, from
# traces and recordings alone.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: make efficiency TRACES=\"TRACE...\"" >&2; exit 2; }
new=$(mktemp build/efficiency.XXXXXX)
rm -f "$new"
trap 'rm -f "$new" "$new.lock"' EXIT
build/pyrometer learn "$@" --table "$new"
mv "$new" src/predict/shipped.json
echo "wrote src/predict/shipped.json; the next build embeds it"
