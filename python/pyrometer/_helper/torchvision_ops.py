"""Makes torchvision importable where its compiled library is missing or does not load.

torchvision looks up its operators during import. Models never call most of them, so declaring their
schemas is enough to build, export and count every model. If the compiled library loads, nothing is
declared.
"""

import importlib.util
import pathlib

import torch

_POOLED = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_FRAME = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORM = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
    "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    f"qroi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, Tensor rois, {_POOLED}, {_FRAME}, int sampling_ratio, "
    "bool aligned) -> Tensor",
    f"ps_roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, "
    f"int sampling_ratio, {_FRAME}) -> Tensor",
    f"roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_POOLED}, {_FRAME}) -> Tensor",
    f"ps_roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, "
    f"{_FRAME}) -> Tensor",
    f"deform_conv2d({_DEFORM}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)

# torch forgets the operators of a library that is garbage collected.
_library = None


def _load_compiled_library():
    """Loads torchvision's own operators; False if this torch cannot load them."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None:
        raise ModuleNotFoundError("torchvision is not installed", name="torchvision")
    for folder in spec.submodule_search_locations:
        for path in sorted(pathlib.Path(folder).glob("_C*.so")):
            try:
                torch.ops.load_library(str(path))
                return True
            except OSError:
                continue
    return False


def _roi_align_shape(
    given, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned
):
    return given.new_empty((rois.shape[0], given.shape[1], pooled_height, pooled_width))


def declare():
    """Declares torchvision's operators that are not registered; safe to call twice."""
    global _library
    if _library is not None or _load_compiled_library():
        return
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
            _library.define(schema)
    # Detectors call this one; export needs its output shape.
    torch.library.register_fake("torchvision::roi_align", _roi_align_shape, lib=_library)
