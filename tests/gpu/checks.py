"""Shared by the tests of tests/gpu: checks that print their facts, and a clean GPU.

Imports no pytest, which machines with a GPU often lack: tests/gpu/run.py runs the tests too.
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
    """Checks one fact and prints it with the measured values."""
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
    """Runs a test with an empty GPU and its own folder; fails if temporary files are left."""
    gc.collect()
    torch.cuda.empty_cache()  # memory that the last test held would count in the next test's peak
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
