"""Models of the transformers library, built from configurations; no weights are downloaded."""

import importlib.util
from typing import Any

import torch

from catalog.entry import Entry, Input
from pyrometer._testing import torchvision_ops

_BATCH_AND_LENGTH = (0, 1)


def _build(class_name: str, config_name: str, options: dict, part: str | None) -> torch.nn.Module:
    if importlib.util.find_spec("torchvision"):
        torchvision_ops.declare()
    import transformers

    options = dict(options)
    dtype = options.pop("dtype", torch.float32)
    config = getattr(transformers, config_name)(**options)
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        module = getattr(transformers, class_name)(config)
    finally:
        torch.set_default_dtype(previous)
    return getattr(module, part) if part else module


def _tokens(vocabulary: int, length: int = 128, other: tuple[int, int] = (3, 56)) -> Input:
    return Input(
        (1, length), dtype=torch.int64, dynamic=_BATCH_AND_LENGTH, other=other, high=vocabulary
    )


def _entry(
    name: str,
    display_name: str,
    model: tuple[str, str],
    options: dict,
    arguments: dict[str, Any],
    part: str | None = None,
    device: str = "meta",
) -> Entry:
    class_name, config_name = model
    return Entry(
        name=name,
        display_name=display_name,
        family="transformers",
        package="transformers",
        builder=f"transformers.{class_name}(transformers.{config_name}(...))",
        build=lambda: _build(class_name, config_name, options, part),
        arguments=arguments,
        by_name=True,
        device=device,
    )


def _decoder_options(
    width: int, inner: int, layers: int, heads: int, key_heads: int, vocabulary: int, **more
) -> dict:
    return {
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "vocab_size": vocabulary,
        **more,
    }


_TINY = _decoder_options(64, 160, 2, 4, 2, 512)


def _encoders() -> list[Entry]:
    tokens = {"input_ids": _tokens(30522)}
    # T5-small with another vocabulary. On meta a file could not show that its embeddings are tied.
    t5 = {
        "vocab_size": 2048,
        "d_model": 512,
        "d_ff": 2048,
        "num_layers": 6,
        "num_heads": 8,
        "d_kv": 64,
    }
    return [
        _entry("bert_base", "BERT-base", ("BertModel", "BertConfig"), {}, tokens),
        _entry(
            "roberta_base",
            "RoBERTa-base",
            ("RobertaModel", "RobertaConfig"),
            {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
            tokens,
        ),
        _entry("distilbert", "DistilBERT", ("DistilBertModel", "DistilBertConfig"), {}, tokens),
        _entry(
            "albert_base",
            "ALBERT-base",
            ("AlbertModel", "AlbertConfig"),
            {
                "hidden_size": 768,
                "num_attention_heads": 12,
                "intermediate_size": 3072,
            },
            tokens,
        ),
        _entry("electra_small", "ELECTRA-small", ("ElectraModel", "ElectraConfig"), {}, tokens),
        _entry(
            "t5_encoder",
            "T5-small encoder",
            ("T5EncoderModel", "T5Config"),
            t5,
            {"input_ids": _tokens(2048)},
            device="cpu",
        ),
        _entry(
            "t5_small",
            "T5-small",
            ("T5ForConditionalGeneration", "T5Config"),
            t5,
            {
                "input_ids": _tokens(2048),
                "decoder_input_ids": _tokens(2048, 64, (3, 40)),
                "use_cache": False,
            },
            device="cpu",
        ),
    ]


def _decoders() -> list[Entry]:
    def arguments(vocabulary: int) -> dict:
        return {"input_ids": _tokens(vocabulary), "use_cache": False}

    llama = ("LlamaForCausalLM", "LlamaConfig")
    gpt2 = ("GPT2LMHeadModel", "GPT2Config")
    mixtral = ("MixtralForCausalLM", "MixtralConfig")
    return [
        _entry("gpt2", "GPT-2", gpt2, {}, arguments(50257)),
        _entry(
            "gpt2_tiny",
            "GPT-2 tiny",
            gpt2,
            {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 512},
            arguments(512),
            device="cpu",
        ),
        _entry("opt_125m", "OPT-125M", ("OPTForCausalLM", "OPTConfig"), {}, arguments(50272)),
        _entry(
            "bloom_tiny",
            "BLOOM tiny",
            ("BloomForCausalLM", "BloomConfig"),
            {"vocab_size": 512, "hidden_size": 64, "n_layer": 2, "n_head": 4},
            arguments(512),
        ),
        _entry(
            "gpt_neox_tiny",
            "GPT-NeoX tiny",
            ("GPTNeoXForCausalLM", "GPTNeoXConfig"),
            {
                "vocab_size": 512,
                "hidden_size": 64,
                "intermediate_size": 256,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
            },
            arguments(512),
        ),
        _entry("llama_tiny", "LLaMA tiny", llama, _TINY, arguments(512), device="cpu"),
        _entry(
            "llama3_8b",
            "Llama 3 8B",
            llama,
            _decoder_options(4096, 14336, 32, 32, 8, 128256),
            arguments(128256),
        ),
        _entry(
            "llama3_70b",
            "Llama 3 70B",
            llama,
            _decoder_options(8192, 28672, 80, 64, 8, 128256),
            arguments(128256),
        ),
        _entry(
            "mistral_7b",
            "Mistral 7B",
            ("MistralForCausalLM", "MistralConfig"),
            _decoder_options(4096, 14336, 32, 32, 8, 32000, sliding_window=4096),
            arguments(32000),
        ),
        _entry(
            "mixtral_tiny",
            "Mixtral tiny",
            mixtral,
            {**_TINY, "num_local_experts": 4},
            arguments(512),
            device="cpu",
        ),
        _entry(
            "mixtral_8x7b",
            "Mixtral 8x7B",
            mixtral,
            _decoder_options(4096, 14336, 32, 32, 8, 32000, dtype=torch.bfloat16),
            arguments(32000),
        ),
        _entry(
            "qwen2_0_5b",
            "Qwen2.5 0.5B",
            ("Qwen2ForCausalLM", "Qwen2Config"),
            _decoder_options(896, 4864, 24, 14, 2, 151936, tie_word_embeddings=True),
            arguments(151936),
        ),
        _entry(
            "qwen3_tiny",
            "Qwen3 tiny",
            ("Qwen3ForCausalLM", "Qwen3Config"),
            {**_TINY, "head_dim": 32},
            arguments(512),
        ),
        _entry(
            "gemma_2b",
            "Gemma 2B",
            ("GemmaForCausalLM", "GemmaConfig"),
            _decoder_options(2048, 16384, 18, 8, 1, 256000, head_dim=256),
            arguments(256000),
        ),
        _entry(
            "gemma2_tiny",
            "Gemma 2 tiny",
            ("Gemma2ForCausalLM", "Gemma2Config"),
            {**_TINY, "head_dim": 16},
            arguments(512),
        ),
        _entry(
            "phi_tiny",
            "Phi tiny",
            ("PhiForCausalLM", "PhiConfig"),
            _TINY,
            arguments(512),
        ),
        _entry(
            "mamba_130m",
            "Mamba 130M",
            ("MambaForCausalLM", "MambaConfig"),
            {"vocab_size": 50280, "hidden_size": 768, "num_hidden_layers": 4},
            {
                # Its scan is unrolled step by step, which fixes the length.
                "input_ids": Input((1, 32), torch.int64, (0,), (3, 32), 50280),
                "use_cache": False,
            },
        ),
    ]


def _image(side: int = 224) -> Input:
    return Input((1, 3, side, side), dynamic=(0,), other=(4, 3, side, side))


def _others() -> list[Entry]:
    return [
        _entry(
            "whisper_tiny_encoder",
            "Whisper tiny encoder",
            ("WhisperModel", "WhisperConfig"),
            {
                "d_model": 384,
                "encoder_layers": 4,
                "decoder_layers": 4,
                "encoder_attention_heads": 6,
                "decoder_attention_heads": 6,
                "encoder_ffn_dim": 1536,
                "decoder_ffn_dim": 1536,
            },
            {"input_features": Input((1, 80, 3000), dynamic=(0,), other=(2, 80, 3000))},
            part="encoder",
        ),
        _entry(
            "wav2vec2_base",
            "wav2vec 2.0 base",
            ("Wav2Vec2Model", "Wav2Vec2Config"),
            {},
            {"input_values": Input((1, 16000), dynamic=(0, 1), other=(2, 20000))},
        ),
        _entry(
            "clip_vit_b32",
            "CLIP ViT-B/32",
            ("CLIPModel", "CLIPConfig"),
            {},
            {
                "input_ids": Input(
                    (1, 77), dtype=torch.int64, dynamic=(0,), other=(3, 77), high=49408
                ),
                "pixel_values": _image(),
            },
        ),
        _entry(
            "hf_vit_base",
            "ViT-B/16 (transformers)",
            ("ViTForImageClassification", "ViTConfig"),
            {"num_labels": 1000},
            {"pixel_values": _image()},
        ),
        _entry(
            "hf_convnext_tiny",
            "ConvNeXt-Tiny (transformers)",
            ("ConvNextForImageClassification", "ConvNextConfig"),
            {"num_labels": 1000},
            {"pixel_values": Input((1, 3, 224, 224), dynamic=(0, 2, 3), other=(3, 3, 256, 288))},
        ),
        _entry(
            "segformer_b0",
            "SegFormer-B0",
            ("SegformerForSemanticSegmentation", "SegformerConfig"),
            {"num_labels": 150},
            {"pixel_values": _image(512)},
        ),
        _entry(
            "dinov2_small",
            "DINOv2 small",
            ("Dinov2Model", "Dinov2Config"),
            {"hidden_size": 384, "num_attention_heads": 6, "image_size": 518, "patch_size": 14},
            {"pixel_values": _image(518)},
        ),
    ]


def entries() -> list[Entry]:
    """All of them."""
    return _encoders() + _decoders() + _others()
