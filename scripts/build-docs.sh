#!/usr/bin/env bash
# Builds the documentation site in build/site with MkDocs Material, in its own virtual environment
# under build/. A broken link fails the build. Requires a built tool (`make docs` builds it).
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/docs-venv
key=$(sha256sum requirements/docs.txt)
if [ "$(cat "$venv/pyrometer-docs.key" 2>/dev/null)" != "$key" ]; then
    echo "Downloading into $venv: MkDocs Material, mkdocstrings and their dependencies, about 30 MB."
    "$(scripts/find-python.sh)" -m venv --clear "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet -r requirements/docs.txt
    echo "$key" >"$venv/pyrometer-docs.key"
fi
"$venv/bin/python" scripts/stage_docs.py build/docs/commands build/site-input
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --quiet --site-dir build/site
echo "Built build/site/index.html"
