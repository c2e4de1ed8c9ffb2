#!/usr/bin/env bash
# Checks the format of C and how it tests pointers, the style of Python, the wording of documents
# and the shell scripts (on AArch64 only if shellcheck is installed).
# `lint.sh --fix` reformats the files.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-lint
key=$(sha256sum requirements/lint.txt)
if [ "$(cat "$venv/pyrometer-lint.key" 2>/dev/null)" != "$key" ]; then
    echo "Downloading into $venv: clang-format, ruff and shellcheck, about 20 MB."
    "$(scripts/find-python.sh)" -m venv --clear "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet \
        -r requirements/lint.txt
    echo "$key" >"$venv/pyrometer-lint.key"
fi

files() { git ls-files --cached --others --exclude-standard -- "$@"; }

if [ "${1:-}" = --fix ]; then
    if [ "${pointer_tests:-on}" = on ]; then
        files '*.c' '*.h' | xargs -r "$venv/bin/python" scripts/null_tests.py --fix
    fi
    files '*.c' '*.h' | xargs -r "$venv/bin/clang-format" -i
    "$venv/bin/ruff" check --quiet --fix . || true
    "$venv/bin/ruff" format --quiet .
    exit 0
fi

failed=()
check() {
    local name=$1
    shift
    echo "$name"
    "$@" || failed+=("$name")
}

check_c() { files '*.c' '*.h' | xargs -r "$venv/bin/clang-format" --dry-run -Werror; }
check_pointers() { files '*.c' '*.h' | xargs -r "$venv/bin/python" scripts/null_tests.py; }
check_shell() { { files '*.sh'; echo .ci/run; } | xargs "$shellcheck"; }

check "clang-format" check_c
if [ "${pointer_tests:-on}" = on ]; then
    check "pointer tests" check_pointers
fi
check "ruff check" "$venv/bin/ruff" check --quiet .
check "ruff format" "$venv/bin/ruff" format --quiet --check .
# --code checks strings and comments of C and Python too.
check "words" scripts/check-words.py --code
shellcheck=$(PATH=$venv/bin:$PATH command -v shellcheck) || true
if [ -n "$shellcheck" ]; then
    check "shellcheck" check_shell
else
    echo "shellcheck: skipped, not installed"
fi
if [ ${#failed[@]} -ne 0 ]; then
    echo "lint: failed: ${failed[*]}; run 'make format', then fix the rest by hand" >&2
    exit 1
fi
