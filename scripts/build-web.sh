#!/usr/bin/env bash
# Builds the page, web/dist/index.html, which the library embeds. Downloads its packages from the npm
# registry once (about 70 MB). Without Node or a network everything else is built, and
# `pyrometer report` says what is missing; with --strict that is an error.
set -euo pipefail
cd "$(dirname "$0")/../web"

without_page() {
    echo "The page is not built: $1. 'make web' builds it later." >&2
    [ "${strict:-}" ] && exit 1
    exit 0
}

[ "${1:-}" = --strict ] && strict=yes
export npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false

major=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')
[ "${major:-0}" -ge 18 ] || without_page "Node 18 or newer is missing (Debian: nodejs, npm)"
command -v npm >/dev/null || without_page "npm is missing"

packages_key=$(cat package.json package-lock.json | sha256sum | cut -d' ' -f1)
if [ "$(cat node_modules/pyrometer.key 2>/dev/null)" != "$packages_key" ]; then
    echo "== Packages of the page (about 70 MB)"
    # Not `npm ci`: it insists on the packages of other platforms, which a registry may lack.
    npm install --no-save --loglevel=error || without_page "its packages could not be installed"
    echo "$packages_key" >node_modules/pyrometer.key
fi

source_key=$(find index.html src package-lock.json tsconfig.json vite.config.ts -type f -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
if [ ! -f dist/index.html ] || [ "$(cat dist/.key 2>/dev/null)" != "$source_key" ]; then
    echo "== The page: web/dist/index.html"
    npm run build --silent -- --logLevel error
    echo "$source_key" >dist/.key
fi
