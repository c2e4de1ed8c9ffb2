"""Builds torchvision's models with the options of their published weights, without the weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock


@contextlib.contextmanager
def without_downloads() -> Iterator[None]:
    """Lets torchvision's builders accept a weights argument, which sets a model's options, without
    loading the weights."""
    import torch
    from torchvision.models._api import WeightsEnum
    from torchvision.models.regnet import BlockParams

    from_widths = BlockParams.from_init_params.__func__

    def on_cpu(cls: type, *arguments: Any, **options: Any) -> Any:
        # Its block widths are computed with tensors, which must hold values.
        with torch.device("cpu"):
            return from_widths(cls, *arguments, **options)

    with (
        mock.patch.object(WeightsEnum, "get_state_dict", lambda *_, **__: {}),
        mock.patch.object(torch.nn.Module, "load_state_dict", lambda *_, **__: None),
        mock.patch.object(BlockParams, "from_init_params", classmethod(on_cpu)),
    ):
        yield
