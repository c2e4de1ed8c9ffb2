"""Builds models of the transformers library from configurations, without downloading weights."""

import importlib.util
import types

import torch
from torch import nn

from pyrometer._helper import torchvision_ops


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
    if hasattr(module, "shared"):
        # Encoder and decoder share one embedding, whether or not the output shares it, too.
        module.set_input_embeddings(module.shared)
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
