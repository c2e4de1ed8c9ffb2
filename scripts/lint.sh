#!/usr/bin/env bash
# Checks the format of C, the style of Python and, where shellcheck is, the shell scripts.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-lint
key=$(sha256sum requirements/lint.txt)
if [ "$(cat "$venv/pyrometer-lint.key" 2>/dev/null)" != "$key" ]; then
    echo "Into $venv will be downloaded: clang-format and ruff, about 15 MB."
    "$(scripts/find-python.sh)" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet -r requirements/lint.txt
    echo "$key" >"$venv/pyrometer-lint.key"
fi

files() { git ls-files --cached --others --exclude-standard -- "$@"; }

echo "clang-format"
files '*.c' '*.h' | xargs -r "$venv/bin/clang-format" --dry-run -Werror
echo "ruff"
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
if command -v shellcheck >/dev/null; then
    echo "shellcheck"
    { files '*.sh'; echo .ci/run; } | xargs shellcheck
else
    echo "shellcheck: skipped, it is not installed"
fi
