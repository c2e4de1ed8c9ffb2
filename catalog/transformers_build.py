"""Builds models of the transformers library from configurations, without downloading weights."""

import importlib.util
import types

import numpy as np
import torch
from torch import nn

from pyrometer._helper import torchvision_ops


def _move_parameters(module: nn.Module) -> None:
    """Moves parameters to the default device: torch.Tensor() in a constructor ignores it."""
    device = torch.get_default_device()
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None and parameter.device != device:
                owner._parameters[name] = nn.Parameter(parameter.to(device))


def build(class_name: str, config, dtype: torch.dtype = torch.float32) -> nn.Module:
    """A model of that class; `config` is (name of the configuration class, its options)."""
    if importlib.util.find_spec("torchvision"):
        torchvision_ops.declare()
    import transformers

    config_name, options = config
    configuration = getattr(transformers, config_name)(**options)
    if "tie_word_embeddings" in options:
        # T5's configuration uses this option for something else and always ties.
        configuration.tie_word_embeddings = options["tie_word_embeddings"]
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        module = getattr(transformers, class_name)(configuration)
    finally:
        torch.set_default_dtype(previous)
    module.tie_weights()
    _move_parameters(module)
    if hasattr(module, "shared"):
        # Encoder and decoder share one embedding, whether or not the output shares it, too.
        module.set_input_embeddings(module.shared)
    if hasattr(module, "rwkv"):
        # Its first forward scales the weights for inference; later ones, as here, find them scaled.
        module.eval().rwkv._rescale_layers()
    return module


def _decode(self, input_ids, past_keys, past_values):
    """One forward of new tokens with a cache of earlier keys and values."""
    from transformers.cache_utils import DynamicCache, DynamicLayer

    cache = DynamicCache()
    for keys, values in zip(past_keys, past_values, strict=True):
        # Sets the tensors directly, because Cache.update would copy them.
        layer = DynamicLayer()
        layer.keys, layer.values = keys, values
        layer.dtype, layer.device, layer.is_initialized = keys.dtype, keys.device, True
        cache.layers.append(layer)
    outputs = type(self).forward(self, input_ids=input_ids, past_key_values=cache, use_cache=True)
    return outputs.logits


def with_cache_inputs(module: nn.Module) -> nn.Module:
    """Gives a causal language model a forward that takes its cache as lists of tensors."""
    module.forward = types.MethodType(_decode, module)
    return module


def _forward_image(self, input_ids, pixel_values):
    """One forward of a prompt with an image, whose patches have the places in `image_places`."""
    places = self.image_places
    features = self.model.get_image_features(
        pixel_values,
        places["grid"],
        return_dict=True,
        position_ids=self.image_positions,
        image_cu_seqlens=places["images"],
        window_index=self.image_windows,
        cu_window_seqlens=places["windows"],
    )
    outputs = type(self).forward(
        self, input_ids=input_ids, mm_encoder_outputs={"image": features}, use_cache=False
    )
    return outputs.logits


def with_one_image(module: nn.Module, height: int, width: int) -> nn.Module:
    """Gives a Qwen2.5-VL a forward of a prompt and one image of that many patches.

    transformers derives the windows of an image from the values of a tensor, which an export does
    not know. It also takes them as arguments; here they are numbers.
    """
    from transformers.vision_utils import get_vision_window_index

    config = module.config.vision_config
    with torch.device("cpu"):
        _, ends = get_vision_window_index(
            torch.tensor([[1, height, width]]),
            config.spatial_merge_size,
            config.window_size,
            config.patch_size,
        )
    module.image_places = {
        "grid": np.array([[1, height, width]]),
        "images": np.array([0, height * width]),
        "windows": np.array(ends.tolist()),
    }
    patches = height * width
    merged = patches // config.spatial_merge_size**2
    module.register_buffer(
        "image_positions", torch.zeros(patches, 2, dtype=torch.int64), persistent=False
    )
    module.register_buffer(
        "image_windows", torch.zeros(merged, dtype=torch.int64), persistent=False
    )
    module.forward = types.MethodType(_forward_image, module)
    return module
