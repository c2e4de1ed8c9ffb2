"""timm's models, built without weights."""

import torch

from catalog.entry import Entry, Input
from pyrometer._testing import torchvision_ops


def _build(builder: str) -> torch.nn.Module:
    # timm imports torchvision for its transforms.
    torchvision_ops.declare()
    import timm

    return timm.create_model(builder, pretrained=False)


def _entry(builder: str, display_name: str, side: int, other: tuple[int, int] | None) -> Entry:
    dynamic = (0, 2, 3) if other else (0,)
    return Entry(
        name=f"timm_{builder}",
        display_name=f"{display_name} (timm)",
        family="timm",
        package="timm",
        builder=f"timm.create_model({builder!r})",
        build=lambda: _build(builder),
        arguments={
            "x": Input((1, 3, side, side), dynamic=dynamic, other=(3, 3, *(other or (side, side))))
        },
    )


def entries() -> list[Entry]:
    """All of them; a second image size only if the model supports one."""
    return [
        _entry("convnextv2_atto", "ConvNeXt V2 Atto", 224, (256, 288)),
        _entry("deit_tiny_patch16_224", "DeiT-Tiny", 224, None),
        _entry("tf_efficientnetv2_b0", "EfficientNetV2-B0", 224, None),
        _entry("mixer_s32_224", "MLP-Mixer S/32", 224, None),
        _entry("resmlp_12_224", "ResMLP-12", 224, None),
        _entry("ghostnet_100", "GhostNet 1.0", 224, (256, 288)),
        _entry("repvgg_a0", "RepVGG-A0", 224, (256, 288)),
        _entry("res2net50_26w_4s", "Res2Net-50", 224, (256, 288)),
        _entry("hrnet_w18_small", "HRNet-W18 small", 224, None),
        _entry("poolformer_s12", "PoolFormer-S12", 224, (256, 288)),
        _entry("efficientformer_l1", "EfficientFormer-L1", 224, None),
        _entry("mobilevit_xxs", "MobileViT-XXS", 256, None),
        _entry("coatnet_nano_rw_224", "CoAtNet nano", 224, None),
        _entry("xcit_nano_12_p16_224", "XCiT nano", 224, None),
        _entry("beit_base_patch16_224", "BEiT-B/16", 224, None),
        _entry("eva02_tiny_patch14_224", "EVA-02 Tiny", 224, None),
        _entry("levit_128s", "LeViT-128S", 224, None),
        _entry("twins_svt_small", "Twins-SVT small", 224, None),
        _entry("pvt_v2_b0", "PVTv2-B0", 224, None),
        _entry("focalnet_tiny_srf", "FocalNet tiny", 224, None),
        _entry("vit_tiny_patch16_224", "ViT-Ti/16", 224, None),
        _entry("nf_resnet50", "NF-ResNet-50", 224, (256, 288)),
        _entry("resnetv2_50", "ResNetV2-50", 224, (256, 288)),
        _entry("mobilenetv4_conv_small", "MobileNetV4 small", 224, (256, 288)),
    ]
