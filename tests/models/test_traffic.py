"""Traffic of language models equals that of a run per operator, not that of an export."""

import json
import pathlib
import subprocess

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("zstandard")

import compare_traffic
import small_models
import torch
import traffic

if not pathlib.Path(compare_traffic.TOOL).exists():
    pytest.skip(f"{compare_traffic.TOOL} is not built", allow_module_level=True)

# One of each kind of attention: grouped heads, equal heads, windows, two products, always with a
# mask, with a bias, over latents; and experts.
DECODED = (
    "llama3_1_8b",
    "gpt2",
    "gemma3_1b",
    "gemma2_2b",
    "falcon_7b",
    "bloom_560m",
    "deepseek_v2_lite",
    "mixtral_8x7b",
)
READ = ("llama3_1_8b", "mistral_7b", "opt_125m")
RUN = ("LlamaForCausalLM", "Gemma2ForCausalLM", "FalconForCausalLM", "DeepseekV2ForCausalLM")


def priced(path, *options):
    command = [compare_traffic.TOOL, "cost", str(path), "--format", "json", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("name", DECODED)
def test_decoding_moves_what_a_recorded_step_moves(name):
    found = compare_traffic.compare(name)
    # Remaining differences are tensors of one number each.
    assert 0 <= found.rest <= (8 if compare_traffic.explanation(name, decode=True) else 0)


@pytest.mark.parametrize("name", READ)
def test_reading_a_prompt_moves_what_a_recorded_run_moves(name):
    assert compare_traffic.compare(name, decode=False).rest == 0


@pytest.mark.parametrize("class_name", RUN)
def test_a_run_with_values_moves_the_same(class_name):
    """Recording without values gives the same as a real run."""
    real, without_values = compare_traffic.small_steps(class_name)
    assert real == without_values


def test_a_long_cache_of_grouped_heads_is_read_once():
    """Weights and 131,072 tokens of 8 heads in 32 layers, by hand: 30 GiB, not 238."""
    cost = priced(
        compare_traffic.SKELETONS / "llama3_1_8b.decode.pt2",
        "--input",
        "past_keys_0=1,8,131072,128",
    )
    cache = 2 * 32 * 8 * 131072 * 128 * 2
    weights = 2 * (8030261248 - 128256 * 4096)  # of the embedding, only one row is read
    assert cost["decode"]["kv_cache_read_bytes"] == cache == 16 * 2**30
    assert cache + weights < cost["total_memory"] < (cache + weights) * 1.001


def _recorded(module, length):
    return traffic.record(
        module, input_ids=torch.zeros(1, length, dtype=torch.int64), use_cache=False
    )


@pytest.fixture(scope="module")
def windowed(tmp_path_factory):
    """A model with a window of 64 tokens, as users export and save it."""
    module = small_models.build("MistralForCausalLM", num_hidden_layers=1)
    any_size = {"input_ids": {1: torch.export.Dim.AUTO}, "use_cache": None}
    given = {"input_ids": torch.zeros(1, 32, dtype=torch.int64), "use_cache": False}
    path = tmp_path_factory.mktemp("exported") / "mistral.pt2"
    with torch.no_grad():
        torch.export.save(torch.export.export(module, (), given, dynamic_shapes=any_size), path)
    return module, path


@pytest.mark.parametrize("length", [32, 63])
def test_a_file_of_ones_own_has_no_mask_below_the_window(windowed, length):
    module, path = windowed
    found = _recorded(module, length)
    cost = priced(path, "--seq", str(length))
    # A run looks for packed sequences in the positions; only these would need a mask.
    assert 0 <= found.total - cost["total_memory"] < 100 * length
    assert found.bytes["clone"] == 0
    assert any("transformers" in note for note in cost["notes"])


def test_copies_that_a_run_makes_are_counted_from_the_window_on(windowed):
    """In this case a run has a mask, and repeats the heads."""
    module, path = windowed
    found = _recorded(module, 64)
    cost = priced(path, "--seq", "64")
    copies = [row["memory"] for row in cost["operators_by_type"] if row["name"] == "Reshape"]
    assert copies == [found.bytes["clone"]]
    assert copies[0] == 2 * 2 * 8 * 64 * 8 * 2


class _Repeats(torch.nn.Module):
    """Grouped heads that the model itself repeats, with or without a mask."""

    def __init__(self, masked):
        super().__init__()
        self.masked = masked

    def forward(self, query, key, value):
        key, value = (
            one[:, :, None].expand(-1, -1, 4, -1, -1).reshape(query.shape) for one in (key, value)
        )
        positions = torch.arange(query.shape[2])
        mask = positions[None, :] <= positions[:, None] if self.masked else None
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=not self.masked
        )


@pytest.mark.parametrize("masked", [False, True])
def test_heads_that_a_model_repeats_itself_are_counted(masked, tmp_path):
    given = (torch.zeros(1, 8, 32, 16), torch.zeros(1, 2, 32, 16), torch.zeros(1, 2, 32, 16))
    module = _Repeats(masked)
    torch.export.save(torch.export.export(module, given), tmp_path / "own.pt2")
    found = traffic.record(module, *given)
    assert found.bytes["clone"] == 2 * 2 * 8 * 32 * 16 * 4
    assert priced(tmp_path / "own.pt2")["total_memory"] == found.total


def test_caches_of_transformers_move_more():
    """A growing cache copies itself; a preallocated one has a mask and repeats the heads."""
    from transformers import DynamicCache, StaticCache

    module = small_models.build("LlamaForCausalLM", num_hidden_layers=1)
    tokens = torch.zeros(1, 33, dtype=torch.int64)
    steps = {}
    for make in (DynamicCache, StaticCache):
        room = {"max_cache_len": 33} if make is StaticCache else {}
        cache = make(config=module.config, **room)
        with torch.no_grad():
            module(tokens[:, :32], past_key_values=cache, use_cache=True)
        steps[make] = traffic.record(
            module, tokens[:, 32:], past_key_values=cache, use_cache=True
        ).calls
    of_cache = (1, 2, 33, 8)
    grown = [call for call in steps[DynamicCache] if call[0] == "cat" and call[2] == [of_cache]]
    assert len(grown) == 2
    attention = {
        make: next(c for c in calls if "attention" in c[0]) for make, calls in steps.items()
    }
    assert attention[DynamicCache][1] == [(1, 8, 1, 8), of_cache, of_cache]
    assert attention[StaticCache][1][1:] == [(1, 8, 33, 8), (1, 8, 33, 8), (1, 1, 1, 33)]
    assert sum(call[0] == "clone" for call in steps[StaticCache]) == 2
    assert not any(call[0] == "clone" for call in steps[DynamicCache])
