"""pyrometer.fit(): against real ranks of fully_shard, and what the Python object offers."""

import json
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pyrometer = pytest.importorskip("pyrometer")

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fsdp_worker  # noqa: E402


def test_bytes_per_rank_of_fully_shard(tmp_path):
    world = 2
    command = [sys.executable, fsdp_worker.__file__, str(tmp_path)]
    ranks = [subprocess.Popen([*command, str(rank), str(world)]) for rank in range(world)]
    assert [rank.wait(600) for rank in ranks] == [0, 0]
    real = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(world)]
    answer = pyrometer.fit(
        fsdp_worker.Model(),
        fsdp_worker.example(),
        on="16GB",
        gpus=world,
        parallel="fsdp",
        train=True,
    ).answers[0]
    held = answer["held_bytes"]
    assert held["weights"] == real[0]["weights"] == real[1]["weights"]
    assert held["gradients"] == real[0]["gradients"] == real[1]["gradient_storages"]
    assert held["optimizer_states"] == real[0]["optimizer_states"]
    # The last rank has the shorter part of what two ranks do not divide evenly.
    assert real[1]["gradients"] < real[0]["gradients"]


def test_parts_add_up_and_levers_save():
    fit = pyrometer.fit("llama3_8b", on="h100", gpus=8, train=True, precision="bf16", seq=4096)
    assert fit.fits and bool(fit)
    assert sum(fit.parts.values()) == fit.total_bytes
    assert fit.margin_bytes == fit.answers[0]["memory_bytes"] - fit.total_bytes
    for lever in fit.answers[0]["levers"]:
        assert lever["saved_bytes"] + lever["total_bytes"] == fit.total_bytes
    checkpointed = pyrometer.fit(
        "llama3_8b",
        on="h100",
        gpus=8,
        parallel="dp=8,zero1",
        train=True,
        precision="bf16",
        seq=4096,
        checkpoint="blocks",
    )
    lever = next(one for one in fit.answers[0]["levers"] if one["how"] == "--checkpoint blocks")
    assert lever["total_bytes"] == checkpointed.total_bytes


def test_cache_is_paged_and_concurrency_is_the_most(tmp_path):
    one = pyrometer.fit("llama3_8b", on="l40s", seq=1000)
    # 2 x 8 heads x 128 x 32 layers x 2 bytes; 1,000 tokens take 63 blocks of 16.
    assert one.parts["kv_cache"] == 131072 * 1008
    most = one.largest_concurrent
    assert pyrometer.fit("llama3_8b", on="l40s", seq=1000, concurrent=most).fits
    assert not pyrometer.fit("llama3_8b", on="l40s", seq=1000, concurrent=most + 1).fits
    eight = pyrometer.fit("llama3_8b", on="l40s", seq=1000, kv_cache="fp8")
    assert 2 * eight.parts["kv_cache"] == one.parts["kv_cache"]


def test_a_module_with_fixed_sizes():
    fit = pyrometer.fit(torch.nn.Linear(8, 4), torch.ones(2, 8), on=["t4", "24GB"])
    assert fit.largest_batch is None and fit.largest_sequence is None
    assert [one["chip"] for one in fit.answers] == ["T4", "24GB"]
    assert repr(fit) == "<pyrometer.Fit Linear: fits on 1 x T4>"
    assert "Yes, it fits" in str(fit)
    assert list(fit.to_pandas()["fits"]) == [True, True]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"on": "h1000"}, "no known chip"),
        ({"on": []}, "no chip"),
        ({"on": "h100", "parallel": "tp"}, "no layout"),
        ({"on": "h100", "kv_cache": "banana"}, "no type of a cache"),
        ({"on": "h100", "train": True, "concurrent": 2}, "inference"),
    ],
)
def test_wrong_options(options, reason):
    with pytest.raises(ValueError, match=reason):
        pyrometer.fit("gpt2", **options)
