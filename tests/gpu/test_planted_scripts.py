"""Scripts with one planted problem each, recorded on a GPU by torch.profiler and by Pyrometer: the
problem is the first finding, at its line or layer, and gone from the fixed script."""

import sys

from gpu.checks import ROOT, check

sys.path.insert(0, str(ROOT / "tests" / "planted_scripts"))

import check as planted


def check_script(name, folder):
    wrong = []
    for recorder, kind, problem, first in planted.check_script(name, folder, "cuda"):
        print(f"{recorder:9} {kind:7} {problem or first}", flush=True)
        if problem:
            wrong.append(f"{recorder}, {kind}: {problem}")
    check(f"{name} is found", not wrong, "; ".join(wrong))


def test_slow_loader(tmp_path):
    check_script("slow_loader", tmp_path)


def test_items(tmp_path):
    check_script("items", tmp_path)


def test_float64(tmp_path):
    check_script("float64", tmp_path)


def test_single_tensor_updates(tmp_path):
    check_script("single_tensor_updates", tmp_path)


def test_leak(tmp_path):
    check_script("leak", tmp_path)


def test_needless_copies(tmp_path):
    check_script("needless_copies", tmp_path)


def test_tiny_ops(tmp_path):
    check_script("tiny_ops", tmp_path)


def test_attention(tmp_path):
    check_script("attention", tmp_path)


def test_pageable_copies(tmp_path):
    check_script("pageable_copies", tmp_path)


def test_small_collectives(tmp_path):
    check_script("small_collectives", tmp_path)
