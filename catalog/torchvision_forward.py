"""Exportable forwards of torchvision's detectors.

The number of boxes that a detector keeps depends on the image. Here boxes are inputs: `proposals`,
the boxes per image for the box head, and `detections`, those for the mask or keypoint head. All
costly parts run unchanged; only the selection of boxes is left out.
"""

import types

import torch
from torch import nn


def _features(detector: nn.Module, images: torch.Tensor) -> dict[str, torch.Tensor]:
    features = detector.backbone(images)
    return {"0": features} if isinstance(features, torch.Tensor) else features


def _pool(pooler: nn.Module, features: dict[str, torch.Tensor], boxes: torch.Tensor):
    """Pools all boxes from the finest level, because all levels have the same channels."""
    level = next(features[name] for name in pooler.featmap_names if name in features)
    torch._check(boxes.shape[0] == level.shape[0])
    height, width = pooler.output_size
    return torch.ops.torchvision.roi_align(
        level, boxes.flatten(0, 1), 0.25, height, width, pooler.sampling_ratio, False
    )


def _first_stage(detector: nn.Module, images: torch.Tensor, proposals: torch.Tensor):
    features = _features(detector, images)
    regions = detector.rpn.head(list(features.values()))
    heads = detector.roi_heads
    pooled = _pool(heads.box_roi_pool, features, proposals)
    return features, [*regions, heads.box_predictor(heads.box_head(pooled))]


def _forward_boxes(self, images, proposals):
    return _first_stage(self, images, proposals)[1]


def _forward_masks(self, images, proposals, detections):
    features, outputs = _first_stage(self, images, proposals)
    heads = self.roi_heads
    pooled = _pool(heads.mask_roi_pool, features, detections)
    return [*outputs, heads.mask_predictor(heads.mask_head(pooled))]


def _forward_keypoints(self, images, proposals, detections):
    features, outputs = _first_stage(self, images, proposals)
    heads = self.roi_heads
    pooled = _pool(heads.keypoint_roi_pool, features, detections)
    return [*outputs, heads.keypoint_predictor(heads.keypoint_head(pooled))]


def _forward_one_stage(self, images):
    return self.head(list(_features(self, images).values()))


def same_batches(flow: nn.Module) -> nn.Module:
    """Adds a check to RAFT that both inputs have the same batch size, which export cannot see."""

    def forward(self, image1, image2):
        torch._check(image1.shape[0] == image2.shape[0])
        return type(self).forward(self, image1, image2)

    flow.forward = types.MethodType(forward, flow)
    return flow


def plain_forward(detector: nn.Module) -> nn.Module:
    """Gives a detector the forward that takes its boxes as inputs."""
    heads = getattr(detector, "roi_heads", None)
    if heads is None:
        forward = _forward_one_stage
    elif heads.has_mask():
        forward = _forward_masks
    elif heads.has_keypoint():
        forward = _forward_keypoints
    else:
        forward = _forward_boxes
    detector.forward = types.MethodType(forward, detector)
    return detector
