"""Builds catalog models of images, speech and text from configurations of transformers."""

from typing import Any

import torch

from catalog import transformers_build
from catalog.entry import Entry, Input
from catalog.model import Model, Published

_CHECKPOINT = "tensors in the checkpoint {}, weights that are shared counted once"
_IMAGE_AXES = ("batch", "channel", "height", "width")


def transformers_model(
    name: str,
    display_name: str,
    family: str,
    task: str,
    kind: tuple[str, str],
    options: dict[str, Any],
    arguments: dict[str, Any],
    published: Published,
    same_as: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Model:
    """A model of a class and a configuration of transformers, called with arguments by name."""
    class_name, config_name = kind
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
    entry = Entry(
        name=name,
        display_name=display_name,
        family=family,
        package="transformers",
        builder=f"transformers.{class_name}(transformers.{config_name}({shown}))",
        build=lambda: transformers_build.build(class_name, (config_name, options), dtype),
        arguments=arguments,
        by_name=True,
    )
    return Model(entry, task, published, same_as=same_as)


def checkpoint(params: int, repository: str) -> Published:
    """The exact count of a checkpoint."""
    return Published(params, _CHECKPOINT.format(repository))


def image(
    height: int,
    width: int | None = None,
    dynamic: tuple[int, ...] = (0,),
    dtype: torch.dtype = torch.float32,
) -> Input:
    """An image input; square without a width."""
    return Input((1, 3, height, width or height), dtype, dynamic=dynamic, axes=_IMAGE_AXES)


def tokens(length: int, vocabulary: int, dynamic: tuple[int, ...] = (0,)) -> Input:
    """An input of token ids."""
    return Input(
        (1, length), torch.int64, dynamic=dynamic, high=vocabulary, axes=("batch", "sequence")
    )
