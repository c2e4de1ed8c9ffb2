"""Encoders of images and depth estimators of 2024 and later, from published configurations."""

from catalog.model import Model, as_built
from catalog.perception import checkpoint, image, tokens, transformers_model


def _dinov3() -> list[Model]:
    found = []
    for name, title, options, params in (
        ("dinov3_vits16", "DINOv3 ViT-S/16", (384, 12, 6, 1536, False), 21596544),
        ("dinov3_vitb16", "DINOv3 ViT-B/16", (768, 12, 12, 3072, False), 85660416),
        ("dinov3_vitl16", "DINOv3 ViT-L/16", (1024, 24, 16, 4096, False), 303129600),
        ("dinov3_vit7b16", "DINOv3 ViT-7B/16", (4096, 40, 32, 8192, True), 6716035072),
    ):
        width, layers, heads, inner, gated = options
        config = {
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": inner,
            "use_gated_mlp": gated,
            "num_register_tokens": 4,
            "image_size": 224,
        }
        repository = f"facebook/{name.replace('_', '-')}-pretrain-lvd1689m"
        published = checkpoint(params, repository)
        if width == 384:
            published = as_built(params, "the README of facebookresearch/dinov3 says 21M")
        if gated:
            config.update({"query_bias": False, "value_bias": False})
        found.append(
            transformers_model(
                name,
                title,
                "dinov3",
                "image encoder",
                ("DINOv3ViTModel", "DINOv3ViTConfig"),
                config,
                {"pixel_values": image(224, dynamic=(0, 2, 3))},
                published,
            )
        )
    return found


def _siglip2() -> list[Model]:
    large = {
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
    }
    rows = [
        ("siglip2_base", "SigLIP 2 base", {}, {}, 224, 375187970, "base-patch16-224"),
        (
            "siglip2_so400m",
            "SigLIP 2 SO400M",
            {**large, "projection_size": 1152},
            {**large, "patch_size": 14, "image_size": 384},
            384,
            1136008498,
            "so400m-patch14-384",
        ),
    ]
    return [
        transformers_model(
            name,
            title,
            "siglip",
            "image-text",
            ("SiglipModel", "SiglipConfig"),
            {"text_config": {"vocab_size": 256000, **text}, "vision_config": vision},
            {"input_ids": tokens(64, 256000), "pixel_values": image(side)},
            checkpoint(params, f"google/siglip2-{repository}"),
        )
        for name, title, text, vision, side, params, repository in rows
    ]


def _sam2() -> list[Model]:
    found = []
    for name, title, width, blocks, heads, windows, whole, params, stated in (
        (
            "sam2_hiera_tiny_encoder",
            "SAM 2.1 Hiera-T image encoder",
            96,
            [1, 2, 7, 2],
            1,
            [8, 4, 14, 7],
            [5, 7, 9],
            27219136,
            "38.9M",
        ),
        (
            "sam2_hiera_large_encoder",
            "SAM 2.1 Hiera-L image encoder",
            144,
            [2, 6, 36, 4],
            2,
            [8, 4, 16, 8],
            [23, 33, 43],
            212703280,
            "224.4M",
        ),
    ):
        widths = [width * 2**stage for stage in range(4)]
        options = {
            "backbone_config": {
                "model_type": "sam2_hiera_det_model",
                "hidden_size": width,
                "num_attention_heads": heads,
                "blocks_per_stage": blocks,
                "embed_dim_per_stage": widths,
                "num_attention_heads_per_stage": [heads * 2**stage for stage in range(4)],
                "window_size_per_stage": windows,
                "global_attention_blocks": whole,
            },
            "backbone_channel_list": widths[::-1],
        }
        found.append(
            transformers_model(
                name,
                title,
                "sam",
                "image encoder",
                ("Sam2VisionModel", "Sam2VisionConfig"),
                options,
                {"pixel_values": image(1024)},
                as_built(params, f"README of facebookresearch/sam2: {stated} for all of SAM 2"),
            )
        )
    return found


def _depth_anything() -> list[Model]:
    found = []
    for name, title, width, layers, heads, stages, neck, fusion, params in (
        (
            "depth_anything_v2_small",
            "Depth Anything V2 small",
            384,
            12,
            6,
            [3, 6, 9, 12],
            [48, 96, 192, 384],
            64,
            24785089,
        ),
        (
            "depth_anything_v2_base",
            "Depth Anything V2 base",
            768,
            12,
            12,
            [3, 6, 9, 12],
            [96, 192, 384, 768],
            128,
            97470785,
        ),
        (
            "depth_anything_v2_large",
            "Depth Anything V2 large",
            1024,
            24,
            16,
            [5, 12, 18, 24],
            [256, 512, 1024, 1024],
            256,
            335315649,
        ),
    ):
        options = {
            "backbone_config": {
                "model_type": "dinov2",
                "hidden_size": width,
                "num_hidden_layers": layers,
                "num_attention_heads": heads,
                "image_size": 518,
                "patch_size": 14,
                "out_indices": stages,
                "apply_layernorm": True,
                "reshape_hidden_states": False,
            },
            "reassemble_hidden_size": width,
            "neck_hidden_sizes": neck,
            "fusion_hidden_size": fusion,
        }
        found.append(
            transformers_model(
                name,
                title,
                "depth_anything",
                "depth estimation",
                ("DepthAnythingForDepthEstimation", "DepthAnythingConfig"),
                options,
                {"pixel_values": image(518)},
                checkpoint(params, f"depth-anything/Depth-Anything-V2-{name[18:].title()}-hf"),
            )
        )
    return found


def models() -> list[Model]:
    """All models of this file."""
    return [*_dinov3(), *_siglip2(), *_sam2(), *_depth_anything()]
