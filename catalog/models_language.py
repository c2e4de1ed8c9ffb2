"""Causal language models, from their published configurations; with a cache, one token at a time."""

import dataclasses
from typing import Any

import torch

from catalog import transformers_build
from catalog.entry import Entry, Input
from catalog.model import Model, Published

_LENGTH = 128
_PAST = 1024
_CACHE_AXES = ("batch", "heads", "past", "features")
_CHECKPOINT = "tensors in the checkpoint {}, weights that are shared counted once"


@dataclasses.dataclass(frozen=True)
class _Cache:
    """What a model keeps of each token: in how many layers, and of which sizes."""

    layers: int
    heads: int
    key_width: int
    value_width: int
    most: int | None = None


def _tokens(vocabulary: int, length: int, dynamic: tuple[int, ...]) -> Input:
    return Input(
        (1, length), torch.int64, dynamic=dynamic, high=vocabulary, axes=("batch", "sequence")
    )


def _cache_inputs(cache: _Cache, dtype: torch.dtype) -> dict[str, list[Input]]:
    def tensors(width: int) -> list[Input]:
        one = Input(
            (1, cache.heads, _PAST, width),
            dtype,
            dynamic=(0, 2),
            axes=_CACHE_AXES,
            bounds={"past": (1, cache.most)},
        )
        return [one] * cache.layers

    return {"past_keys": tensors(cache.key_width), "past_values": tensors(cache.value_width)}


def _decode_entry(entry: Entry, cache: _Cache, vocabulary: int, dtype: torch.dtype) -> Entry:
    return dataclasses.replace(
        entry,
        build=lambda: transformers_build.with_cache_inputs(entry.build()),
        arguments={"input_ids": _tokens(vocabulary, 1, (0,)), **_cache_inputs(cache, dtype)},
    )


def _model(
    name: str,
    display_name: str,
    family: str,
    kind: tuple[str, str],
    options: dict[str, Any],
    published: Published,
    cache: _Cache | None,
    dtype: torch.dtype = torch.bfloat16,
    dynamic: tuple[int, ...] = (0, 1),
) -> Model:
    class_name, config_name = kind
    vocabulary = options.get("vocab_size", 50257)
    entry = Entry(
        name=name,
        display_name=display_name,
        family=family,
        package="transformers",
        builder=f"transformers.{class_name}(transformers.{config_name}({_options_text(options)}))",
        build=lambda: transformers_build.build(class_name, (config_name, options), dtype),
        arguments={"input_ids": _tokens(vocabulary, _LENGTH, dynamic), "use_cache": False},
        by_name=True,
    )
    decode = _decode_entry(entry, cache, vocabulary, dtype) if cache else None
    return Model(entry, "language model", published, decode)


def _options_text(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def _checkpoint(params: int, repository: str) -> Published:
    return Published(params, _CHECKPOINT.format(repository))


def _decoder(
    width: int, inner: int, layers: int, heads: int, key_heads: int, vocabulary: int, **more
) -> dict[str, Any]:
    return {
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "vocab_size": vocabulary,
        **more,
    }


def _cache_of(options: dict[str, Any], most: int | None = None) -> _Cache:
    width = options.get("head_dim") or options["hidden_size"] // options["num_attention_heads"]
    return _Cache(options["num_hidden_layers"], options["num_key_value_heads"], width, width, most)


def _like_llama(family: str, kind: tuple[str, str], rows: list[tuple]) -> list[Model]:
    """Models of one kind; a row is (name, display name, options, published count, checkpoint)."""
    found = []
    for name, display_name, options, params, repository, *window in rows:
        most = window[0] - 1 if window else None
        found.append(
            _model(
                name,
                display_name,
                family,
                kind,
                options,
                _checkpoint(params, repository),
                _cache_of(options, most),
            )
        )
    return found


_TIED = {"tie_word_embeddings": True}


def _llama() -> list[Model]:
    def meta(name: str) -> str:
        return f"meta-llama/{name}"

    return _like_llama(
        "llama",
        ("LlamaForCausalLM", "LlamaConfig"),
        [
            (
                "llama_7b",
                "LLaMA 7B",
                _decoder(4096, 11008, 32, 32, 32, 32000),
                6738415616,
                "huggyllama/llama-7b",
            ),
            (
                "llama2_7b",
                "Llama 2 7B",
                _decoder(4096, 11008, 32, 32, 32, 32000),
                6738415616,
                meta("Llama-2-7b-hf"),
            ),
            (
                "llama2_13b",
                "Llama 2 13B",
                _decoder(5120, 13824, 40, 40, 40, 32000),
                13015864320,
                meta("Llama-2-13b-hf"),
            ),
            (
                "llama2_70b",
                "Llama 2 70B",
                _decoder(8192, 28672, 80, 64, 8, 32000),
                68976648192,
                meta("Llama-2-70b-hf"),
            ),
            (
                "llama3_8b",
                "Llama 3 8B",
                _decoder(4096, 14336, 32, 32, 8, 128256),
                8030261248,
                meta("Meta-Llama-3-8B"),
            ),
            (
                "llama3_70b",
                "Llama 3 70B",
                _decoder(8192, 28672, 80, 64, 8, 128256),
                70553706496,
                meta("Meta-Llama-3-70B"),
            ),
            (
                "llama3_1_8b",
                "Llama 3.1 8B",
                _decoder(4096, 14336, 32, 32, 8, 128256),
                8030261248,
                meta("Llama-3.1-8B"),
            ),
            (
                "llama3_1_70b",
                "Llama 3.1 70B",
                _decoder(8192, 28672, 80, 64, 8, 128256),
                70553706496,
                meta("Llama-3.1-70B"),
            ),
            (
                "llama3_1_405b",
                "Llama 3.1 405B",
                _decoder(16384, 53248, 126, 128, 8, 128256),
                405853388800,
                meta("Llama-3.1-405B"),
            ),
            (
                "llama3_2_1b",
                "Llama 3.2 1B",
                _decoder(2048, 8192, 16, 32, 8, 128256, head_dim=64, **_TIED),
                1235814400,
                meta("Llama-3.2-1B"),
            ),
            (
                "llama3_2_3b",
                "Llama 3.2 3B",
                _decoder(3072, 8192, 28, 24, 8, 128256, head_dim=128, **_TIED),
                3212749824,
                meta("Llama-3.2-3B"),
            ),
            (
                "tinyllama_1_1b",
                "TinyLlama 1.1B",
                _decoder(2048, 5632, 22, 32, 4, 32000),
                1100048384,
                "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
            ),
            (
                "smollm2_135m",
                "SmolLM2 135M",
                _decoder(576, 1536, 30, 9, 3, 49152, **_TIED),
                134515008,
                "HuggingFaceTB/SmolLM2-135M",
            ),
            (
                "smollm2_1_7b",
                "SmolLM2 1.7B",
                _decoder(2048, 8192, 24, 32, 32, 49152, **_TIED),
                1711376384,
                "HuggingFaceTB/SmolLM2-1.7B",
            ),
            (
                "deepseek_llm_7b",
                "DeepSeek LLM 7B",
                _decoder(4096, 11008, 30, 32, 32, 102400),
                6910365696,
                "deepseek-ai/deepseek-llm-7b-base",
            ),
        ],
    )


def _mistral() -> list[Model]:
    rows = [
        (
            "mistral_7b",
            "Mistral 7B v0.1",
            _decoder(4096, 14336, 32, 32, 8, 32000, sliding_window=4096),
            7241732096,
            "mistralai/Mistral-7B-v0.1",
            4096,
        ),
        (
            "mistral_7b_v0_3",
            "Mistral 7B v0.3",
            _decoder(4096, 14336, 32, 32, 8, 32768, sliding_window=None),
            7248023552,
            "mistralai/Mistral-7B-v0.3",
        ),
        (
            "mistral_nemo_12b",
            "Mistral Nemo 12B",
            _decoder(5120, 14336, 40, 32, 8, 131072, head_dim=128, sliding_window=None),
            12247782400,
            "mistralai/Mistral-Nemo-Base-2407",
        ),
    ]
    mixture = ("MixtralForCausalLM", "MixtralConfig")
    experts = [
        (
            "mixtral_8x7b",
            "Mixtral 8x7B",
            _decoder(4096, 14336, 32, 32, 8, 32000, sliding_window=None),
            46702792704,
            "mistralai/Mixtral-8x7B-v0.1",
        ),
        (
            "mixtral_8x22b",
            "Mixtral 8x22B",
            _decoder(6144, 16384, 56, 48, 8, 32768, sliding_window=None),
            140630071296,
            "mistralai/Mixtral-8x22B-v0.1",
        ),
    ]
    return _like_llama("mistral", ("MistralForCausalLM", "MistralConfig"), rows) + _like_llama(
        "mistral", mixture, experts
    )


def _qwen() -> list[Model]:
    def of(name: str) -> str:
        return f"Qwen/{name}"

    second = [
        (
            "qwen2_5_0_5b",
            "Qwen2.5 0.5B",
            _decoder(896, 4864, 24, 14, 2, 151936, **_TIED),
            494032768,
            of("Qwen2.5-0.5B"),
        ),
        (
            "qwen2_5_1_5b",
            "Qwen2.5 1.5B",
            _decoder(1536, 8960, 28, 12, 2, 151936, **_TIED),
            1543714304,
            of("Qwen2.5-1.5B"),
        ),
        (
            "qwen2_5_3b",
            "Qwen2.5 3B",
            _decoder(2048, 11008, 36, 16, 2, 151936, **_TIED),
            3085938688,
            of("Qwen2.5-3B"),
        ),
        (
            "qwen2_5_7b",
            "Qwen2.5 7B",
            _decoder(3584, 18944, 28, 28, 4, 152064),
            7615616512,
            of("Qwen2.5-7B"),
        ),
        (
            "qwen2_5_14b",
            "Qwen2.5 14B",
            _decoder(5120, 13824, 48, 40, 8, 152064),
            14770033664,
            of("Qwen2.5-14B"),
        ),
        (
            "qwen2_5_32b",
            "Qwen2.5 32B",
            _decoder(5120, 27648, 64, 40, 8, 152064),
            32763876352,
            of("Qwen2.5-32B"),
        ),
        (
            "qwen2_5_72b",
            "Qwen2.5 72B",
            _decoder(8192, 29568, 80, 64, 8, 152064),
            72706203648,
            of("Qwen2.5-72B"),
        ),
    ]
    third = [
        (
            "qwen3_0_6b",
            "Qwen3 0.6B",
            _decoder(1024, 3072, 28, 16, 8, 151936, head_dim=128, **_TIED),
            596049920,
            of("Qwen3-0.6B"),
        ),
        (
            "qwen3_1_7b",
            "Qwen3 1.7B",
            _decoder(2048, 6144, 28, 16, 8, 151936, head_dim=128, **_TIED),
            1720574976,
            of("Qwen3-1.7B"),
        ),
        (
            "qwen3_4b",
            "Qwen3 4B",
            _decoder(2560, 9728, 36, 32, 8, 151936, head_dim=128, **_TIED),
            4022468096,
            of("Qwen3-4B"),
        ),
        (
            "qwen3_8b",
            "Qwen3 8B",
            _decoder(4096, 12288, 36, 32, 8, 151936, head_dim=128),
            8190735360,
            of("Qwen3-8B"),
        ),
        (
            "qwen3_14b",
            "Qwen3 14B",
            _decoder(5120, 17408, 40, 40, 8, 151936, head_dim=128),
            14768307200,
            of("Qwen3-14B"),
        ),
        (
            "qwen3_32b",
            "Qwen3 32B",
            _decoder(5120, 25600, 64, 64, 8, 151936, head_dim=128),
            32762123264,
            of("Qwen3-32B"),
        ),
    ]
    mixture = {
        "head_dim": 128,
        "moe_intermediate_size": 768,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "norm_topk_prob": True,
    }
    experts = [
        (
            "qwen3_30b_a3b",
            "Qwen3 30B-A3B",
            _decoder(2048, 6144, 48, 32, 4, 151936, **mixture),
            30532122624,
            of("Qwen3-30B-A3B"),
        ),
    ]
    return [
        *_like_llama("qwen", ("Qwen2ForCausalLM", "Qwen2Config"), second),
        *_like_llama("qwen", ("Qwen3ForCausalLM", "Qwen3Config"), third),
        *_like_llama("qwen", ("Qwen3MoeForCausalLM", "Qwen3MoeConfig"), experts),
    ]


def _gemma() -> list[Model]:
    first = [
        (
            "gemma_2b",
            "Gemma 2B",
            _decoder(2048, 16384, 18, 8, 1, 256000, head_dim=256),
            2506172416,
            "google/gemma-2b",
        ),
        (
            "gemma_7b",
            "Gemma 7B",
            _decoder(3072, 24576, 28, 16, 16, 256000, head_dim=256),
            8537680896,
            "google/gemma-7b",
        ),
    ]
    second = [
        (
            "gemma2_2b",
            "Gemma 2 2B",
            _decoder(2304, 9216, 26, 8, 4, 256000, head_dim=256, sliding_window=4096),
            2614341888,
            "google/gemma-2-2b",
            4096,
        ),
        (
            "gemma2_9b",
            "Gemma 2 9B",
            _decoder(3584, 14336, 42, 16, 8, 256000, head_dim=256, sliding_window=4096),
            9241705984,
            "google/gemma-2-9b",
            4096,
        ),
        (
            "gemma2_27b",
            "Gemma 2 27B",
            _decoder(4608, 36864, 46, 32, 16, 256000, head_dim=128, sliding_window=4096),
            27227128320,
            "google/gemma-2-27b",
            4096,
        ),
    ]
    third = [
        (
            "gemma3_1b",
            "Gemma 3 1B",
            _decoder(1152, 6912, 26, 4, 1, 262144, head_dim=256, sliding_window=512),
            999885952,
            "google/gemma-3-1b-pt",
            512,
        ),
    ]
    return [
        *_like_llama("gemma", ("GemmaForCausalLM", "GemmaConfig"), first),
        *_like_llama("gemma", ("Gemma2ForCausalLM", "Gemma2Config"), second),
        *_like_llama("gemma", ("Gemma3ForCausalLM", "Gemma3TextConfig"), third),
    ]


def _phi_and_others() -> list[Model]:
    phi = [
        (
            "phi_1_5",
            "Phi-1.5",
            _decoder(2048, 8192, 24, 32, 32, 51200, partial_rotary_factor=0.5),
            1418270720,
            "microsoft/phi-1_5",
        ),
        (
            "phi_2",
            "Phi-2",
            _decoder(2560, 10240, 32, 32, 32, 51200, partial_rotary_factor=0.4),
            2779683840,
            "microsoft/phi-2",
        ),
    ]
    third = [
        (
            "phi_3_mini",
            "Phi-3 mini",
            _decoder(3072, 8192, 32, 32, 32, 32064, sliding_window=2047),
            3821079552,
            "microsoft/Phi-3-mini-4k-instruct",
            2047,
        ),
        (
            "phi_4",
            "Phi-4",
            _decoder(5120, 17920, 40, 40, 10, 100352),
            14659507200,
            "microsoft/phi-4",
        ),
    ]
    olmo = [
        (
            "olmo2_7b",
            "OLMo 2 7B",
            _decoder(4096, 11008, 32, 32, 32, 100352),
            7298617344,
            "allenai/OLMo-2-1124-7B",
        ),
    ]
    return [
        *_like_llama("phi", ("PhiForCausalLM", "PhiConfig"), phi),
        *_like_llama("phi", ("Phi3ForCausalLM", "Phi3Config"), third),
        *_like_llama("olmo", ("Olmo2ForCausalLM", "Olmo2Config"), olmo),
    ]


def _gpt() -> list[Model]:
    found = []
    for name, display_name, width, layers, heads, params in (
        ("gpt2", "GPT-2", 768, 12, 12, 124439808),
        ("gpt2_medium", "GPT-2 medium", 1024, 24, 16, 354823168),
        ("gpt2_large", "GPT-2 large", 1280, 36, 20, 774030080),
        ("gpt2_xl", "GPT-2 XL", 1600, 48, 25, 1557611200),
    ):
        found.append(
            _model(
                name,
                display_name,
                "gpt2",
                ("GPT2LMHeadModel", "GPT2Config"),
                {"n_embd": width, "n_layer": layers, "n_head": heads},
                _checkpoint(params, f"openai-community/{name.replace('_', '-')}"),
                _Cache(layers, heads, width // heads, width // heads, 1023),
                torch.float32,
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
        _model(
            "gptj_6b",
            "GPT-J 6B",
            "gptj",
            ("GPTJForCausalLM", "GPTJConfig"),
            gptj,
            _checkpoint(6050882784, "EleutherAI/gpt-j-6b"),
            _Cache(28, 16, 256, 256, 2047),
            torch.float32,
        )
    )
    found.append(
        _model(
            "gpt_neox_20b",
            "GPT-NeoX 20B",
            "gpt_neox",
            ("GPTNeoXForCausalLM", "GPTNeoXConfig"),
            neox,
            _checkpoint(20554567680, "EleutherAI/gpt-neox-20b"),
            _Cache(44, 64, 96, 96, 2047),
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
            _model(
                name,
                display_name,
                "gpt_neox",
                ("GPTNeoXForCausalLM", "GPTNeoXConfig"),
                options,
                Published(params, "Pythia paper, table of models (total parameters)"),
                _Cache(layers, heads, width // heads, width // heads, 2047),
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
            _model(
                name,
                display_name,
                "opt",
                ("OPTForCausalLM", "OPTConfig"),
                options,
                _checkpoint(params, f"facebook/opt-{name[4:].replace('_', '.')}"),
                _Cache(layers, heads, width // heads, width // heads, 2047),
                torch.float16,
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
            _model(
                name,
                display_name,
                "bloom",
                ("BloomForCausalLM", "BloomConfig"),
                options,
                Published(params, f"model card of BLOOM ({display_name})"),
                _Cache(layers, heads, width // heads, width // heads),
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
        _model(
            "falcon_7b",
            "Falcon 7B",
            "falcon",
            ("FalconForCausalLM", "FalconConfig"),
            falcon,
            _checkpoint(6921720704, "tiiuae/falcon-7b"),
            _Cache(32, 1, 64, 64),
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
        _model(
            "falcon_40b",
            "Falcon 40B",
            "falcon",
            ("FalconForCausalLM", "FalconConfig"),
            large,
            Published(41_300_000_000, "model card of tiiuae/falcon-40b", 1_000_000_000),
            _Cache(60, 8, 64, 64),
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
        _model(
            "deepseek_v2_lite",
            "DeepSeek-V2-Lite",
            "deepseek",
            ("DeepseekV2ForCausalLM", "DeepseekV2Config"),
            lite,
            _checkpoint(15706484224, "deepseek-ai/DeepSeek-V2-Lite"),
            _Cache(27, 16, 192, 128),
        ),
        _model(
            "deepseek_v3",
            "DeepSeek-V3",
            "deepseek",
            ("DeepseekV3ForCausalLM", "DeepseekV3Config"),
            {"vocab_size": 129280},
            Published(671_000_000_000, "DeepSeek-V3 report (671B)", 1_000_000_000),
            _Cache(61, 128, 192, 128),
        ),
    ]


def _gpt_oss() -> list[Model]:
    def options(layers: int, experts: int) -> dict[str, Any]:
        return {"num_hidden_layers": layers, "num_local_experts": experts, "vocab_size": 201088}

    kind = ("GptOssForCausalLM", "GptOssConfig")
    return [
        _model(
            "gpt_oss_20b",
            "gpt-oss 20B",
            "gpt_oss",
            kind,
            options(24, 32),
            Published(20_910_000_000, "gpt-oss model card, table 1 (20.91B)", 10_000_000),
            _Cache(24, 8, 64, 64, 127),
        ),
        _model(
            "gpt_oss_120b",
            "gpt-oss 120B",
            "gpt_oss",
            kind,
            options(36, 128),
            Published(116_830_000_000, "gpt-oss model card, table 1 (116.83B)", 10_000_000),
            _Cache(36, 8, 64, 64, 127),
        ),
    ]


def _mamba() -> list[Model]:
    """Its scan runs step by step, which fixes the length; its state is no cache of keys."""
    found = []
    for name, display_name, width, layers, params in (
        ("mamba_130m", "Mamba 130M", 768, 24, 129135360),
    ):
        options = {
            "vocab_size": 50280,
            "hidden_size": width,
            "num_hidden_layers": layers,
            "tie_word_embeddings": True,
        }
        found.append(
            _model(
                name,
                display_name,
                "mamba",
                ("MambaForCausalLM", "MambaConfig"),
                options,
                _checkpoint(params, f"state-spaces/{name.replace('_', '-')}-hf"),
                None,
                torch.float32,
                (0,),
            )
        )
    return found


# Models that differ from another in nothing but their weights.
_SAME = {
    "llama_7b": "llama2_7b",
    "llama3_1_8b": "llama3_8b",
    "llama3_1_70b": "llama3_70b",
}


def models() -> list[Model]:
    """All of them."""
    return [
        dataclasses.replace(model, same_as=_SAME.get(model.name)) for model in _distinct_models()
    ]


def _distinct_models() -> list[Model]:
    return [
        *_gpt(),
        *_pythia(),
        *_opt_bloom_falcon(),
        *_llama(),
        *_mistral(),
        *_qwen(),
        *_gemma(),
        *_phi_and_others(),
        *_deepseek(),
        *_gpt_oss(),
        *_mamba(),
    ]
