"""Object detectors of transformers, from their published configurations."""

import torch

from catalog.entry import Input
from catalog.model import Model, Published, as_built
from catalog.perception import checkpoint, image, transformers_model

_TASK = "object detection"


def _detr() -> list[Model]:
    return [
        transformers_model(
            "detr_resnet50",
            "DETR ResNet-50",
            "detr",
            _TASK,
            ("DetrForObjectDetection", "DetrConfig"),
            {"num_labels": 91},
            {
                "pixel_values": image(800, 1066),
                "pixel_mask": Input(
                    (1, 800, 1066), torch.int64, dynamic=(0,), axes=("batch", "height", "width")
                ),
            },
            checkpoint(41524768, "facebook/detr-resnet-50"),
        ),
    ]


# RT-DETR and D-FINE make their queries for the batch of the export, so nothing can change.


def _rt_detr() -> list[Model]:
    small = {
        "backbone_config": {
            "model_type": "rt_detr_resnet",
            "depths": [2, 2, 2, 2],
            "hidden_sizes": [64, 128, 256, 512],
            "layer_type": "basic",
            "out_features": ["stage2", "stage3", "stage4"],
        },
        "encoder_in_channels": [128, 256, 512],
        "hidden_expansion": 0.5,
        "decoder_layers": 3,
    }
    rows = [
        (
            "rtdetr_r18",
            "RT-DETR R18",
            small,
            Published(20_000_000, "README of lyuwenyu/RT-DETR (20M, rounded)", 1_000_000),
        ),
        (
            "rtdetr_r50",
            "RT-DETR R50",
            {},
            as_built(42891372, "the README of lyuwenyu/RT-DETR says 42M"),
        ),
    ]
    return [
        transformers_model(
            name,
            title,
            "rt_detr",
            _TASK,
            ("RTDetrForObjectDetection", "RTDetrConfig"),
            {"num_labels": 80, **options},
            {"pixel_values": image(640, dynamic=())},
            published,
        )
        for name, title, options, published in rows
    ]


def _d_fine() -> list[Model]:
    return [
        transformers_model(
            "dfine_l",
            "D-FINE-L",
            "d_fine",
            _TASK,
            ("DFineForObjectDetection", "DFineConfig"),
            {"num_labels": 80, "decoder_n_points": [3, 6, 3]},
            {"pixel_values": image(640, dynamic=())},
            Published(31_000_000, "README of Peterande/D-FINE (31M, rounded)", 1_000_000),
        ),
    ]


def _yolos() -> list[Model]:
    found = []
    stated = Published(30_700_000, "README of hustvl/YOLOS (30.7M, rounded)", 100_000)
    for name, title, width, heads, size, middle, published in (
        (
            "yolos_tiny",
            "YOLOS tiny",
            192,
            3,
            [800, 1333],
            False,
            checkpoint(6488736, "hustvl/yolos-tiny"),
        ),
        ("yolos_small", "YOLOS small", 384, 6, [512, 864], True, stated),
    ):
        options = {
            "hidden_size": width,
            "num_attention_heads": heads,
            "intermediate_size": 4 * width,
            "image_size": size,
            "use_mid_position_embeddings": middle,
            "num_labels": 91,
        }
        found.append(
            transformers_model(
                name,
                title,
                "yolos",
                _TASK,
                ("YolosForObjectDetection", "YolosConfig"),
                options,
                {"pixel_values": image(size[0], size[1])},
                published,
            )
        )
    return found


def _grounding_dino() -> list[Model]:
    return [
        transformers_model(
            "grounding_dino_tiny",
            "Grounding DINO tiny",
            "grounding_dino",
            _TASK,
            ("GroundingDinoForObjectDetection", "GroundingDinoConfig"),
            {"disable_custom_kernels": True},
            {
                "pixel_values": image(800, 1066),
                "input_ids": Input(
                    (1, 8), torch.int64, dynamic=(0,), high=30000, axes=("batch", "sequence")
                ),
            },
            as_built(172250626, "no count of its authors was looked up"),
        ),
    ]


def models() -> list[Model]:
    """All models of this file."""
    return [*_detr(), *_rt_detr(), *_d_fine(), *_yolos(), *_grounding_dino()]
