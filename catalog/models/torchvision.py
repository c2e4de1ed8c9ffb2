"""torchvision's 121 models, each built for the weights whose metadata publish its cost."""

import re

import torch

from catalog.entry import Entry, Input
from catalog.model import Model, Published
from catalog.torchvision_forward import plain_forward, same_batches
from pyrometer._helper import torchvision_ops
from pyrometer._helper.torchvision_weights import without_downloads

_IMAGE_AXES = ("batch", "channel", "height", "width")
_VIDEO_AXES = ("batch", "channel", "frames", "height", "width")

# Rules that turn a builder's name into the usual spelling, applied in order.
_SPELLINGS = (
    (r"^quantized_(.*)", r"\1 (before quantization)"),
    (r"_fpn_v2", " FPN v2"),
    (r"(?<=\d)_(\d+)gf", r".\1GF"),
    (r"(\d)gf", r"\1GF"),
    (r"(\d)mf", r"\1MF"),
    (r"regnet_([xy])_", lambda found: f"RegNet{found[1].upper()}-"),
    (r"(mnasnet|squeezenet)(\d)_(\d+)", r"\1 \2.\3"),
    (r"x(\d)_(\d)$", r"x\1.\2"),
    (r"x(\d)_(\d) ", r"x\1.\2 "),
    (r"vit_([bhl])_(\d+)", lambda found: f"ViT-{found[1].upper()}/{found[2]}"),
    (r"mvit_v(\d)_([bs])", lambda found: f"MViTv{found[1]}-{found[2].upper()}"),
    (r"(swin3d|maxvit|swin)_([bst])\b", lambda found: f"{found[1]}-{found[2].upper()}"),
    (r"swin_v2_([bst])", lambda found: f"SwinV2-{found[1].upper()}"),
    (r"efficientnet_b(\d)", r"efficientnet-B\1"),
    (r"efficientnet_v2_([lms])", lambda found: f"efficientnetV2-{found[1].upper()}"),
    (r"inception_v3", "Inception v3"),
    (r"_v([23])(?=_|$| )", r"V\1"),
    (r"(densenet|resnet|resnext|vgg)(\d+)_2", r"\1-\2-2"),
    (r"(densenet|resnet|resnext|vgg)(\d+)", r"\1-\2"),
    (r"(r2plus1d|r3d|mc3)_18", r"\1-18"),
    (r"_(tiny|small|base|large)", lambda found: f"-{found[1].capitalize()}"),
    (r"_(bn|fpn)", lambda found: f" {found[1].upper()}"),
    (r"r2plus1d", "R(2+1)D"),
    (r"deeplabv3", "DeepLabV3"),
    (r"ssdlite", "SSDlite"),
    (r"(alex|dense|efficient|mobile|mnas|squeeze|retina)net", lambda f: f"{f[1].capitalize()}Net"),
    (r"shufflenet", "ShuffleNet"),
    (r"googlenet", "GoogLeNet"),
    (r"convnext", "ConvNeXt"),
    (r"resnext", "ResNeXt"),
    (r"resnet", "ResNet"),
    (r"(faster|mask|keypoint)rcnn", lambda found: f"{found[1].capitalize()} R-CNN"),
    (r"lraspp", "LR-ASPP"),
    (r"maxvit", "MaxViT"),
    (r"(?<![a-z])(vgg|fcn|fcos|ssd|raft|mc3|r3d|s3d)", lambda found: found[1].upper()),
    (r"swin3d", "Swin3D"),
    (r"\b(wide|swin)", lambda found: found[1].capitalize()),
    (r"_", " "),
)

# Windows and position tables of these models fix the image size; the batch is variable.
_FIXED_IMAGE = ("vit_", "swin", "maxvit", "mvit")
_VIDEO = ("mc3_", "mvit_", "r2plus1d_", "r3d_", "s3d", "swin3d_")


def _display_name(builder: str) -> str:
    for pattern, spelling in _SPELLINGS:
        builder = re.sub(pattern, spelling, builder)
    return builder


def _family(builder: str) -> str:
    if builder.startswith(("mc3_", "r2plus1d_", "r3d_")):
        return "video_resnet"
    return re.match(r"(?:quantized_)?(deeplabv3|s3d|swin3d|wide_resnet|[a-z]+)", builder)[1]


def _task(builder: str) -> str:
    if builder.startswith(("fcn", "deeplab", "lraspp")):
        return "semantic segmentation"
    if builder.startswith("raft"):
        return "optical flow"
    if "rcnn" in builder or builder.startswith(("fcos", "retinanet", "ssd")):
        return "object detection"
    if builder.startswith(_VIDEO):
        return "video classification"
    return "image classification"


def _build(builder: str, weights_name: str) -> torch.nn.Module:
    torchvision_ops.declare()
    import torchvision

    weights = torchvision.models.get_weight(weights_name)
    options = {}
    if builder.startswith("quantized_"):
        # The published count is that of the model before quantization.
        weights, options = None, {"quantize": False}
        if builder == "quantized_googlenet":
            options["aux_logits"] = False
        elif builder == "quantized_inception_v3":
            options["aux_logits"] = True
    if _task(builder) in ("semantic segmentation", "object detection"):
        options["weights_backbone"] = None
    with without_downloads():
        module = torchvision.models.get_model(builder, weights=weights, **options)
    if _task(builder) == "object detection":
        return plain_forward(module)
    return same_batches(module) if _task(builder) == "optical flow" else module


def _image(side: int, dynamic: tuple[int, ...] = (0, 2, 3)) -> Input:
    return Input((1, 3, side, side), dynamic=dynamic, axes=_IMAGE_AXES)


def _detector_inputs(builder: str) -> dict[str, Input]:
    """Images and boxes. Zero boxes are valid, which export cannot know."""
    side = 300 if builder == "ssd300_vgg16" else 320 if "320" in builder else 800
    arguments = {"images": _image(side)}
    if "rcnn" in builder:
        kept = 150 if builder == "fasterrcnn_mobilenet_v3_large_320_fpn" else 1000
        arguments["proposals"] = Input(
            (1, kept, 5),
            dynamic=(0, 1),
            axes=("batch", "proposals", "box"),
            bounds={"proposals": (0, None)},
        )
    if builder.startswith(("maskrcnn", "keypointrcnn")):
        arguments["detections"] = Input(
            (1, 100, 5),
            dynamic=(0, 1),
            axes=("batch", "detections", "box"),
            bounds={"detections": (0, None)},
        )
    return arguments


def _arguments(builder: str, crop: int) -> dict[str, Input]:
    task = _task(builder)
    if task == "object detection":
        return _detector_inputs(builder)
    if task == "optical flow":
        return {"image1": _image(512), "image2": _image(512)}
    if task == "video classification":
        fixed = builder == "s3d" or builder.startswith(_FIXED_IMAGE)
        dynamic = (0,) if fixed else (0, 2, 3, 4)
        return {"x": Input((1, 3, 16, crop, crop), dynamic=dynamic, axes=_VIDEO_AXES)}
    if task == "semantic segmentation":
        return {"x": _image(520)}
    return {"x": _image(crop, (0,) if builder.startswith(_FIXED_IMAGE) else (0, 2, 3))}


def _crop(weights) -> int:
    crop = getattr(weights.transforms, "keywords", {}).get("crop_size", 224)
    return crop if isinstance(crop, int) else crop[0]


def _model(name: str, builder: str, weights, crop: int, variants) -> Model:
    weights_name = str(weights)
    at = f" at {crop}" if name != builder else ""
    entry = Entry(
        name=name,
        display_name=_display_name(builder) + at,
        family=_family(builder),
        package="torchvision",
        builder=f"torchvision.models.get_model({builder!r}, weights={weights_name!r})",
        build=lambda: _build(builder, weights_name),
        arguments=_arguments(builder, crop),
        weights=weights_name,
    )
    published = Published(weights.meta["num_params"], f"torchvision's metadata of {weights_name}")
    return Model(entry, _task(builder), published, variants=variants)


def _models_of(builder: str) -> list[Model]:
    """The model of a builder's first weights, and one per further crop size."""
    from torchvision.models import get_model_weights

    sizes = {}
    for weights in get_model_weights(builder):
        sizes.setdefault((_crop(weights), weights.meta["num_params"]), weights)
    # Only ViT models need an entry per crop.
    ordered = sorted(sizes.items(), key=lambda item: item[0])
    if not builder.startswith("vit_"):
        first = next(iter(get_model_weights(builder)))
        smallest = ordered[0][0][0]
        return [_model(builder, builder, first, smallest, ())]
    names = [builder, *(f"{builder}_{crop}" for (crop, _), _ in ordered[1:])]
    crops = [crop for (crop, _), _ in ordered]
    variants = tuple(zip(crops, names, strict=True)) if len(names) > 1 else ()
    return [
        _model(name, builder, weights, crop, variants)
        for name, ((crop, _), weights) in zip(names, ordered, strict=True)
    ]


def models() -> list[Model]:
    """All models of this file."""
    torchvision_ops.declare()
    import torchvision

    return [model for builder in torchvision.models.list_models() for model in _models_of(builder)]
