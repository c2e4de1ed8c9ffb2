"""A small configuration of every decoder architecture, for runs with values."""

import torch

from catalog import transformers_build

_GROUPED = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 128,
}
_EQUAL = {**_GROUPED, "num_key_value_heads": 8}
_GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 128}
_NEOX = {key: value for key, value in _GROUPED.items() if key != "num_key_value_heads"}
_FALCON = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "vocab_size": 128,
    "multi_query": True,
    "parallel_attn": True,
    "bias": False,
    "alibi": False,
    "new_decoder_architecture": False,
}
_LATENT = {
    **_EQUAL,
    "moe_intermediate_size": 32,
    "n_shared_experts": 1,
    "n_routed_experts": 8,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "qk_nope_head_dim": 16,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
    "head_dim": 8,
}
_EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}

# Class of the model: class of its configuration, and options.
CONFIGS = {
    "BloomForCausalLM": (
        "BloomConfig",
        {"hidden_size": 64, "n_layer": 2, "n_head": 8, "vocab_size": 128},
    ),
    "DeepseekV2ForCausalLM": (
        "DeepseekV2Config",
        {**_LATENT, "q_lora_rank": None, "topk_method": "greedy"},
    ),
    "DeepseekV3ForCausalLM": ("DeepseekV3Config", {**_LATENT, "q_lora_rank": 24}),
    "FalconForCausalLM": ("FalconConfig", _FALCON),
    "Gemma2ForCausalLM": ("Gemma2Config", {**_GROUPED, "head_dim": 16, "sliding_window": 64}),
    "Gemma3ForCausalLM": ("Gemma3TextConfig", {**_GROUPED, "head_dim": 16, "sliding_window": 64}),
    "GemmaForCausalLM": ("GemmaConfig", {**_GROUPED, "head_dim": 16}),
    "GPT2LMHeadModel": ("GPT2Config", _GPT),
    "GPTJForCausalLM": ("GPTJConfig", {**_GPT, "rotary_dim": 8}),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", _NEOX),
    "GptOssForCausalLM": (
        "GptOssConfig",
        {**_GROUPED, "head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "LlamaForCausalLM": ("LlamaConfig", _GROUPED),
    "MistralForCausalLM": ("MistralConfig", {**_GROUPED, "sliding_window": 64}),
    "MixtralForCausalLM": ("MixtralConfig", {**_GROUPED, "num_local_experts": 4}),
    "Olmo2ForCausalLM": ("Olmo2Config", _EQUAL),
    "OPTForCausalLM": (
        "OPTConfig",
        {
            "hidden_size": 64,
            "ffn_dim": 96,
            "num_hidden_layers": 2,
            "num_attention_heads": 8,
            "word_embed_proj_dim": 64,
            "vocab_size": 128,
        },
    ),
    "Phi3ForCausalLM": ("Phi3Config", {**_GROUPED, "sliding_window": 64, "pad_token_id": 0}),
    "PhiForCausalLM": ("PhiConfig", _EQUAL),
    "Qwen2ForCausalLM": ("Qwen2Config", _GROUPED),
    "Qwen3ForCausalLM": ("Qwen3Config", {**_GROUPED, "head_dim": 16}),
    "Qwen3MoeForCausalLM": ("Qwen3MoeConfig", {**_GROUPED, **_EXPERTS, "head_dim": 16}),
}


def build(class_name: str, **more) -> torch.nn.Module:
    """A small model of a class, with values unless the default device is meta."""
    config_name, options = CONFIGS[class_name]
    torch.manual_seed(0)
    config = (config_name, {**options, **more})
    return transformers_build.build(class_name, config, torch.bfloat16).eval()
