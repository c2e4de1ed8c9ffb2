"""torchvision's models, built like the weights whose cost is published."""

import torch

from catalog.entry import Entry, Input
from pyrometer._testing import torchvision_ops

_IMAGE = (0, 2, 3)  # batch, height and width may change


def _build(builder: str, options: dict) -> torch.nn.Module:
    torchvision_ops.declare()
    import torchvision

    if builder.startswith("regnet"):
        # It computes its block widths with tensors, which must have values.
        with torch.device("cpu"):
            module = torchvision.models.get_model(builder, weights=None, **options)
        return module.to(torch.get_default_device())
    return torchvision.models.get_model(builder, weights=None, **options)


def _entry(builder: str, display_name: str, weights: str, argument: Input, **options) -> Entry:
    forward_name = {"fcn": "input", "dee": "input", "lra": "input"}.get(builder[:3], "x")
    return Entry(
        name=builder,
        display_name=display_name,
        family="torchvision",
        package="torchvision",
        builder=f"torchvision.models.get_model({builder!r})",
        build=lambda: _build(builder, options),
        arguments={forward_name: argument},
        weights=weights,
    )


def _image(side: int = 224, other: tuple[int, int] | None = (288, 320)) -> Input:
    if other is None:
        return Input((1, 3, side, side), dynamic=(0,), other=(5, 3, side, side))
    return Input((1, 3, side, side), dynamic=_IMAGE, other=(3, 3, *other))


def _fixed_image(side: int = 224) -> Input:
    return Input((1, 3, side, side))


def _video(side: int = 112, other: tuple[int, int, int] | None = (8, 128, 144)) -> Input:
    if other is None:
        return Input((1, 3, 16, side, side), dynamic=(0,), other=(3, 3, 16, side, side))
    return Input((1, 3, 16, side, side), dynamic=(0, 2, 3, 4), other=(2, 3, *other))


def _classification() -> list[Entry]:
    v1 = "IMAGENET1K_V1"
    return [
        _entry("alexnet", "AlexNet", f"AlexNet_Weights.{v1}", _image()),
        _entry("vgg16", "VGG-16", f"VGG16_Weights.{v1}", _image()),
        _entry("vgg11_bn", "VGG-11 BN", f"VGG11_BN_Weights.{v1}", _image()),
        _entry("resnet18", "ResNet-18", f"ResNet18_Weights.{v1}", _image()),
        _entry("resnet50", "ResNet-50", f"ResNet50_Weights.{v1}", _image()),
        _entry("resnext50_32x4d", "ResNeXt-50 32x4d", f"ResNeXt50_32X4D_Weights.{v1}", _image()),
        _entry("wide_resnet50_2", "Wide ResNet-50-2", f"Wide_ResNet50_2_Weights.{v1}", _image()),
        _entry("mobilenet_v2", "MobileNetV2", f"MobileNet_V2_Weights.{v1}", _image()),
        _entry(
            "mobilenet_v3_large",
            "MobileNetV3-Large",
            f"MobileNet_V3_Large_Weights.{v1}",
            _image(),
        ),
        _entry(
            "mobilenet_v3_small",
            "MobileNetV3-Small",
            f"MobileNet_V3_Small_Weights.{v1}",
            _image(),
        ),
        _entry("efficientnet_b0", "EfficientNet-B0", f"EfficientNet_B0_Weights.{v1}", _image()),
        _entry(
            "efficientnet_v2_s",
            "EfficientNetV2-S",
            f"EfficientNet_V2_S_Weights.{v1}",
            _image(384),
        ),
        _entry("regnet_y_400mf", "RegNetY-400MF", f"RegNet_Y_400MF_Weights.{v1}", _image()),
        _entry("regnet_x_400mf", "RegNetX-400MF", f"RegNet_X_400MF_Weights.{v1}", _image()),
        _entry("densenet121", "DenseNet-121", f"DenseNet121_Weights.{v1}", _image()),
        _entry(
            "googlenet",
            "GoogLeNet",
            f"GoogLeNet_Weights.{v1}",
            _image(),
            aux_logits=False,
            transform_input=True,
            init_weights=False,
        ),
        _entry(
            "inception_v3",
            "Inception v3",
            f"Inception_V3_Weights.{v1}",
            _image(299, (331, 363)),
            transform_input=True,
            init_weights=False,
        ),
        _entry("squeezenet1_0", "SqueezeNet 1.0", f"SqueezeNet1_0_Weights.{v1}", _image()),
        _entry(
            "shufflenet_v2_x1_0",
            "ShuffleNetV2 x1.0",
            f"ShuffleNet_V2_X1_0_Weights.{v1}",
            _image(),
        ),
        _entry("mnasnet1_0", "MNASNet 1.0", f"MNASNet1_0_Weights.{v1}", _image()),
        _entry("convnext_tiny", "ConvNeXt-Tiny", f"ConvNeXt_Tiny_Weights.{v1}", _image()),
        _entry("vit_b_16", "ViT-B/16", f"ViT_B_16_Weights.{v1}", _image(other=None)),
        _entry("vit_b_32", "ViT-B/32", f"ViT_B_32_Weights.{v1}", _image(other=None)),
        _entry("swin_t", "Swin-T", f"Swin_T_Weights.{v1}", _fixed_image()),
        _entry("swin_v2_t", "SwinV2-T", f"Swin_V2_T_Weights.{v1}", _fixed_image(256)),
        _entry("maxvit_t", "MaxViT-T", f"MaxVit_T_Weights.{v1}", _fixed_image()),
    ]


def _dense_and_video() -> list[Entry]:
    coco = "COCO_WITH_VOC_LABELS_V1"
    kinetics = "KINETICS400_V1"
    return [
        _entry(
            "fcn_resnet50",
            "FCN ResNet-50",
            f"FCN_ResNet50_Weights.{coco}",
            _image(520),
            weights_backbone=None,
            aux_loss=True,
        ),
        _entry(
            "deeplabv3_resnet50",
            "DeepLabV3 ResNet-50",
            f"DeepLabV3_ResNet50_Weights.{coco}",
            _image(520),
            weights_backbone=None,
            aux_loss=True,
        ),
        _entry(
            "lraspp_mobilenet_v3_large",
            "LR-ASPP MobileNetV3-Large",
            f"LRASPP_MobileNet_V3_Large_Weights.{coco}",
            _image(520),
            weights_backbone=None,
        ),
        _entry("r3d_18", "R3D-18", f"R3D_18_Weights.{kinetics}", _video()),
        _entry("r2plus1d_18", "R(2+1)D-18", f"R2Plus1D_18_Weights.{kinetics}", _video()),
        _entry("mc3_18", "MC3-18", f"MC3_18_Weights.{kinetics}", _video()),
        _entry("s3d", "S3D", f"S3D_Weights.{kinetics}", _video(224, None)),
        _entry("mvit_v1_b", "MViTv1-B", f"MViT_V1_B_Weights.{kinetics}", _video(224, None)),
    ]


def entries() -> list[Entry]:
    """All of them."""
    return _classification() + _dense_and_video()
