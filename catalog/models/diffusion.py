"""Denoisers of diffusion models: UNets and transformers, from diffusers' configurations."""

from typing import Any

import torch

from catalog.entry import Entry, Input
from catalog.model import Model, Published
from pyrometer._helper import torchvision_ops

_LATENT_AXES = ("batch", "channel", "height", "width")


def _build(class_name: str, options: dict[str, Any], dtype: torch.dtype) -> torch.nn.Module:
    torchvision_ops.declare()
    import diffusers

    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return getattr(diffusers, class_name)(**options)
    finally:
        torch.set_default_dtype(previous)


def _model(
    name: str,
    display_name: str,
    family: str,
    class_name: str,
    options: dict[str, Any],
    arguments: dict[str, Any],
    published: Published,
    dtype: torch.dtype = torch.float16,
) -> Model:
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
    entry = Entry(
        name=name,
        display_name=display_name,
        family=family,
        package="diffusers",
        builder=f"diffusers.{class_name}({shown})",
        build=lambda: _build(class_name, options, dtype),
        arguments=arguments,
        by_name=True,
    )
    return Model(entry, "diffusion", published)


def _latents(
    channels: int, side: int, dtype: torch.dtype, dynamic: tuple[int, ...] = (0,)
) -> Input:
    return Input((1, channels, side, side), dtype, dynamic=dynamic, axes=_LATENT_AXES)


def _text(length: int, width: int, dtype: torch.dtype) -> Input:
    return Input((1, length, width), dtype, dynamic=(0, 1), axes=("batch", "sequence", "features"))


def _vector(width: int, dtype: torch.dtype) -> Input:
    return Input((1, width), dtype, dynamic=(0,), axes=("batch", "features"))


def _steps(dtype: torch.dtype = torch.int64) -> Input:
    return Input((1,), dtype, dynamic=(0,), axes=("batch",))


_SD15 = {
    "sample_size": 64,
    "cross_attention_dim": 768,
    "attention_head_dim": 8,
    "block_out_channels": (320, 640, 1280, 1280),
    "layers_per_block": 2,
}
_SD21 = {
    **_SD15,
    "sample_size": 96,
    "cross_attention_dim": 1024,
    "attention_head_dim": (5, 10, 20, 20),
    "use_linear_projection": True,
}
_SDXL = {
    "sample_size": 128,
    "cross_attention_dim": 2048,
    "attention_head_dim": (5, 10, 20),
    "block_out_channels": (320, 640, 1280),
    "layers_per_block": 2,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    "transformer_layers_per_block": (1, 2, 10),
    "use_linear_projection": True,
    "addition_embed_type": "text_time",
    "addition_time_embed_dim": 256,
    "projection_class_embeddings_input_dim": 2816,
}


def _unets() -> list[Model]:
    half = torch.float16

    def arguments(side: int, width: int) -> dict[str, Any]:
        return {
            "sample": _latents(4, side, half),
            "timestep": _steps(),
            "encoder_hidden_states": _text(77, width, half),
            "return_dict": False,
        }

    extended = {
        **arguments(128, 2048),
        "added_cond_kwargs": {"text_embeds": _vector(1280, half), "time_ids": _vector(6, half)},
    }
    unet = "UNet2DConditionModel"
    return [
        _model(
            "sd15_unet",
            "Stable Diffusion 1.5 UNet",
            "stable_diffusion",
            unet,
            _SD15,
            arguments(64, 768),
            Published(859520964, "the UNet of stable-diffusion-v1-5 (860M in its paper)"),
        ),
        _model(
            "sd21_unet",
            "Stable Diffusion 2.1 UNet",
            "stable_diffusion",
            unet,
            _SD21,
            arguments(96, 1024),
            Published(865910724, "the UNet of stable-diffusion-2-1 (865M in SDXL's paper)"),
        ),
        _model(
            "sdxl_unet",
            "SDXL UNet",
            "stable_diffusion",
            unet,
            _SDXL,
            extended,
            Published(2567463684, "the UNet of stable-diffusion-xl-base-1.0 (2.6B in its paper)"),
        ),
    ]


def _transformers() -> list[Model]:
    half, brain = torch.float16, torch.bfloat16
    sd3 = {
        "sample_size": 128,
        "patch_size": 2,
        "in_channels": 16,
        "num_layers": 24,
        "attention_head_dim": 64,
        "num_attention_heads": 24,
        "joint_attention_dim": 4096,
        "caption_projection_dim": 1536,
        "pooled_projection_dim": 2048,
        "out_channels": 16,
        "pos_embed_max_size": 192,
    }
    pixart = {
        "num_attention_heads": 16,
        "attention_head_dim": 72,
        "in_channels": 4,
        "out_channels": 8,
        "num_layers": 28,
        "cross_attention_dim": 1152,
        "caption_channels": 4096,
        "sample_size": 64,
        "patch_size": 2,
    }
    return [
        _model(
            "sd3_medium",
            "Stable Diffusion 3 medium transformer",
            "stable_diffusion",
            "SD3Transformer2DModel",
            sd3,
            {
                "hidden_states": _latents(16, 128, half),
                "encoder_hidden_states": _text(154, 4096, half),
                "pooled_projections": _vector(2048, half),
                "timestep": _steps(),
                "return_dict": False,
            },
            Published(2_000_000_000, "Stable Diffusion 3 medium's model card (2B)", 100_000_000),
        ),
        _model(
            "pixart_alpha_xl_2_512",
            "PixArt-alpha XL/2 512",
            "pixart",
            "PixArtTransformer2DModel",
            pixart,
            {
                "hidden_states": _latents(4, 64, half),
                "encoder_hidden_states": _text(120, 4096, half),
                "timestep": _steps(),
                "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
                "return_dict": False,
            },
            Published(600_000_000, "PixArt-alpha paper (0.6B)", 100_000_000),
        ),
        _model(
            "flux1_dev",
            "FLUX.1 dev transformer",
            "flux",
            "FluxTransformer2DModel",
            {"guidance_embeds": True},
            {
                "hidden_states": Input(
                    (1, 4096, 64), brain, dynamic=(0, 1), axes=("batch", "patches", "features")
                ),
                "encoder_hidden_states": _text(512, 4096, brain),
                "pooled_projections": _vector(768, brain),
                "timestep": _steps(brain),
                "img_ids": Input((4096, 3), brain, dynamic=(0,), axes=("patches", "features")),
                "txt_ids": Input((512, 3), brain, dynamic=(0,), axes=("sequence", "features")),
                "guidance": _steps(brain),
                "return_dict": False,
            },
            Published(11901408320, "transformer of black-forest-labs/FLUX.1-dev (12B in its card)"),
            brain,
        ),
    ]


def _sd35() -> list[Model]:
    half = torch.float16
    common = {
        "sample_size": 128,
        "patch_size": 2,
        "in_channels": 16,
        "attention_head_dim": 64,
        "joint_attention_dim": 4096,
        "pooled_projection_dim": 2048,
        "out_channels": 16,
        "qk_norm": "rms_norm",
    }
    medium = {
        "num_layers": 24,
        "num_attention_heads": 24,
        "caption_projection_dim": 1536,
        "pos_embed_max_size": 384,
        "dual_attention_layers": tuple(range(13)),
    }
    large = {
        "num_layers": 38,
        "num_attention_heads": 38,
        "caption_projection_dim": 2432,
        "pos_embed_max_size": 192,
    }
    arguments = {
        "hidden_states": _latents(16, 128, half),
        "encoder_hidden_states": _text(333, 4096, half),
        "pooled_projections": _vector(2048, half),
        "timestep": _steps(),
        "return_dict": False,
    }
    return [
        _model(
            f"sd35_{name}",
            f"Stable Diffusion 3.5 {name} transformer",
            "stable_diffusion",
            "SD3Transformer2DModel",
            {**common, **options},
            arguments,
            Published(params, f"model card of Stable Diffusion 3.5 {name} ({shown})", 100_000_000),
        )
        for name, options, params, shown in (
            # The table of positions is a buffer.
            (
                "medium",
                medium,
                2_500_000_000 - 384 * 384 * 1536,
                "2.5B with positions",
            ),
            ("large", large, 8_100_000_000, "8.1B"),
        )
    ]


def _dit() -> list[Model]:
    options = {
        "num_attention_heads": 16,
        "attention_head_dim": 72,
        "in_channels": 4,
        "out_channels": 8,
        "num_layers": 28,
        "sample_size": 32,
        "patch_size": 2,
    }
    labels = Input((1,), torch.int64, dynamic=(0,), high=1000, axes=("batch",))
    return [
        _model(
            "dit_xl_2_256",
            "DiT-XL/2 256",
            "dit",
            "DiTTransformer2DModel",
            options,
            {
                "hidden_states": _latents(4, 32, torch.float32),
                "timestep": _steps(),
                "class_labels": labels,
                "return_dict": False,
            },
            # Its table of positions is a buffer, and 27 blocks hold copies of the embedders.
            Published(
                675_129_632 - 256 * 1152 + 27 * 2_777_472,
                "675,129,632 of DiT-XL/2, without positions, with the copies in diffusers' blocks",
            ),
            torch.float32,
        )
    ]


def _video() -> list[Model]:
    """Wan 2.1 at 81 frames of 480 x 832 pixels: 21 x 60 x 104 latents."""
    brain = torch.bfloat16
    found = []
    for name, title, heads, inner, layers, params in (
        ("wan2_1_t2v_1_3b", "Wan 2.1 T2V 1.3B transformer", 12, 8960, 30, 1418996800),
        ("wan2_1_t2v_14b", "Wan 2.1 T2V 14B transformer", 40, 13824, 40, 14288491584),
    ):
        options = {
            "num_attention_heads": heads,
            "attention_head_dim": 128,
            "in_channels": 16,
            "out_channels": 16,
            "text_dim": 4096,
            "freq_dim": 256,
            "ffn_dim": inner,
            "num_layers": layers,
        }
        found.append(
            _model(
                name,
                title,
                "wan",
                "WanTransformer3DModel",
                options,
                {
                    "hidden_states": Input(
                        (1, 16, 21, 60, 104),
                        brain,
                        dynamic=(0,),
                        axes=("batch", "channel", "frames", "height", "width"),
                    ),
                    "timestep": _steps(),
                    "encoder_hidden_states": _text(512, 4096, brain),
                    "return_dict": False,
                },
                Published(params, f"tensors of the transformer of {title[:-12]} in diffusers"),
                brain,
            )
        )
    return found


def models() -> list[Model]:
    """All models of this file."""
    return [*_unets(), *_transformers(), *_sd35(), *_dit(), *_video()]
