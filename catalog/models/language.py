"""Language models that differ from Llama, from their published configurations."""

from typing import Any

import torch

from catalog.language import Cache, checkpoint, language_model
from catalog.model import Model, Published


def _gpt() -> list[Model]:
    found = []
    for name, display_name, width, layers, heads, params in (
        ("gpt2", "GPT-2", 768, 12, 12, 124439808),
        ("gpt2_medium", "GPT-2 medium", 1024, 24, 16, 354823168),
        ("gpt2_large", "GPT-2 large", 1280, 36, 20, 774030080),
        ("gpt2_xl", "GPT-2 XL", 1600, 48, 25, 1557611200),
    ):
        found.append(
            language_model(
                name,
                display_name,
                "gpt2",
                ("GPT2LMHeadModel", "GPT2Config"),
                {"n_embd": width, "n_layer": layers, "n_head": heads},
                checkpoint(params, f"openai-community/{name.replace('_', '-')}"),
                Cache(layers, heads, width // heads, width // heads, 1023),
                torch.float32,
                positions=1024,
            )
        )
    gptj = {"n_embd": 4096, "n_layer": 28, "n_head": 16, "vocab_size": 50400}
    neox = {
        "hidden_size": 6144,
        "intermediate_size": 24576,
        "num_hidden_layers": 44,
        "num_attention_heads": 64,
        "vocab_size": 50432,
    }
    found.append(
        language_model(
            "gptj_6b",
            "GPT-J 6B",
            "gptj",
            ("GPTJForCausalLM", "GPTJConfig"),
            gptj,
            checkpoint(6050882784, "EleutherAI/gpt-j-6b"),
            Cache(28, 16, 256, 256, 2047),
            torch.float32,
            positions=2048,
        )
    )
    found.append(
        language_model(
            "gpt_neox_20b",
            "GPT-NeoX 20B",
            "gpt_neox",
            ("GPTNeoXForCausalLM", "GPTNeoXConfig"),
            neox,
            checkpoint(20554567680, "EleutherAI/gpt-neox-20b"),
            Cache(44, 64, 96, 96),
            torch.float16,
        )
    )
    return found


def _pythia() -> list[Model]:
    found = []
    for name, display_name, width, layers, heads, vocabulary, params in (
        ("pythia_160m", "Pythia 160M", 768, 12, 12, 50304, 162322944),
        ("pythia_410m", "Pythia 410M", 1024, 24, 16, 50304, 405334016),
        ("pythia_1_4b", "Pythia 1.4B", 2048, 24, 16, 50304, 1414647808),
        ("pythia_6_9b", "Pythia 6.9B", 4096, 32, 32, 50432, 6857302016),
    ):
        options = {
            "hidden_size": width,
            "intermediate_size": 4 * width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "vocab_size": vocabulary,
        }
        found.append(
            language_model(
                name,
                display_name,
                "gpt_neox",
                ("GPTNeoXForCausalLM", "GPTNeoXConfig"),
                options,
                Published(params, "Pythia paper, table of models (total parameters)"),
                Cache(layers, heads, width // heads, width // heads),
                torch.float16,
            )
        )
    return found


def _opt_bloom_falcon() -> list[Model]:
    found = []
    for name, display_name, width, layers, heads, params in (
        ("opt_125m", "OPT 125M", 768, 12, 12, 125239296),
        ("opt_1_3b", "OPT 1.3B", 2048, 24, 32, 1315758080),
        ("opt_6_7b", "OPT 6.7B", 4096, 32, 32, 6658473984),
        ("opt_30b", "OPT 30B", 7168, 48, 56, 29974540288),
    ):
        options = {
            "hidden_size": width,
            "ffn_dim": 4 * width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "word_embed_proj_dim": width,
            "vocab_size": 50272,
        }
        found.append(
            language_model(
                name,
                display_name,
                "opt",
                ("OPTForCausalLM", "OPTConfig"),
                options,
                checkpoint(params, f"facebook/opt-{name[4:].replace('_', '.')}"),
                Cache(layers, heads, width // heads, width // heads, 2047),
                torch.float16,
                positions=2048,
            )
        )
    for name, display_name, width, layers, heads, params in (
        ("bloom_560m", "BLOOM 560M", 1024, 24, 16, 559214592),
        ("bloom_7b1", "BLOOM 7.1B", 4096, 30, 32, 7069016064),
        ("bloom_176b", "BLOOM 176B", 14336, 70, 112, 176247271424),
    ):
        options = {
            "hidden_size": width,
            "n_layer": layers,
            "n_head": heads,
            "vocab_size": 250880,
        }
        found.append(
            language_model(
                name,
                display_name,
                "bloom",
                ("BloomForCausalLM", "BloomConfig"),
                options,
                Published(params, f"model card of BLOOM ({display_name})"),
                Cache(layers, heads, width // heads, width // heads),
                torch.bfloat16,
            )
        )
    falcon = {
        "hidden_size": 4544,
        "num_hidden_layers": 32,
        "num_attention_heads": 71,
        "vocab_size": 65024,
        "multi_query": True,
        "parallel_attn": True,
        "bias": False,
        "alibi": False,
        "new_decoder_architecture": False,
    }
    found.append(
        language_model(
            "falcon_7b",
            "Falcon 7B",
            "falcon",
            ("FalconForCausalLM", "FalconConfig"),
            falcon,
            checkpoint(6921720704, "tiiuae/falcon-7b"),
            Cache(32, 1, 64, 64),
        )
    )
    large = {
        **falcon,
        "hidden_size": 8192,
        "num_hidden_layers": 60,
        "num_attention_heads": 128,
        "num_kv_heads": 8,
        "new_decoder_architecture": True,
    }
    found.append(
        language_model(
            "falcon_40b",
            "Falcon 40B",
            "falcon",
            ("FalconForCausalLM", "FalconConfig"),
            large,
            Published(41_300_000_000, "model card of tiiuae/falcon-40b", 1_000_000_000),
            Cache(60, 128, 64, 64),
        )
    )
    return found


def _deepseek() -> list[Model]:
    lite = {
        "vocab_size": 102400,
        "hidden_size": 2048,
        "intermediate_size": 10944,
        "moe_intermediate_size": 1408,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "n_shared_experts": 2,
        "n_routed_experts": 64,
        "routed_scaling_factor": 1.0,
        "kv_lora_rank": 512,
        "q_lora_rank": None,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "qk_nope_head_dim": 128,
        "num_experts_per_tok": 6,
        "first_k_dense_replace": 1,
        "topk_method": "greedy",
        "n_group": 1,
        "topk_group": 1,
    }
    return [
        language_model(
            "deepseek_v2_lite",
            "DeepSeek-V2-Lite",
            "deepseek",
            ("DeepseekV2ForCausalLM", "DeepseekV2Config"),
            lite,
            checkpoint(15706484224, "deepseek-ai/DeepSeek-V2-Lite"),
            Cache(27, 1, 512, 64),
            first=1,
        ),
        language_model(
            "deepseek_v3",
            "DeepSeek-V3",
            "deepseek",
            ("DeepseekV3ForCausalLM", "DeepseekV3Config"),
            {"vocab_size": 129280, "num_hidden_layers": 61},
            Published(671_000_000_000, "DeepSeek-V3 report (671B)", 1_000_000_000),
            Cache(61, 1, 512, 64),
            first=3,
        ),
    ]


def _gpt_oss() -> list[Model]:
    def options(layers: int, experts: int) -> dict[str, Any]:
        return {"num_hidden_layers": layers, "num_local_experts": experts, "vocab_size": 201088}

    kind = ("GptOssForCausalLM", "GptOssConfig")
    return [
        language_model(
            "gpt_oss_20b",
            "gpt-oss 20B",
            "gpt_oss",
            kind,
            options(24, 32),
            Published(20_910_000_000, "gpt-oss model card, table 1 (20.91B)", 10_000_000),
            Cache(24, 8, 64, 64, 127),
            period=2,
        ),
        language_model(
            "gpt_oss_120b",
            "gpt-oss 120B",
            "gpt_oss",
            kind,
            options(36, 128),
            Published(116_830_000_000, "gpt-oss model card, table 1 (116.83B)", 10_000_000),
            Cache(36, 8, 64, 64, 127),
            period=2,
        ),
    ]


def models() -> list[Model]:
    """All models of this file."""
    return [
        *_gpt(),
        *_pythia(),
        *_opt_bloom_falcon(),
        *_deepseek(),
        *_gpt_oss(),
    ]
