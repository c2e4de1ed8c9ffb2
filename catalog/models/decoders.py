"""Dense language models of 2024 and later, from their published configurations."""

from catalog.language import TIED, Cache, decoder, language_model, like_llama
from catalog.model import Model, Published, as_built


def _mistral() -> list[Model]:
    rows = [
        (
            "mistral_small_24b",
            "Mistral Small 3 24B",
            decoder(5120, 32768, 40, 32, 8, 131072, head_dim=128, sliding_window=None),
            23572403200,
            "mistralai/Mistral-Small-24B-Base-2501",
        ),
        (
            "mistral_large_123b",
            "Mistral Large 2 123B",
            decoder(12288, 28672, 88, 96, 8, 32768, head_dim=128, sliding_window=None),
            122610069504,
            "mistralai/Mistral-Large-Instruct-2407",
        ),
    ]
    return like_llama("mistral", ("MistralForCausalLM", "MistralConfig"), rows)


def _phi() -> list[Model]:
    rows = [
        (
            "phi_4_mini",
            "Phi-4-mini",
            decoder(3072, 8192, 32, 24, 8, 200064, partial_rotary_factor=0.75, **TIED),
            3836021760,
            "microsoft/Phi-4-mini-instruct",
        ),
    ]
    return like_llama("phi", ("Phi3ForCausalLM", "Phi3Config"), rows)


def _glm() -> list[Model]:
    first = [
        (
            "glm4_9b",
            "GLM-4 9B",
            decoder(4096, 13696, 40, 32, 2, 151552, head_dim=128, attention_bias=True),
            9399951360,
            "zai-org/glm-4-9b-hf",
        ),
    ]
    second = [
        (
            "glm4_32b_0414",
            "GLM-4 32B 0414",
            decoder(6144, 23040, 61, 48, 2, 151552, head_dim=128, attention_bias=False),
            32566081536,
            "zai-org/GLM-4-32B-0414",
        ),
    ]
    return [
        *like_llama("glm", ("GlmForCausalLM", "GlmConfig"), first),
        *like_llama("glm", ("Glm4ForCausalLM", "Glm4Config"), second),
    ]


def _command_r() -> list[Model]:
    first = [
        (
            "command_r_35b",
            "Command R 35B",
            decoder(8192, 22528, 40, 64, 64, 256000, **TIED),
            34980831232,
            "CohereLabs/c4ai-command-r-v01",
        ),
        (
            "command_r_plus_104b",
            "Command R+ 104B",
            decoder(12288, 33792, 64, 96, 8, 256000, use_qk_norm=True, **TIED),
            103810674688,
            "CohereLabs/c4ai-command-r-plus",
        ),
    ]
    small = decoder(4096, 14336, 32, 32, 8, 256000, head_dim=128, sliding_window=4096, **TIED)
    second = language_model(
        "command_r7b",
        "Command R7B",
        "command_r",
        ("Cohere2ForCausalLM", "Cohere2Config"),
        small,
        as_built(8028033024, "the card of c4ai-command-r7b-12-2024 says 7 billion"),
        Cache(32, 8, 128, 128, 4095),
        period=4,
    )
    return [
        *like_llama("command_r", ("CohereForCausalLM", "CohereConfig"), first),
        second,
    ]


def _granite() -> list[Model]:
    rows = [
        (
            "granite_3_3_8b",
            "Granite 3.3 8B",
            decoder(4096, 12800, 40, 32, 8, 49159, **TIED),
            8170864640,
            "ibm-granite/granite-3.3-8b-base",
        ),
    ]
    return like_llama("granite", ("GraniteForCausalLM", "GraniteConfig"), rows)


def _starcoder() -> list[Model]:
    window = {"sliding_window": 4096, "use_bias": True}
    rows = [
        (
            "starcoder2_3b",
            "StarCoder2 3B",
            decoder(3072, 12288, 30, 24, 2, 49152, **window, **TIED),
            3030371328,
            "bigcode/starcoder2-3b",
            4096,
        ),
        (
            "starcoder2_15b",
            "StarCoder2 15B",
            decoder(6144, 24576, 40, 48, 4, 49152, **window, tie_word_embeddings=False),
            15957889024,
            "bigcode/starcoder2-15b",
            4096,
        ),
    ]
    return like_llama("starcoder", ("Starcoder2ForCausalLM", "Starcoder2Config"), rows)


def _gemma() -> list[Model]:
    """The language models of Gemma 3; their checkpoints also hold a vision tower."""
    found = []
    for name, title, width, inner, layers, heads, key_heads, head, params, whole in (
        ("gemma3_4b", "Gemma 3 4B", 2560, 10240, 34, 8, 4, 256, 3880263168, 4300079472),
        ("gemma3_12b", "Gemma 3 12B", 3840, 15360, 48, 16, 8, 256, 11766034176, 12187325040),
        ("gemma3_27b", "Gemma 3 27B", 5376, 21504, 62, 32, 16, 128, 27009346304, 27432406640),
    ):
        options = decoder(
            width, inner, layers, heads, key_heads, 262208, head_dim=head, sliding_window=1024
        )
        source = (
            f"tensors of the language model in the checkpoint google/{name.replace('_', '-')}-pt, "
            f"which has {whole:,} parameters with its vision tower"
        ).replace("gemma3", "gemma-3")
        found.append(
            language_model(
                name,
                title,
                "gemma",
                ("Gemma3ForCausalLM", "Gemma3TextConfig"),
                options,
                Published(params, source),
                Cache(layers, key_heads, head, head, 1023),
                first=layers % 6,
                period=6,
            )
        )
    return found


def _gemma3n() -> list[Model]:
    """The language model of Gemma 3n; its checkpoint also holds encoders of images and speech.

    The first ten layers are sparse and the last fifteen reuse keys and values, so twenty have a
    cache. No layers are copied.
    """
    options = decoder(2048, 16384, 35, 8, 2, 262400, head_dim=256, sliding_window=512)
    note = "Google states 8B, rounded, with the encoders of images and speech"
    return [
        language_model(
            "gemma3n_e4b",
            "Gemma 3n E4B",
            "gemma",
            ("Gemma3nForCausalLM", "Gemma3nTextConfig"),
            options,
            as_built(6835235568, note),
            Cache(20, 2, 256, 256, 511),
            first=20,
            period=5,
            named=True,
        )
    ]


def models() -> list[Model]:
    """All models of this file."""
    return [
        *_mistral(),
        *_phi(),
        *_glm(),
        *_command_r(),
        *_granite(),
        *_starcoder(),
        *_gemma(),
        *_gemma3n(),
    ]
