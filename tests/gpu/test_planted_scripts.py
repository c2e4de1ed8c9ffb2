"""Scripts with one planted problem each, recorded on a GPU by Pyrometer and by torch.profiler: the
problem is the first finding, at its line or layer, and gone from the fixed script."""

import functools
import pathlib
import sys
import tempfile

from gpu.checks import ROOT, check

sys.path.insert(0, str(ROOT / "tests" / "planted_scripts"))

import check as planted

OUTSIDE_TESTS = tempfile.gettempdir()  # each test has another one, which is gone at its end


@functools.cache
def recordings():
    """The folder of all recordings, which are made once."""
    folder = tempfile.TemporaryDirectory(prefix="planted-", dir=OUTSIDE_TESTS)
    planted.record_all(planted.NAMES, pathlib.Path(folder.name), "cuda")
    return folder


def check_script(name):
    wrong = []
    folder = pathlib.Path(recordings().name)
    for recorder, kind, problem, first in planted.check_recordings(name, folder, "cuda"):
        print(f"{recorder:9} {kind:7} {problem or first}", flush=True)
        if problem:
            wrong.append(f"{recorder}, {kind}: {problem}")
    check(f"{name} is found", not wrong, "; ".join(wrong))


def test_slow_loader():
    check_script("slow_loader")


def test_items():
    check_script("items")


def test_float64():
    check_script("float64")


def test_single_tensor_updates():
    check_script("single_tensor_updates")


def test_leak():
    check_script("leak")


def test_needless_copies():
    check_script("needless_copies")


def test_tiny_ops():
    check_script("tiny_ops")


def test_attention():
    check_script("attention")


def test_pageable_copies():
    check_script("pageable_copies")


def test_small_collectives():
    check_script("small_collectives")
