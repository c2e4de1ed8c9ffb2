#!/bin/sh
# make-efficiency.sh TRACE...: writes src/predict/shipped.json, the table of efficiencies that ships, from
# traces and recordings alone. Rows that similar ones predict within THIN percent (20) are left out.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: make efficiency TRACES=\"TRACE...\"" >&2; exit 2; }
new=$(mktemp build/efficiency.XXXXXX)
rm -f "$new"
trap 'rm -f "$new" "$new.lock" "$new.thin" "$new.thin.lock"' EXIT
build/pyrometer learn "$@" --table "$new" -q
build/pyrometer learn --merge "$new" --thin "${THIN:-20}" --table "$new.thin" -q
mv "$new.thin" "$new"
mv "$new" src/predict/shipped.json
echo "wrote src/predict/shipped.json; the next build embeds it"
