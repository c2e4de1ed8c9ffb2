"""Models of images and text with a language model, from their published configurations."""

import dataclasses
from typing import Any

import torch

from catalog import transformers_build
from catalog.entry import Input
from catalog.language import Cache, checkpoint, decode_entry
from catalog.model import Depth, Model
from catalog.perception import image, tokens, transformers_model

_LAYERS = "model.language_model.layers"
_CLIP_336 = {
    "model_type": "clip_vision_model",
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
    "projection_dim": 768,
    "vocab_size": 32000,
}
# 448 x 448 pixels in patches of 14; the language model reads four patches as one token.
_SIDE = 32


def _with_decode(model: Model, cache: Cache, vocabulary: int) -> Model:
    decode = decode_entry(model.entry, cache, vocabulary, torch.bfloat16)
    return dataclasses.replace(model, decode=decode)


def _llava_at(layers: int) -> Model:
    text = {
        "model_type": "llama",
        "vocab_size": 32064,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": layers,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "use_cache": False,
    }
    model = transformers_model(
        "llava_1_5_7b",
        "LLaVA 1.5 7B",
        "llava",
        "image-text",
        ("LlavaForConditionalGeneration", "LlavaConfig"),
        {"text_config": text, "vision_config": _CLIP_336},
        {
            "input_ids": tokens(640, 32000, dynamic=(1,)),
            "pixel_values": image(336, dynamic=(), dtype=torch.bfloat16),
        },
        checkpoint(7063427072, "llava-hf/llava-1.5-7b-hf"),
        dtype=torch.bfloat16,
    )
    return _with_decode(model, Cache(layers, 32, 128, 128), 32000)


def _qwen_options(layers: int) -> dict[str, Any]:
    return {
        "text_config": {
            "vocab_size": 152064,
            "hidden_size": 3584,
            "intermediate_size": 18944,
            "num_hidden_layers": layers,
            "num_attention_heads": 28,
            "num_key_value_heads": 4,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1000000.0,
                "mrope_section": [16, 24, 24],
            },
        },
        "vision_config": {"hidden_size": 1280, "tokens_per_second": 2},
    }


def _qwen_at(layers: int) -> Model:
    patches = Input((_SIDE**2, 1176), torch.bfloat16, axes=("patches", "features"))
    model = transformers_model(
        "qwen2_5_vl_7b",
        "Qwen2.5-VL 7B",
        "qwen",
        "image-text",
        ("Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLConfig"),
        _qwen_options(layers),
        {"input_ids": tokens(320, 151000, dynamic=(1,)), "pixel_values": patches},
        checkpoint(8292166656, "Qwen/Qwen2.5-VL-7B-Instruct"),
        dtype=torch.bfloat16,
    )
    model = _with_decode(model, Cache(layers, 4, 128, 128), 151000)
    build = model.entry.build
    entry = dataclasses.replace(
        model.entry, build=lambda: transformers_build.with_one_image(build(), _SIDE, _SIDE)
    )
    return dataclasses.replace(model, entry=entry)


def models() -> list[Model]:
    """Prompts of one image and 64 tokens of text; the image is 576 tokens (LLaVA) or 256 (Qwen)."""
    return [
        dataclasses.replace(at(layers), depth=Depth(_LAYERS, layers, at))
        for at, layers in ((_llava_at, 32), (_qwen_at, 28))
    ]
