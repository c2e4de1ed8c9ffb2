"""
Compares the graphs that follow from config.json with transformers: parameters and FLOPs.

    compare_folders.py TOOL [--families NAME,...] [--count N]
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

LENGTH = 12

# Class names of the families, and fields beyond those that all have.
FAMILIES = {
    "llama": ("Llama", {"attention_bias": [True, False], "mlp_bias": [True, False]}),
    "mistral": ("Mistral", {"sliding_window": [None, 64]}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"attention_bias": [True, False], "head_dim": [8, 32]}),
    "gemma": ("Gemma", {"head_dim": [8, 32]}),
    "gemma2": ("Gemma2", {"head_dim": [8, 32]}),
    "gemma3_text": ("Gemma3", {"head_dim": [8, 32]}),
    "phi3": ("Phi3", {"pad_token_id": [0]}),
    "granite": ("Granite", {"attention_bias": [True, False], "mlp_bias": [True, False]}),
    "olmo": ("Olmo", {}),
    "olmo2": ("Olmo2", {}),
    "starcoder2": ("Starcoder2", {"use_bias": [True, False]}),
    "cohere": ("Cohere", {"attention_bias": [True, False]}),
    "mixtral": ("Mixtral", {"num_local_experts": [4, 8], "num_experts_per_tok": [1, 2]}),
    "qwen3_moe": ("Qwen3Moe", {"num_experts": [4, 8], "num_experts_per_tok": [2, 3],
                               "moe_intermediate_size": [24, 40], "decoder_sparse_step": [1, 2],
                               "head_dim": [16]}),
    "qwen2_moe": ("Qwen2Moe", {"num_experts": [4, 8], "num_experts_per_tok": [2, 3],
                               "moe_intermediate_size": [24, 40],
                               "shared_expert_intermediate_size": [48, 56]}),
    "deepseek_v3": ("DeepseekV3", {"n_routed_experts": [8, 16], "num_experts_per_tok": [2, 4],
                                   "moe_intermediate_size": [24], "n_shared_experts": [1, 2],
                                   "first_k_dense_replace": [0, 1], "q_lora_rank": [None, 24],
                                   "kv_lora_rank": [16], "qk_nope_head_dim": [16],
                                   "qk_rope_head_dim": [8], "v_head_dim": [16, 24],
                                   "n_group": [2], "topk_group": [1]}),
}  # fmt: skip


def configure(family: str, dice: random.Random) -> transformers.PretrainedConfig:
    """A random small configuration of a family."""
    name, extra = FAMILIES[family]
    heads = dice.choice([2, 4, 8])
    fields = {
        "hidden_size": 16 * heads, "num_hidden_layers": dice.choice([1, 2, 3]),
        "num_attention_heads": heads, "intermediate_size": dice.choice([64, 96, 136]),
        "num_key_value_heads": heads if family.startswith("deepseek") else dice.choice(
            [1, 2, heads]), "vocab_size": dice.choice([100, 130]),
        "max_position_embeddings": 256, "tie_word_embeddings": dice.choice([True, False]),
    }  # fmt: skip
    fields.update({key: dice.choice(values) for key, values in extra.items()})
    config_name = f"{name}TextConfig" if family == "gemma3_text" else f"{name}Config"
    return getattr(transformers, config_name)(**fields)


def compare(tool: str, family: str, dice: random.Random, folder: pathlib.Path) -> list[str]:
    """What differs for one random configuration."""
    config = configure(family, dice)
    config.architectures = [f"{FAMILIES[family][0]}ForCausalLM"]
    config._attn_implementation = "eager" if family == "gemma2" else "sdpa"
    model = getattr(transformers, config.architectures[0])(config).eval()
    config.save_pretrained(folder)
    command = [tool, "cost", str(folder), "--seq", str(LENGTH), "--convention", "torch"]
    result = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    if result.returncode:
        return [result.stderr.strip()]
    cost = json.loads(result.stdout)
    found = []
    parameters = sum(value.numel() for value in model.parameters())
    if cost["params"] != parameters:
        found.append(f"parameters {cost['params']} not {parameters}")
    if "moe" in family or family in ("mixtral", "deepseek_v3"):
        return found  # torch's counter does not see the products of experts
    counter = FlopCounterMode(display=False)
    with (
        torch.no_grad(),
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        counter,
    ):
        model(torch.randint(0, 90, (1, LENGTH)), use_cache=False)
    if cost["total_flops"] != counter.get_total_flops():
        found.append(f"FLOPs {cost['total_flops']} not {counter.get_total_flops()}")
    return found


def main() -> int:
    """Compares all families; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--count", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    failed = 0
    for family in options.families.split(","):
        for number in range(options.count):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found = compare(options.tool, family, random.Random(f"{family} {number}"),
                                    pathlib.Path(folder))  # fmt: skip
                except Exception as error:
                    found = [f"{type(error).__name__}: {str(error)[:200]}"]
            failed += bool(found)
            print(family, number, "; ".join(found) or "equal", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
