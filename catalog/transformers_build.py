"""Builds models of the transformers library from configurations, without downloading weights."""

import importlib.util
import sys
import types
from unittest import mock

import numpy as np
import torch
from torch import nn

from pyrometer._helper import torchvision_ops

# The function by which models of transformers learn that they are exported.
_IS_EXPORTING = "is_torchdynamo_exporting"


def move_parameters(module: nn.Module) -> None:
    """Moves parameters to the default device: torch.Tensor() in a constructor ignores it.

    Shared parameters stay shared, frozen ones stay frozen.
    """
    device = torch.get_default_device()
    moved: dict[nn.Parameter, nn.Parameter] = {}
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None and parameter.device != device:
                if parameter not in moved:
                    moved[parameter] = nn.Parameter(parameter.to(device), parameter.requires_grad)
                owner._parameters[name] = moved[parameter]


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
    move_parameters(module)
    if hasattr(module, "shared"):
        # Encoder and decoder share one embedding, whether or not the output shares it, too.
        module.set_input_embeddings(module.shared)
    if hasattr(module, "rwkv"):
        # Its first forward scales the weights for inference; later ones, as here, find them scaled.
        module.eval().rwkv._rescale_layers()
    return module


def as_exported(module: nn.Module) -> nn.Module:
    """Gives a module the forward of its export.

    transformers solves triangular systems by one operator when a model runs, and row by row when
    it is exported.
    """

    def forward(self, **arguments):
        with mock.patch.object(sys.modules[type(self).__module__], _IS_EXPORTING, lambda: True):
            return type(self).forward(self, **arguments)

    module.forward = types.MethodType(forward, module)
    return module


def _cache_layer(keys: torch.Tensor, values: torch.Tensor):
    """One layer of a cache; sets the tensors directly, because Cache.update would copy them."""
    from transformers.cache_utils import DynamicLayer

    layer = DynamicLayer()
    layer.keys, layer.values = keys, values
    layer.dtype, layer.device, layer.is_initialized = keys.dtype, keys.device, True
    return layer


def _state_layer(inputs: torch.Tensor, state: torch.Tensor):
    """One layer of linear attention: the last inputs of its convolution, and its state."""
    from transformers.cache_utils import LinearAttentionLayer

    layer = LinearAttentionLayer()
    layer.conv_states[0], layer.recurrent_states[0] = inputs, state
    layer.is_conv_states_initialized[0] = layer.is_recurrent_states_initialized[0] = True
    layer.has_previous_state[0] = True
    layer.dtype, layer.device = inputs.dtype, inputs.device
    return layer


def _decode(self, input_ids, past_keys, past_values):
    """One forward of new tokens with a cache of earlier keys and values."""
    from transformers.cache_utils import DynamicCache

    cache = DynamicCache()
    kinds = getattr(self.config, "layer_types", None) or [""] * len(past_keys)
    for kind, keys, values in zip(kinds, past_keys, past_values, strict=False):
        make = _state_layer if kind == "linear_attention" else _cache_layer
        cache.layers.append(make(keys, values))
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
