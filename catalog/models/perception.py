"""Speech, image and image-text models of transformers and timm."""

from collections.abc import Callable

import torch

from catalog.entry import Entry, Input
from catalog.model import Model, Published
from catalog.perception import checkpoint, image, transformers_model
from pyrometer._helper import torchvision_ops


def _whisper() -> list[Model]:
    found = []
    for name, title, width, layers, heads, params, vocabulary, bands, decoder_layers in (
        ("whisper_tiny", "Whisper tiny", 384, 4, 6, 37760640, 51865, 80, 4),
        ("whisper_base", "Whisper base", 512, 6, 8, 72593920, 51865, 80, 6),
        ("whisper_small", "Whisper small", 768, 12, 12, 241734912, 51865, 80, 12),
        ("whisper_medium", "Whisper medium", 1024, 24, 16, 763857920, 51865, 80, 24),
        ("whisper_large_v2", "Whisper large v2", 1280, 32, 20, 1543304960, 51865, 80, 32),
        ("whisper_large_v3", "Whisper large v3", 1280, 32, 20, 1543490560, 51866, 128, 32),
        (
            "whisper_large_v3_turbo",
            "Whisper large v3 turbo",
            1280,
            32,
            20,
            808878080,
            51866,
            128,
            4,
        ),
    ):
        options = {
            "d_model": width,
            "encoder_layers": layers,
            "decoder_layers": decoder_layers,
            "encoder_attention_heads": heads,
            "decoder_attention_heads": heads,
            "encoder_ffn_dim": 4 * width,
            "decoder_ffn_dim": 4 * width,
            "vocab_size": vocabulary,
            "num_mel_bins": bands,
        }
        arguments = {
            "input_features": Input(
                (1, bands, 3000), dynamic=(0,), axes=("batch", "channel", "frames")
            ),
            "decoder_input_ids": Input(
                (1, 64),
                torch.int64,
                dynamic=(0, 1),
                high=vocabulary,
                axes=("batch", "sequence"),
                bounds={"sequence": (1, 448)},
            ),
            "use_cache": False,
        }
        found.append(
            transformers_model(
                name,
                title,
                "whisper",
                "speech",
                ("WhisperForConditionalGeneration", "WhisperConfig"),
                options,
                arguments,
                checkpoint(params, f"openai/{name.replace('_', '-')}"),
            )
        )
    return found


_LARGE_WAVE = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "feat_extract_norm": "layer",
    "conv_bias": True,
    "do_stable_layer_norm": True,
}


def _waves() -> list[Model]:
    wave = {
        "input_values": Input((1, 16000), dynamic=(0, 1), axes=("batch", "samples")),
    }
    rows = [
        (
            "wav2vec2_base",
            "wav2vec 2.0 base",
            "wav2vec2",
            ("Wav2Vec2Model", "Wav2Vec2Config"),
            {},
            94371712,
            "facebook/wav2vec2-base",
        ),
        (
            "wav2vec2_large",
            "wav2vec 2.0 large",
            "wav2vec2",
            ("Wav2Vec2Model", "Wav2Vec2Config"),
            _LARGE_WAVE,
            315438720,
            "facebook/wav2vec2-large-robust",
        ),
        (
            "hubert_base",
            "HuBERT base",
            "hubert",
            ("HubertModel", "HubertConfig"),
            {},
            94371712,
            "facebook/hubert-base-ls960",
        ),
    ]
    return [
        transformers_model(
            name, title, family, "speech", kind, options, wave, checkpoint(params, repository)
        )
        for name, title, family, kind, options, params, repository in rows
    ]


def _image_and_text(length: int, side: int) -> dict[str, Input]:
    return {
        "input_ids": Input(
            (1, length), torch.int64, dynamic=(0,), high=30000, axes=("batch", "sequence")
        ),
        "pixel_values": image(side),
    }


def _clip() -> list[Model]:
    clip = ("CLIPModel", "CLIPConfig")
    siglip = ("SiglipModel", "SiglipConfig")
    large = {
        "projection_dim": 768,
        "text_config": {
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_attention_heads": 12,
            "projection_dim": 768,
        },
        "vision_config": {
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "patch_size": 14,
            "projection_dim": 768,
        },
    }
    rows = [
        (
            "clip_vit_b32",
            "CLIP ViT-B/32",
            clip,
            {},
            77,
            224,
            151277313,
            "openai/clip-vit-base-patch32",
        ),
        (
            "clip_vit_b16",
            "CLIP ViT-B/16",
            clip,
            {"vision_config": {"patch_size": 16}},
            77,
            224,
            149620737,
            "openai/clip-vit-base-patch16",
        ),
        (
            "clip_vit_l14",
            "CLIP ViT-L/14",
            clip,
            large,
            77,
            224,
            427616513,
            "openai/clip-vit-large-patch14",
        ),
        (
            "siglip_base",
            "SigLIP base",
            siglip,
            {},
            64,
            224,
            203155970,
            "google/siglip-base-patch16-224",
        ),
    ]
    return [
        transformers_model(
            name,
            title,
            "siglip" if name.startswith("siglip") else "clip",
            "image-text",
            kind,
            options,
            _image_and_text(length, side),
            checkpoint(params, repository),
        )
        for name, title, kind, options, length, side, params, repository in rows
    ]


def _dinov2() -> list[Model]:
    found = []
    for name, title, options, params in (
        (
            "dinov2_small",
            "DINOv2 ViT-S/14",
            {"hidden_size": 384, "num_attention_heads": 6},
            22056576,
        ),
        ("dinov2_base", "DINOv2 ViT-B/14", {}, 86580480),
        (
            "dinov2_large",
            "DINOv2 ViT-L/14",
            {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16},
            304368640,
        ),
        (
            "dinov2_giant",
            "DINOv2 ViT-g/14",
            {
                "hidden_size": 1536,
                "num_hidden_layers": 40,
                "num_attention_heads": 24,
                "use_swiglu_ffn": True,
            },
            1136480768,
        ),
    ):
        found.append(
            transformers_model(
                name,
                title,
                "dinov2",
                "image encoder",
                ("Dinov2Model", "Dinov2Config"),
                {**options, "image_size": 518, "patch_size": 14},
                {"pixel_values": image(518)},
                checkpoint(params, f"facebook/{name.replace('_', '-')}"),
            )
        )
    return found


def _sam_and_segformer() -> list[Model]:
    found = []
    for name, title, width, layers, heads, attended, params in (
        ("sam_vit_b_encoder", "SAM ViT-B image encoder", 768, 12, 12, [2, 5, 8, 11], 89670912),
        ("sam_vit_l_encoder", "SAM ViT-L image encoder", 1024, 24, 16, [5, 11, 17, 23], 308278272),
        ("sam_vit_h_encoder", "SAM ViT-H image encoder", 1280, 32, 16, [7, 15, 23, 31], 637026048),
    ):
        options = {
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "global_attn_indexes": attended,
            "mlp_dim": 4 * width,
        }
        found.append(
            transformers_model(
                name,
                title,
                "sam",
                "image encoder",
                ("SamVisionModel", "SamVisionConfig"),
                options,
                {"pixel_values": image(1024)},
                checkpoint(params, f"the image encoder of Segment Anything ({title[4:9]})"),
            )
        )
    found.append(
        transformers_model(
            "segformer_b0",
            "SegFormer-B0",
            "segformer",
            "semantic segmentation",
            ("SegformerForSemanticSegmentation", "SegformerConfig"),
            {"num_labels": 150},
            {"pixel_values": image(512)},
            checkpoint(3752694, "nvidia/segformer-b0-finetuned-ade-512-512"),
        )
    )
    return found


def _timm_builder(builder: str) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        # timm imports torchvision for its transforms.
        torchvision_ops.declare()
        import timm

        return timm.create_model(builder, pretrained=False)

    return build


def _timm() -> list[Model]:
    """Rows: name, title, family, timm's builder, image side, dynamic dims, million parameters."""
    free, fixed = (0, 2, 3), (0,)
    rows = [
        ("deit_tiny", "DeiT-Tiny", "deit", "deit_tiny_patch16_224", 224, fixed, 5.72),
        ("deit_small", "DeiT-Small", "deit", "deit_small_patch16_224", 224, fixed, 22.05),
        ("deit_base", "DeiT-Base", "deit", "deit_base_patch16_224", 224, fixed, 86.57),
        ("deit3_base", "DeiT III-Base", "deit", "deit3_base_patch16_224", 224, fixed, 86.59),
        ("vit_tiny_16", "ViT-Ti/16", "vit", "vit_tiny_patch16_224", 224, fixed, 5.72),
        ("vit_small_16", "ViT-S/16", "vit", "vit_small_patch16_224", 224, fixed, 22.05),
        ("beit_base", "BEiT-B/16", "beit", "beit_base_patch16_224", 224, fixed, 86.53),
        ("convnextv2_atto", "ConvNeXt V2 Atto", "convnext", "convnextv2_atto", 224, free, 3.71),
        ("convnextv2_tiny", "ConvNeXt V2 Tiny", "convnext", "convnextv2_tiny", 224, free, 28.64),
        ("convnextv2_base", "ConvNeXt V2 Base", "convnext", "convnextv2_base", 224, free, 88.72),
        (
            "convnextv2_large",
            "ConvNeXt V2 Large",
            "convnext",
            "convnextv2_large",
            224,
            free,
            197.96,
        ),
        (
            "efficientnetv2_b0",
            "EfficientNetV2-B0",
            "efficientnet",
            "tf_efficientnetv2_b0",
            224,
            fixed,
            7.14,
        ),
        (
            "efficientnetv2_b3",
            "EfficientNetV2-B3",
            "efficientnet",
            "tf_efficientnetv2_b3",
            300,
            fixed,
            14.36,
        ),
        ("mixer_b16", "MLP-Mixer B/16", "mixer", "mixer_b16_224", 224, fixed, 59.88),
        (
            "mobilenetv4_conv_small",
            "MobileNetV4 small",
            "mobilenet",
            "mobilenetv4_conv_small",
            224,
            free,
            3.77,
        ),
        (
            "mobilenetv4_conv_medium",
            "MobileNetV4 medium",
            "mobilenet",
            "mobilenetv4_conv_medium",
            256,
            free,
            9.72,
        ),
        ("mobilevit_s", "MobileViT-S", "mobilevit", "mobilevit_s", 256, fixed, 5.58),
        ("hrnet_w18", "HRNet-W18", "hrnet", "hrnet_w18", 224, fixed, 21.3),
        ("repvgg_a0", "RepVGG-A0", "repvgg", "repvgg_a0", 224, free, 9.11),
        ("ghostnet_1_0", "GhostNet 1.0", "ghostnet", "ghostnet_100", 224, free, 5.18),
        ("poolformer_s12", "PoolFormer-S12", "poolformer", "poolformer_s12", 224, free, 11.92),
        ("levit_128s", "LeViT-128S", "levit", "levit_128s", 224, fixed, 7.78),
        ("pvt_v2_b0", "PVT v2-B0", "pvt", "pvt_v2_b0", 224, fixed, 3.67),
        ("coatnet_nano", "CoAtNet nano", "coatnet", "coatnet_nano_rw_224", 224, fixed, 15.14),
        ("resnetv2_50", "ResNetV2-50", "resnet", "resnetv2_50", 224, free, 25.55),
        ("eva02_tiny", "EVA-02 Tiny", "eva", "eva02_tiny_patch14_336", 336, fixed, 5.76),
    ]
    found = []
    for name, title, family, builder, side, dynamic, millions in rows:
        entry = Entry(
            name=name,
            display_name=title,
            family=family,
            package="timm",
            builder=f"timm.create_model({builder!r})",
            build=_timm_builder(builder),
            arguments={"x": image(side, dynamic=dynamic)},
        )
        published = Published(
            round(millions * 1e6), f"timm's table of results ({millions}M)", 10_000
        )
        found.append(Model(entry, "image classification", published))
    return found


def models() -> list[Model]:
    """All models of this file."""
    return [
        *_whisper(),
        *_waves(),
        *_clip(),
        *_dinov2(),
        *_sam_and_segformer(),
        *_timm(),
    ]
