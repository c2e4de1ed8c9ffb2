"""
Compares the graphs that follow from config.json with transformers: parameters, and MACs of a prompt
and of a decoding step as in the graph that torch exports of the same model.

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
from typing import Any

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import pyrometer

LENGTH, PAST, TARGET = 12, 9, 7

BIAS = {"attention_bias": [True, False]}
WINDOW = {"sliding_window": [6, 64]}
EXPERTS = {"num_experts_per_tok": [1, 2], "num_local_experts": [4, 8]}
MLA = {
    "n_routed_experts": [8, 16], "num_experts_per_tok": [2, 4], "moe_intermediate_size": [24],
    "n_shared_experts": [1, 2], "first_k_dense_replace": [0, 1], "q_lora_rank": [None, 24],
    "kv_lora_rank": [16], "qk_nope_head_dim": [16], "qk_rope_head_dim": [8],
    "v_head_dim": [16, 24], "n_group": [2], "topk_group": [1],
}  # fmt: skip
# Class names of decoders, and fields beyond those that all have.
DECODERS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "llama": ("Llama", BIAS | {"mlp_bias": [True, False], "head_dim": [None, 8]}),
    "mistral": ("Mistral", {"sliding_window": [None, 6, 64]}),
    "ministral": ("Ministral", WINDOW | {"head_dim": [8]}),
    "qwen2": ("Qwen2", {"use_sliding_window": [True, False], "max_window_layers": [1], **WINDOW}),
    "qwen3": ("Qwen3", BIAS | {"head_dim": [8, 32]}),
    "gemma": ("Gemma", {"head_dim": [8, 32]}),
    "gemma2": ("Gemma2", {"head_dim": [8, 32], **WINDOW}),
    "gemma3_text": ("Gemma3", {"head_dim": [8, 32], **WINDOW}),
    "phi": ("Phi", {"qk_layernorm": [True, False]}),
    "phi3": ("Phi3", {"pad_token_id": [0], "sliding_window": [None, 6]}),
    "granite": ("Granite", BIAS | {"mlp_bias": [True, False]}),
    "olmo": ("Olmo", {}),
    "olmo2": ("Olmo2", {}),
    "olmo3": ("Olmo3", {"num_hidden_layers": [4, 5], **WINDOW}),
    "starcoder2": ("Starcoder2", {"use_bias": [True, False], "sliding_window": [None, 6]}),
    "cohere": ("Cohere", BIAS | {"use_qk_norm": [True, False]}),
    "cohere2": ("Cohere2", BIAS | {"num_hidden_layers": [4, 5], **WINDOW}),
    "glm": ("Glm", BIAS | {"head_dim": [8, 16], "pad_token_id": [0]}),
    "glm4": ("Glm4", BIAS | {"head_dim": [8, 16], "pad_token_id": [0]}),
    "smollm3": ("SmolLM3", {"pad_token_id": [0]}),
    "gpt2": ("GPT2", {"n_inner": [None, 96]}),
    "gpt_neox": ("GPTNeoX", BIAS | {"use_parallel_residual": [True, False]}),
    "opt": ("OPT", {"ffn_dim": [64, 96], "enable_bias": [True, False],
                    "word_embed_proj_dim": [None, 24]}),
    "mixtral": ("Mixtral", EXPERTS | {"sliding_window": [None, 6]}),
    "qwen2_moe": ("Qwen2Moe", {"num_experts": [4, 8], "num_experts_per_tok": [2, 3],
                               "moe_intermediate_size": [24, 40],
                               "shared_expert_intermediate_size": [48, 56],
                               "decoder_sparse_step": [1, 2]}),
    "qwen3_moe": ("Qwen3Moe", {"num_experts": [4, 8], "num_experts_per_tok": [2, 3],
                               "moe_intermediate_size": [24, 40], "decoder_sparse_step": [1, 2],
                               "head_dim": [16]}),
    "qwen3_next": ("Qwen3Next", {"num_experts": [4, 8], "num_experts_per_tok": [2, 3],
                                 "moe_intermediate_size": [24], "head_dim": [8, 16],
                                 "shared_expert_intermediate_size": [40],
                                 "linear_num_key_heads": [2], "linear_num_value_heads": [2, 4],
                                 "linear_key_head_dim": [8], "linear_value_head_dim": [8, 16],
                                 "num_hidden_layers": [4, 5]}),
    "olmoe": ("Olmoe", {"num_experts": [4, 8], "num_experts_per_tok": [2, 3]}),
    "granitemoe": ("GraniteMoe", BIAS | EXPERTS),
    "gpt_oss": ("GptOss", BIAS | EXPERTS | WINDOW | {"head_dim": [8, 16]}),
    "llama4_text": ("Llama4", EXPERTS | {"intermediate_size_mlp": [72], "head_dim": [8, 16],
                                         "interleave_moe_layer_step": [1, 2],
                                         "attention_chunk_size": [64]}),
    "deepseek_v2": ("DeepseekV2", MLA),
    "deepseek_v3": ("DeepseekV3", MLA),
}  # fmt: skip

ENCODER = {"hidden_size": [32, 64], "num_hidden_layers": [1, 2, 3], "num_attention_heads": [2, 4],
           "intermediate_size": [48, 96]}  # fmt: skip
TEXT = {"vocab_size": [100, 130], "max_position_embeddings": [64, 80]}
IMAGE = {"image_size": [32, 48], "patch_size": [8, 16]}
SIDES = {"d_model": [32, 64], "encoder_layers": [1, 2], "decoder_layers": [1, 3],
         "encoder_attention_heads": [2, 4], "decoder_attention_heads": [2, 8],
         "encoder_ffn_dim": [48], "decoder_ffn_dim": [56], "vocab_size": [100, 130],
         "pad_token_id": [0]}  # fmt: skip
# Classes of a model and of its configuration, by a name that may add the head to the family.
OTHERS: dict[str, tuple[str, str, dict[str, list[Any]]]] = {
    "bert": ("BertForMaskedLM", "BertConfig", ENCODER | TEXT),
    "bert classifier": ("BertForSequenceClassification", "BertConfig", ENCODER | TEXT),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", ENCODER | TEXT),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig",
                   {"dim": [32, 64], "n_layers": [1, 2], "n_heads": [2, 4],
                    "hidden_dim": [48, 96], **TEXT}),
    "vit": ("ViTForImageClassification", "ViTConfig",
            ENCODER | IMAGE | {"num_labels": [2, 10], "qkv_bias": [True, False]}),
    "dinov2": ("Dinov2ForImageClassification", "Dinov2Config",
               {key: value for key, value in ENCODER.items() if key != "intermediate_size"}
               | IMAGE | {"num_labels": [3], "use_swiglu_ffn": [True, False],
                          "mlp_ratio": [2, 4]}),
    "siglip_vision_model": ("SiglipVisionModel", "SiglipVisionConfig", ENCODER | IMAGE),
    "clip_vision_model": ("CLIPVisionModel", "CLIPVisionConfig", ENCODER | IMAGE),
    "t5": ("T5ForConditionalGeneration", "T5Config",
           {"d_model": [32, 64], "d_kv": [8, 16], "d_ff": [48], "num_layers": [1, 2],
            "num_decoder_layers": [1, 3], "num_heads": [2, 4], "vocab_size": [100],
            "feed_forward_proj": ["relu", "gated-gelu"]}),
    "bart": ("BartForConditionalGeneration", "BartConfig",
             SIDES | {"max_position_embeddings": [64]}),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig",
                SIDES | {"max_source_positions": [20, 30], "max_target_positions": [40],
                         "num_mel_bins": [8, 10]}),
}  # fmt: skip


# Classes of a vision tower and of a text model, by family; both get random fields.
MULTIMODAL = {
    "llava": ("Llava", [("clip_vision_model", "llama"), ("clip_vision_model", "qwen2")]),
    "gemma3": ("Gemma3", [("siglip_vision_model", "gemma3_text")]),
}


def chosen(values: dict[str, list[Any]], dice: random.Random) -> dict[str, Any]:
    """One value of each field; fields without a value are left out."""
    picked = {name: dice.choice(options) for name, options in values.items()}
    return {name: value for name, value in picked.items()}


def configure_decoder(family: str, dice: random.Random) -> transformers.PretrainedConfig:
    """A random small configuration of a family of decoders."""
    name, extra = DECODERS[family]
    heads = dice.choice([2, 4, 8])
    fields = {
        "hidden_size": 16 * heads, "num_hidden_layers": dice.choice([1, 2, 3]),
        "num_attention_heads": heads, "intermediate_size": dice.choice([64, 96, 136]),
        "num_key_value_heads": heads if family.startswith("deepseek") else dice.choice(
            [1, 2, heads]), "vocab_size": dice.choice([100, 130]),
        "max_position_embeddings": 256, "tie_word_embeddings": dice.choice([True, False]),
    }  # fmt: skip
    if family == "gpt2":
        fields = {"n_embd": 16 * heads, "n_layer": dice.choice([1, 2, 3]), "n_head": heads,
                  "vocab_size": 100, "n_positions": 64}  # fmt: skip
    fields.update(chosen(extra, dice))
    if fields.get("word_embed_proj_dim", 0) is None:
        fields["word_embed_proj_dim"] = fields["hidden_size"]
    if family == "llama" and fields["head_dim"] is None:
        del fields["head_dim"]
    text = family in ("gemma3_text", "llama4_text")
    return getattr(transformers, f"{name}{'Text' if text else ''}Config")(**fields)


class Decode(torch.nn.Module):
    """One token of a decoder, with its cache as inputs."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, keys, values):
        cache = transformers.DynamicCache(config=self.model.config)
        for layer, (key, value) in enumerate(zip(keys, values, strict=True)):
            cache.update(key, value, layer)
        return self.model(input_ids, past_key_values=cache, use_cache=True).logits


def cached_tensors(model: torch.nn.Module) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Keys and values that a prompt of PAST tokens leaves in the cache."""
    with torch.no_grad():
        ids = torch.zeros(1, PAST, dtype=torch.int64)
        cache = model(ids, use_cache=True).past_key_values
    return [layer.keys for layer in cache.layers], [layer.values for layer in cache.layers]


def answer(tool: str, folder: pathlib.Path, *options: str) -> dict[str, Any]:
    """The tool's answer about a folder."""
    command = [tool, "cost", str(folder), "--format", "json", *options]
    # Without a Python to find, only config.json can be used.
    result = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/none"})
    if result.returncode:
        raise RuntimeError(result.stderr.strip())
    return json.loads(result.stdout)


def dense_experts(config: transformers.PretrainedConfig, tokens: int) -> int:
    """MACs of experts that transformers' Llama 4 computes although no token chose them."""
    if config.model_type != "llama4_text":
        return 0
    unused = config.num_local_experts - config.num_experts_per_tok
    return (
        len(config.moe_layers) * tokens * unused * 3 * config.hidden_size
        * config.intermediate_size
    )  # fmt: skip


def compare_decoder(tool: str, family: str, dice: random.Random, folder: pathlib.Path) -> list[str]:
    """What differs for one random configuration of a decoder."""
    config = configure_decoder(family, dice)
    name = DECODERS[family][0]
    config.architectures = [name + ("LMHeadModel" if name == "GPT2" else "ForCausalLM")]
    model = getattr(transformers, config.architectures[0])(config).eval()
    config.save_pretrained(folder)
    cost = answer(tool, folder, "--seq", str(LENGTH))
    step = answer(tool, folder, "--decode", "--past", str(PAST))
    ids = torch.zeros(1, LENGTH, dtype=torch.int64)
    found = differences(cost, model, {"input_ids": ids, "use_cache": False},
                        dense_experts(config, LENGTH))  # fmt: skip
    if "linear_attention" in (getattr(config, "layer_types", None) or ()):
        with torch.no_grad():
            cache = model(ids[:, :PAST], use_cache=True).past_key_values
        exported = run_macs(model, {"input_ids": ids[:, :1], "past_key_values": cache})
    else:
        keys, values = cached_tensors(model)
        inputs = {"input_ids": ids[:, :1], "keys": keys, "values": values}
        exported = pyrometer.cost(Decode(model).eval(), kwargs=inputs).total_macs
    exported -= dense_experts(config, 1)
    if step["total_macs"] != exported:
        found.append(f"decode: MACs {step['total_macs']} not {exported}")
    return found


def inputs_of(config: transformers.PretrainedConfig) -> tuple[dict[str, Any], list[str]]:
    """Inputs of a model that is no decoder, and the options that set the same sizes."""
    ids = torch.zeros(1, LENGTH, dtype=torch.int64)
    target = torch.zeros(1, TARGET, dtype=torch.int64)
    if config.model_type == "whisper":
        features = torch.zeros(1, config.num_mel_bins, 2 * config.max_source_positions)
        inputs = {"input_features": features, "decoder_input_ids": target, "use_cache": False}
        return inputs, ["--input", f"decoder_input_ids=1,{TARGET}"]
    if hasattr(config, "image_size"):
        side = config.image_size
        return {"pixel_values": torch.zeros(1, 3, side, side)}, []
    if config.is_encoder_decoder:
        inputs = {"input_ids": ids, "decoder_input_ids": target, "use_cache": False}
        return inputs, ["--seq", str(LENGTH), "--input", f"decoder_input_ids=1,{TARGET}"]
    return {"input_ids": ids}, ["--seq", str(LENGTH)]


class CountExperts(TorchDispatchMode):
    """Counts products of experts, which FlopCounterMode does not know."""

    def __init__(self) -> None:
        super().__init__()
        self.macs = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if "grouped_mm" in str(func):
            self.macs += result.numel() * args[0].shape[-1]
        return result


def run_macs(model: torch.nn.Module, inputs: dict[str, Any]) -> int:
    """MACs that FlopCounterMode sees in a run, for models that torch cannot store."""
    counter = FlopCounterMode(display=False)
    experts = CountExperts()
    math = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with torch.no_grad(), math, torch.backends.mkldnn.flags(enabled=False), counter, experts:
        model(**inputs)
    return counter.get_total_flops() // 2 + experts.macs


def differences(
    cost: dict[str, Any], model: torch.nn.Module, inputs: dict[str, Any], surplus: int = 0
) -> list[str]:
    """Differences between an answer and a model; `surplus` MACs of its export do not count."""
    found = []
    parameters = sum(value.numel() for value in model.parameters())
    if cost["params"] != parameters:
        found.append(f"parameters {cost['params']} not {parameters}")
    if model.config.model_type == "gemma3":
        exported = run_macs(model, inputs)
    else:
        exported = pyrometer.cost(model, kwargs=inputs).total_macs - surplus
    if cost["total_macs"] != exported:
        found.append(f"MACs {cost['total_macs']} not {exported}")
    return found


def compare_other(tool: str, name: str, dice: random.Random, folder: pathlib.Path) -> list[str]:
    """What differs for one random configuration of a model that is no decoder."""
    class_name, config_name, fields = OTHERS[name]
    config = getattr(transformers, config_name)(**chosen(fields, dice))
    config.architectures = [class_name]
    model = getattr(transformers, class_name)(config).eval()
    config.save_pretrained(folder)
    inputs, options = inputs_of(config)
    return differences(answer(tool, folder, *options), model, inputs)


def configure_multimodal(family: str, dice: random.Random) -> transformers.PretrainedConfig:
    """A random small configuration of a vision tower and a decoder."""
    name, pairs = MULTIMODAL[family]
    tower, decoder = dice.choice(pairs)
    text = configure_decoder(decoder, dice).to_dict() | {"vocab_size": 130}
    vision = {**chosen(ENCODER, dice), "image_size": 32, "patch_size": 8, "model_type": tower}
    fields = {"text_config": text, "vision_config": vision, "image_token_index": 99}
    if family == "gemma3":
        fields["mm_tokens_per_image"] = 4
        vision["vision_use_head"] = dice.choice([True, False])
    else:
        fields["vision_feature_layer"] = dice.choice([-1, -2])
        fields["multimodal_projector_bias"] = dice.choice([True, False])
    return getattr(transformers, f"{name}Config")(**fields)


def compare_multimodal(
    tool: str, family: str, dice: random.Random, folder: pathlib.Path
) -> list[str]:
    """What differs for one random configuration of a multimodal model."""
    config = configure_multimodal(family, dice)
    class_name = f"{MULTIMODAL[family][0]}ForConditionalGeneration"
    config.architectures = [class_name]
    model = getattr(transformers, class_name)(config).eval()
    config.save_pretrained(folder)
    ids = torch.zeros(1, LENGTH + 16, dtype=torch.int64)
    ids[:, : 4 if family == "gemma3" else 16] = config.image_token_index
    inputs = {"input_ids": ids, "pixel_values": torch.zeros(1, 3, 32, 32), "use_cache": False}
    if family == "gemma3":
        inputs["token_type_ids"] = (ids == config.image_token_index).to(torch.int64)
    return differences(answer(tool, folder, "--seq", str(ids.shape[1])), model, inputs)


def compare(tool: str, family: str, number: int, folder: pathlib.Path) -> list[str]:
    """What differs for the random configuration of that number."""
    dice = random.Random(f"{family} {number}")
    try:
        if family in DECODERS:
            return compare_decoder(tool, family, dice, folder)
        if family in MULTIMODAL:
            return compare_multimodal(tool, family, dice, folder)
        return compare_other(tool, family, dice, folder)
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:300]}"]


def main() -> int:
    """Compares all families; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--families", default=",".join([*DECODERS, *OTHERS, *MULTIMODAL]))
    parser.add_argument("--count", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    failed = 0
    for family in options.families.split(","):
        for number in range(options.count):
            with tempfile.TemporaryDirectory() as folder:
                found = compare(options.tool, family, number, pathlib.Path(folder))
            failed += bool(found)
            print(family, number, "; ".join(found) or "equal", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
