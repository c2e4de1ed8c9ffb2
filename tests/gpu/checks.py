"""What the checks for machines with a GPU share: a line for each thing, and what has failed."""

import contextlib
import traceback

failures = []


def check(name, holds, detail=""):
    print(f"{'PASS' if holds else 'FAIL'}  {name}{f': {detail}' if detail else ''}", flush=True)
    if not holds:
        failures.append(name)


@contextlib.contextmanager
def section(name):
    print(f"\n== {name}", flush=True)
    try:
        yield
    except Exception:
        traceback.print_exc()
        check(f"{name} without an exception", False)
