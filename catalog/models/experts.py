"""Mixtures of experts of 2024 and later, from their published configurations."""

from typing import Any

from catalog.language import Cache, checkpoint, decoder, language_model, like_llama
from catalog.model import Model, Published, as_built


def _llama4() -> list[Model]:
    """The language models of Llama 4; their checkpoints also hold a vision tower."""
    found = []
    for name, title, experts, step, normed, params, shown in (
        ("llama4_scout", "Llama 4 Scout", 16, 1, True, 107769861120, "109B"),
        ("llama4_maverick", "Llama 4 Maverick", 128, 2, False, 400711848960, "400B"),
    ):
        options = decoder(
            5120,
            8192,
            48,
            40,
            8,
            202048,
            head_dim=128,
            intermediate_size_mlp=16384,
            num_local_experts=experts,
            num_experts_per_tok=1,
            interleave_moe_layer_step=step,
            use_qk_norm=normed,
        )
        note = f"its model card says {shown}, which is rounded and has the vision tower in it"
        found.append(
            language_model(
                name,
                title,
                "llama",
                ("Llama4ForCausalLM", "Llama4TextConfig"),
                options,
                as_built(params, note),
                Cache(48, 8, 128, 128, 8191),
                period=4,
            )
        )
    return found


def _qwen() -> list[Model]:
    mixture = {
        "head_dim": 128,
        "moe_intermediate_size": 1536,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "norm_topk_prob": True,
    }
    rows = [
        (
            "qwen3_235b_a22b",
            "Qwen3 235B-A22B",
            decoder(4096, 12288, 94, 64, 4, 151936, **mixture),
            235093634560,
            "Qwen/Qwen3-235B-A22B",
        ),
    ]
    # The checkpoints of Qwen3-Next hold a block more, which predicts a second token.
    source = (
        "tensors in the checkpoint Qwen/Qwen3-Coder-Next, which has the same architecture; "
        "Qwen/Qwen3-Next-80B-A3B-Instruct has 81,324,862,720 with its block for a second token"
    )
    following = language_model(
        "qwen3_next_80b_a3b",
        "Qwen3-Next 80B-A3B",
        "qwen",
        ("Qwen3NextForCausalLM", "Qwen3NextConfig"),
        decoder(2048, 5120, 48, 16, 2, 151936, head_dim=256),
        Published(79674391296, source),
        Cache(48, 2, 256, 256, states=((8192, 4), (32, 128, 128)), period=4),
        dynamic=(0,),
        period=4,
    )
    return [*like_llama("qwen", ("Qwen3MoeForCausalLM", "Qwen3MoeConfig"), rows), following]


def _deepseek() -> list[Model]:
    latent: dict[str, Any] = {
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "qk_nope_head_dim": 128,
        "first_k_dense_replace": 1,
    }
    second = decoder(
        5120,
        12288,
        60,
        128,
        128,
        102400,
        **latent,
        moe_intermediate_size=1536,
        n_shared_experts=2,
        n_routed_experts=160,
        routed_scaling_factor=16.0,
        num_experts_per_tok=6,
        topk_method="group_limited_greedy",
        n_group=8,
        topk_group=3,
    )
    kimi = decoder(
        7168,
        18432,
        61,
        64,
        64,
        163840,
        **latent,
        moe_intermediate_size=2048,
        n_shared_experts=1,
        n_routed_experts=384,
        num_experts_per_tok=8,
        n_group=1,
        topk_group=1,
    )
    return [
        language_model(
            "deepseek_v2",
            "DeepSeek-V2",
            "deepseek",
            ("DeepseekV2ForCausalLM", "DeepseekV2Config"),
            second,
            checkpoint(235741434880, "deepseek-ai/DeepSeek-V2"),
            Cache(60, 1, 512, 64),
            first=1,
        ),
        language_model(
            "kimi_k2",
            "Kimi K2",
            "kimi",
            ("DeepseekV3ForCausalLM", "DeepseekV3Config"),
            kimi,
            as_built(1026408209408, "the README of MoonshotAI/Kimi-K2 says 1T, rounded"),
            Cache(61, 1, 512, 64),
            first=1,
        ),
    ]


def _others() -> list[Model]:
    phi = [
        (
            "phi_3_5_moe",
            "Phi-3.5-MoE",
            decoder(
                4096,
                6400,
                32,
                32,
                8,
                32064,
                num_local_experts=16,
                attention_bias=True,
                lm_head_bias=True,
                sliding_window=None,
            ),
            41873153344,
            "microsoft/Phi-3.5-MoE-instruct",
        ),
    ]
    glm = decoder(
        4096,
        10944,
        46,
        96,
        8,
        151552,
        head_dim=128,
        moe_intermediate_size=1408,
        n_routed_experts=128,
        n_shared_experts=1,
        num_experts_per_tok=8,
        first_k_dense_replace=1,
        attention_bias=True,
    )
    air = language_model(
        "glm4_5_air",
        "GLM-4.5-Air",
        "glm",
        ("Glm4MoeForCausalLM", "Glm4MoeConfig"),
        glm,
        as_built(106852245504, "the README of zai-org/GLM-4.5 says 106 billion"),
        Cache(46, 8, 128, 128),
        first=1,
    )
    return [*like_llama("phi", ("PhimoeForCausalLM", "PhimoeConfig"), phi), air]


def models() -> list[Model]:
    """All models of this file."""
    return [*_llama4(), *_qwen(), *_deepseek(), *_others()]
