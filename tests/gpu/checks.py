"""What the tests of tests/gpu share: facts that are printed as they are checked, and a clean GPU.

They import no pytest, because machines with a GPU often have none: tests/gpu/run.py runs them too.
"""

import contextlib
import gc
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", "build/pyrometer"))


def check(name, holds, detail=""):
    """One fact of a test, printed with what was measured."""
    print(f"{'PASS' if holds else 'FAIL'}  {name}{f': {detail}' if detail else ''}", flush=True)
    assert holds, f"{name}: {detail}" if detail else name


def skip(reason):
    raise unittest.SkipTest(reason)


def raises(kind, call):
    """Whether the call raises an exception of that kind."""
    try:
        call()
    except kind:
        return True
    return False


@contextlib.contextmanager
def around(folder):
    """What every test runs in: an empty GPU, its own folder, and nothing of ours left in it."""
    gc.collect()
    torch.cuda.empty_cache()  # what the last test held counts in the peak of the next
    before = os.getcwd(), tempfile.tempdir
    temporary = folder / "temporary"
    temporary.mkdir()
    os.chdir(folder)
    tempfile.tempdir = str(temporary)
    try:
        with mock.patch.dict(os.environ, TMPDIR=str(temporary)):
            yield
    finally:
        os.chdir(before[0])
        tempfile.tempdir = before[1]
    # Lock files stay: deleting one while another process waits for it would give both the lock.
    left = sorted(path.name for path in temporary.glob("pyrometer-*") if path.suffix != ".lock")
    assert not left, f"left behind: {', '.join(left[:5])}"
