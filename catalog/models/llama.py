"""Language models similar to Llama, from their published configurations."""

import dataclasses

from catalog.language import TIED, decoder, like_llama
from catalog.model import Model

_LLAMA = ("LlamaForCausalLM", "LlamaConfig")


def _llama() -> list[Model]:
    def meta(name: str) -> str:
        return f"meta-llama/{name}"

    return like_llama(
        "llama",
        _LLAMA,
        [
            (
                "llama_7b",
                "LLaMA 7B",
                decoder(4096, 11008, 32, 32, 32, 32000),
                6738415616,
                "huggyllama/llama-7b",
            ),
            (
                "llama2_7b",
                "Llama 2 7B",
                decoder(4096, 11008, 32, 32, 32, 32000),
                6738415616,
                meta("Llama-2-7b-hf"),
            ),
            (
                "llama2_13b",
                "Llama 2 13B",
                decoder(5120, 13824, 40, 40, 40, 32000),
                13015864320,
                meta("Llama-2-13b-hf"),
            ),
            (
                "llama2_70b",
                "Llama 2 70B",
                decoder(8192, 28672, 80, 64, 8, 32000),
                68976648192,
                meta("Llama-2-70b-hf"),
            ),
            (
                "llama3_8b",
                "Llama 3 8B",
                decoder(4096, 14336, 32, 32, 8, 128256),
                8030261248,
                meta("Meta-Llama-3-8B"),
            ),
            (
                "llama3_70b",
                "Llama 3 70B",
                decoder(8192, 28672, 80, 64, 8, 128256),
                70553706496,
                meta("Meta-Llama-3-70B"),
            ),
            (
                "llama3_1_8b",
                "Llama 3.1 8B",
                decoder(4096, 14336, 32, 32, 8, 128256),
                8030261248,
                meta("Llama-3.1-8B"),
            ),
            (
                "llama3_1_70b",
                "Llama 3.1 70B",
                decoder(8192, 28672, 80, 64, 8, 128256),
                70553706496,
                meta("Llama-3.1-70B"),
            ),
            (
                "llama3_1_405b",
                "Llama 3.1 405B",
                decoder(16384, 53248, 126, 128, 8, 128256),
                405853388800,
                meta("Llama-3.1-405B"),
            ),
            (
                "llama3_2_1b",
                "Llama 3.2 1B",
                decoder(2048, 8192, 16, 32, 8, 128256, head_dim=64, **TIED),
                1235814400,
                meta("Llama-3.2-1B"),
            ),
            (
                "llama3_2_3b",
                "Llama 3.2 3B",
                decoder(3072, 8192, 28, 24, 8, 128256, head_dim=128, **TIED),
                3212749824,
                meta("Llama-3.2-3B"),
            ),
            (
                "tinyllama_1_1b",
                "TinyLlama 1.1B",
                decoder(2048, 5632, 22, 32, 4, 32000),
                1100048384,
                "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
            ),
        ],
    )


def _like_llama_by_others() -> list[Model]:
    small = [
        (
            "smollm2_135m",
            "SmolLM2 135M",
            decoder(576, 1536, 30, 9, 3, 49152, **TIED),
            134515008,
            "HuggingFaceTB/SmolLM2-135M",
        ),
        (
            "smollm2_1_7b",
            "SmolLM2 1.7B",
            decoder(2048, 8192, 24, 32, 32, 49152, **TIED),
            1711376384,
            "HuggingFaceTB/SmolLM2-1.7B",
        ),
    ]
    deepseek = [
        (
            "deepseek_llm_7b",
            "DeepSeek LLM 7B",
            decoder(4096, 11008, 30, 32, 32, 102400),
            6910365696,
            "deepseek-ai/deepseek-llm-7b-base",
        ),
    ]
    return [*like_llama("smollm", _LLAMA, small), *like_llama("deepseek", _LLAMA, deepseek)]


def _mistral() -> list[Model]:
    rows = [
        (
            "mistral_7b",
            "Mistral 7B v0.1",
            decoder(4096, 14336, 32, 32, 8, 32000, sliding_window=4096),
            7241732096,
            "mistralai/Mistral-7B-v0.1",
            4096,
        ),
        (
            "mistral_7b_v0_3",
            "Mistral 7B v0.3",
            decoder(4096, 14336, 32, 32, 8, 32768, sliding_window=None),
            7248023552,
            "mistralai/Mistral-7B-v0.3",
        ),
        (
            "mistral_nemo_12b",
            "Mistral Nemo 12B",
            decoder(5120, 14336, 40, 32, 8, 131072, head_dim=128, sliding_window=None),
            12247782400,
            "mistralai/Mistral-Nemo-Base-2407",
        ),
    ]
    mixture = ("MixtralForCausalLM", "MixtralConfig")
    experts = [
        (
            "mixtral_8x7b",
            "Mixtral 8x7B",
            decoder(4096, 14336, 32, 32, 8, 32000, sliding_window=None),
            46702792704,
            "mistralai/Mixtral-8x7B-v0.1",
        ),
        (
            "mixtral_8x22b",
            "Mixtral 8x22B",
            decoder(6144, 16384, 56, 48, 8, 32768, sliding_window=None),
            140630071296,
            "mistralai/Mixtral-8x22B-v0.1",
        ),
    ]
    return like_llama("mistral", ("MistralForCausalLM", "MistralConfig"), rows) + like_llama(
        "mistral", mixture, experts
    )


def _qwen() -> list[Model]:
    def of(name: str) -> str:
        return f"Qwen/{name}"

    second = [
        (
            "qwen2_5_0_5b",
            "Qwen2.5 0.5B",
            decoder(896, 4864, 24, 14, 2, 151936, **TIED),
            494032768,
            of("Qwen2.5-0.5B"),
        ),
        (
            "qwen2_5_1_5b",
            "Qwen2.5 1.5B",
            decoder(1536, 8960, 28, 12, 2, 151936, **TIED),
            1543714304,
            of("Qwen2.5-1.5B"),
        ),
        (
            "qwen2_5_3b",
            "Qwen2.5 3B",
            decoder(2048, 11008, 36, 16, 2, 151936, **TIED),
            3085938688,
            of("Qwen2.5-3B"),
        ),
        (
            "qwen2_5_7b",
            "Qwen2.5 7B",
            decoder(3584, 18944, 28, 28, 4, 152064),
            7615616512,
            of("Qwen2.5-7B"),
        ),
        (
            "qwen2_5_14b",
            "Qwen2.5 14B",
            decoder(5120, 13824, 48, 40, 8, 152064),
            14770033664,
            of("Qwen2.5-14B"),
        ),
        (
            "qwen2_5_32b",
            "Qwen2.5 32B",
            decoder(5120, 27648, 64, 40, 8, 152064),
            32763876352,
            of("Qwen2.5-32B"),
        ),
        (
            "qwen2_5_72b",
            "Qwen2.5 72B",
            decoder(8192, 29568, 80, 64, 8, 152064),
            72706203648,
            of("Qwen2.5-72B"),
        ),
    ]
    third = [
        (
            "qwen3_0_6b",
            "Qwen3 0.6B",
            decoder(1024, 3072, 28, 16, 8, 151936, head_dim=128, **TIED),
            596049920,
            of("Qwen3-0.6B"),
        ),
        (
            "qwen3_1_7b",
            "Qwen3 1.7B",
            decoder(2048, 6144, 28, 16, 8, 151936, head_dim=128, **TIED),
            1720574976,
            of("Qwen3-1.7B"),
        ),
        (
            "qwen3_4b",
            "Qwen3 4B",
            decoder(2560, 9728, 36, 32, 8, 151936, head_dim=128, **TIED),
            4022468096,
            of("Qwen3-4B"),
        ),
        (
            "qwen3_8b",
            "Qwen3 8B",
            decoder(4096, 12288, 36, 32, 8, 151936, head_dim=128),
            8190735360,
            of("Qwen3-8B"),
        ),
        (
            "qwen3_14b",
            "Qwen3 14B",
            decoder(5120, 17408, 40, 40, 8, 151936, head_dim=128),
            14768307200,
            of("Qwen3-14B"),
        ),
        (
            "qwen3_32b",
            "Qwen3 32B",
            decoder(5120, 25600, 64, 64, 8, 151936, head_dim=128),
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
            decoder(2048, 6144, 48, 32, 4, 151936, **mixture),
            30532122624,
            of("Qwen3-30B-A3B"),
        ),
    ]
    return [
        *like_llama("qwen", ("Qwen2ForCausalLM", "Qwen2Config"), second),
        *like_llama("qwen", ("Qwen3ForCausalLM", "Qwen3Config"), third),
        *like_llama("qwen", ("Qwen3MoeForCausalLM", "Qwen3MoeConfig"), experts),
    ]


def _gemma() -> list[Model]:
    first = [
        (
            "gemma_2b",
            "Gemma 2B",
            decoder(2048, 16384, 18, 8, 1, 256000, head_dim=256),
            2506172416,
            "google/gemma-2b",
        ),
        (
            "gemma_7b",
            "Gemma 7B",
            decoder(3072, 24576, 28, 16, 16, 256000, head_dim=256),
            8537680896,
            "google/gemma-7b",
        ),
    ]
    second = [
        (
            "gemma2_2b",
            "Gemma 2 2B",
            decoder(2304, 9216, 26, 8, 4, 256000, head_dim=256, sliding_window=4096),
            2614341888,
            "google/gemma-2-2b",
            4096,
        ),
        (
            "gemma2_9b",
            "Gemma 2 9B",
            decoder(3584, 14336, 42, 16, 8, 256000, head_dim=256, sliding_window=4096),
            9241705984,
            "google/gemma-2-9b",
            4096,
        ),
        (
            "gemma2_27b",
            "Gemma 2 27B",
            decoder(4608, 36864, 46, 32, 16, 256000, head_dim=128, sliding_window=4096),
            27227128320,
            "google/gemma-2-27b",
            4096,
        ),
    ]
    third = [
        (
            "gemma3_1b",
            "Gemma 3 1B",
            decoder(1152, 6912, 26, 4, 1, 262144, head_dim=256, sliding_window=512),
            999885952,
            "google/gemma-3-1b-pt",
            512,
        ),
    ]
    return [
        *like_llama("gemma", ("GemmaForCausalLM", "GemmaConfig"), first),
        *like_llama("gemma", ("Gemma2ForCausalLM", "Gemma2Config"), second),
        *like_llama("gemma", ("Gemma3ForCausalLM", "Gemma3TextConfig"), third),
    ]


def _phi_and_others() -> list[Model]:
    phi = [
        (
            "phi_1_5",
            "Phi-1.5",
            decoder(2048, 8192, 24, 32, 32, 51200, partial_rotary_factor=0.5),
            1418270720,
            "microsoft/phi-1_5",
        ),
        (
            "phi_2",
            "Phi-2",
            decoder(2560, 10240, 32, 32, 32, 51200, partial_rotary_factor=0.4),
            2779683840,
            "microsoft/phi-2",
        ),
    ]
    third = [
        (
            "phi_3_mini",
            "Phi-3 mini",
            decoder(3072, 8192, 32, 32, 32, 32064, sliding_window=2047),
            3821079552,
            "microsoft/Phi-3-mini-4k-instruct",
            2047,
        ),
        (
            "phi_4",
            "Phi-4",
            decoder(5120, 17920, 40, 40, 10, 100352),
            14659507200,
            "microsoft/phi-4",
        ),
    ]
    olmo = [
        (
            "olmo2_7b",
            "OLMo 2 7B",
            decoder(4096, 11008, 32, 32, 32, 100352),
            7298617344,
            "allenai/OLMo-2-1124-7B",
        ),
    ]
    return [
        *like_llama("phi", ("PhiForCausalLM", "PhiConfig"), phi),
        *like_llama("phi", ("Phi3ForCausalLM", "Phi3Config"), third),
        *like_llama("olmo", ("Olmo2ForCausalLM", "Olmo2Config"), olmo),
    ]


# Models that differ from another one only in their weights.
_SAME = {
    "llama_7b": "llama2_7b",
    "llama3_1_8b": "llama3_8b",
    "llama3_1_70b": "llama3_70b",
}


def models() -> list[Model]:
    """All models of this file."""
    found = [
        *_llama(),
        *_like_llama_by_others(),
        *_mistral(),
        *_qwen(),
        *_gemma(),
        *_phi_and_others(),
    ]
    return [dataclasses.replace(model, same_as=_SAME.get(model.name)) for model in found]
