"""Builds catalog models of causal language models from their configurations."""

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from catalog import transformers_build
from catalog.entry import Entry, Input
from catalog.model import Depth, Model, Published

_LENGTH = 128
_PAST = 1024
_CACHE_AXES = ("batch", "heads", "past", "features")
_CONVOLUTION_AXES = ("batch", "channel", "features")
_STATE_AXES = ("batch", "heads", "features", "features")
# Classes in which layers with full and with windowed attention alternate.
_PERIODS = {"Gemma2ForCausalLM": 2, "Gemma3ForCausalLM": 6}
# Path of the list of layers, by class.
_LAYERS = collections.defaultdict(
    lambda: "model.layers",
    {
        "BloomForCausalLM": "transformer.h",
        "FalconForCausalLM": "transformer.h",
        "GPT2LMHeadModel": "transformer.h",
        "GPTJForCausalLM": "transformer.h",
        "GPTNeoXForCausalLM": "gpt_neox.layers",
        "Mamba2ForCausalLM": "backbone.layers",
        "MambaForCausalLM": "backbone.layers",
        "OPTForCausalLM": "model.decoder.layers",
        "RwkvForCausalLM": "rwkv.blocks",
    },
)
_CHECKPOINT = "tensors in the checkpoint {}, weights that are shared counted once"


@dataclasses.dataclass(frozen=True)
class Cache:
    """Sizes of a key-value cache; `most` limits the past tokens.

    With `states`, only every `period`-th layer has keys and values. The others have the inputs of
    their convolution, [channels, length], and the state of a linear attention,
    [heads, keys, values].
    """

    layers: int
    heads: int
    key_width: int
    value_width: int
    most: int | None = None
    states: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    period: int = 1

    def has_keys(self, layer: int) -> bool:
        return layer % self.period == self.period - 1


def _tokens(
    vocabulary: int, length: int, dynamic: tuple[int, ...], most: int | None = None
) -> Input:
    return Input(
        (1, length),
        torch.int64,
        dynamic=dynamic,
        high=vocabulary,
        axes=("batch", "sequence"),
        bounds={"sequence": (1, most)} if most else {},
    )


def _cache_inputs(cache: Cache, dtype: torch.dtype) -> dict[str, list[Input]]:
    past = _PAST
    while cache.most and past > cache.most:
        past //= 2

    def tensors(width: int) -> list[Input]:
        one = Input(
            (1, cache.heads, past, width),
            dtype,
            dynamic=(0, 2),
            axes=_CACHE_AXES,
            bounds={"past": (1, cache.most)},
        )
        return [one] * cache.layers

    keys, values = tensors(cache.key_width), tensors(cache.value_width)
    for layer in range(cache.layers):
        if cache.states and not cache.has_keys(layer):
            inputs, state = cache.states
            keys[layer] = Input((1, *inputs), dtype, dynamic=(0,), axes=_CONVOLUTION_AXES)
            values[layer] = Input((1, *state), torch.float32, dynamic=(0,), axes=_STATE_AXES)
    return {"past_keys": keys, "past_values": values}


def decode_entry(entry: Entry, cache: Cache, vocabulary: int, dtype: torch.dtype) -> Entry:
    """The same model for one new token, with a cache of earlier keys and values as inputs."""
    return dataclasses.replace(
        entry,
        build=lambda: transformers_build.with_cache_inputs(entry.build()),
        plain=None,
        arguments={"input_ids": _tokens(vocabulary, 1, (0,)), **_cache_inputs(cache, dtype)},
    )


def _plain(
    class_name: str, config: tuple[str, dict[str, Any]], dtype: torch.dtype
) -> Callable[[], nn.Module] | None:
    """For classes that run other operators in an export, a builder that runs the same."""
    if class_name != "Qwen3NextForCausalLM":
        return None
    return lambda: transformers_build.as_exported(
        transformers_build.build(class_name, config, dtype)
    )


def language_model(
    name: str,
    display_name: str,
    family: str,
    kind: tuple[str, str],
    options: dict[str, Any],
    published: Published,
    cache: Cache | None,
    dtype: torch.dtype = torch.bfloat16,
    dynamic: tuple[int, ...] = (0, 1),
    first: int = 0,
    period: int = 1,
    length: int = _LENGTH,
    positions: int | None = None,
    named: bool = False,
) -> Model:
    """A model of a configuration.

    `positions` is the maximum sequence length, if limited; `named` numbers values per layer.
    """
    class_name, config_name = kind
    vocabulary = options.get("vocab_size", 50257)
    entry = Entry(
        name=name,
        display_name=display_name,
        family=family,
        package="transformers",
        builder=f"transformers.{class_name}(transformers.{config_name}({_options_text(options)}))",
        build=lambda: transformers_build.build(class_name, (config_name, options), dtype),
        arguments={
            "input_ids": _tokens(vocabulary, length, dynamic, positions),
            "use_cache": False,
        },
        by_name=True,
        plain=_plain(class_name, (config_name, options), dtype),
    )
    option = "n_layer" if "n_layer" in options else "num_hidden_layers"
    layers = options[option]

    def with_layers(count: int) -> Model:
        fewer = {**options, option: count}
        few_cached = dataclasses.replace(cache, layers=count) if cache else None
        return language_model(
            name,
            display_name,
            family,
            kind,
            fewer,
            published,
            few_cached,
            dtype,
            dynamic,
            length=length,
            positions=positions,
        )

    depth = None
    if (layers - first) % period == 0 and layers > first + 3 * period:
        depth = Depth(_LAYERS[class_name], layers, with_layers, first, period)
    decode = decode_entry(entry, cache, vocabulary, dtype) if cache else None
    path = _LAYERS[class_name] if named else None
    return Model(entry, "language model", published, decode, depth=depth, layers=path)


def _options_text(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def checkpoint(params: int, repository: str) -> Published:
    return Published(params, _CHECKPOINT.format(repository))


def decoder(
    width: int, inner: int, layers: int, heads: int, key_heads: int, vocabulary: int, **more
) -> dict[str, Any]:
    return {
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "vocab_size": vocabulary,
        **more,
    }


def _cache_of(options: dict[str, Any], most: int | None = None) -> Cache:
    width = options.get("head_dim") or options["hidden_size"] // options["num_attention_heads"]
    return Cache(options["num_hidden_layers"], options["num_key_value_heads"], width, width, most)


def like_llama(family: str, kind: tuple[str, str], rows: list[tuple]) -> list[Model]:
    """Models of one kind; a row is (name, display name, options, published count, checkpoint)."""
    found = []
    for name, display_name, options, params, repository, *window in rows:
        most = window[0] - 1 if window else None
        found.append(
            language_model(
                name,
                display_name,
                family,
                kind,
                options,
                checkpoint(params, repository),
                _cache_of(options, most),
                period=_PERIODS.get(kind[0], 1),
            )
        )
    return found


TIED = {"tie_word_embeddings": True}
