#!/usr/bin/env bash
# Prints the Python interpreter for the build, the virtual environment and the tests: $PYTHON if
# set, otherwise the first that is new enough, can make a venv and has headers.
set -euo pipefail

oldest="3.11"

# Prints the interpreter's path, or on standard error what it lacks.
examine() {
    "$1" - "$oldest" <<'PY'
import importlib.util
import os
import sys
import sysconfig

oldest = tuple(map(int, sys.argv[1].split(".")))
header = os.path.join(sysconfig.get_path("include"), "Python.h")
if sys.version_info[:2] < oldest:
    sys.exit("is %d.%d, older than %s" % (sys.version_info[:2] + (sys.argv[1],)))
if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
    sys.exit("has no venv module (Debian: python3-venv)")
if not os.path.exists(header):
    sys.exit("has no headers: %s is missing (Debian: python3-dev)" % header)
print(sys.executable)
PY
}

if [ -n "${PYTHON:-}" ]; then
    if ! command -v "$PYTHON" >/dev/null; then
        echo "find-python: $PYTHON: no such interpreter" >&2
        exit 1
    fi
    if ! reason=$(examine "$PYTHON" 2>&1); then
        echo "find-python: $PYTHON $reason" >&2
        exit 1
    fi
    echo "$reason"
    exit 0
fi

for candidate in python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3; do
    if command -v "$candidate" >/dev/null && examine "$candidate" 2>/dev/null; then
        exit 0
    fi
done
echo "find-python: no Python $oldest or newer with venv and headers" \
    "(Debian: python3 python3-venv python3-dev); install one, or set PYTHON=/path/to/python" >&2
exit 1
