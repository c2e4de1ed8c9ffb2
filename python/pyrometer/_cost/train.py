"""The cost of a training step as a Python object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _display

if TYPE_CHECKING:
    import pandas

PARTS = ("forward", "backward", "recompute", "optimizer")


class TrainCost:
    """The predicted cost of one training step: forward, backward and optimizer; gradients,
    optimizer states and master weights; memory over the step."""

    def __init__(
        self, model: _core.Model, settings: tuple[Any, ...], training: tuple[str | None, ...]
    ) -> None:
        self._model = model
        self._settings = settings
        self._training = training
        self._data: dict[str, Any] = json.loads(model.report(True, *settings, -1, training))

    @property
    def model(self) -> str:
        """The model's name."""
        return self._data["model"]

    @property
    def convention(self) -> str:
        """The convention that counts the FLOPs."""
        return self._data["convention"]

    @property
    def options(self) -> dict[str, str | None]:
        """Optimizer, checkpointing, precision, frozen parameters and adapters."""
        return dict(self._data["options"])

    @property
    def total_flops(self) -> int:
        """FLOPs of the step: forward, recomputation, backward and optimizer."""
        return self._data["total_flops"]

    @property
    def total_macs(self) -> int:
        """Multiply-accumulates of the step."""
        return self._data["total_macs"]

    @property
    def total_memory(self) -> int:
        """Traffic of the step: bytes read and written."""
        return self._data["total_memory"]

    def part(self, name: str) -> dict[str, int]:
        """MACs, FLOPs and bytes of "forward", "backward", "recompute" or "optimizer"."""
        if name not in PARTS:
            raise ValueError(f"invalid part {name!r}; valid: {', '.join(PARTS)}")
        return dict(self._data[name])

    @property
    def trainable_params(self) -> int:
        """Parameters that learn, adapters included; shared ones count once."""
        return self._data["trainable_params"]

    @property
    def frozen_params(self) -> int:
        """Parameters that do not learn."""
        return self._data["frozen_params"]

    @property
    def lora_params(self) -> int:
        """Parameters of adapters."""
        return self._data["lora_params"]

    @property
    def peak_memory(self) -> dict[str, int | str]:
        """Bytes at the peak of the step and where it is; weights, gradients, optimizer states,
        master weights and activations kept for the backward. Without the scratch of kernels."""
        return dict(self._data["peak_memory"])

    @property
    def curve(self) -> list[dict[str, Any]]:
        """Bytes alive at each node of the step, in order: phase, node, layer, bytes."""
        return [dict(point) for point in self._data["curve"]]

    @property
    def alive_at_peak(self) -> list[dict[str, Any]]:
        """What is alive at the peak, largest first."""
        return [dict(item) for item in self._data["alive_at_peak"]]

    @property
    def notes(self) -> list[str]:
        """What the numbers assume."""
        return list(self._data["notes"])

    def table(self) -> str:
        """The text that `pyrometer cost --train` prints."""
        return self._model.report(False, *self._settings, -1, self._training)

    def to_dict(self) -> dict[str, Any]:
        """All data, as `pyrometer cost --train --format json` writes it."""
        return json.loads(json.dumps(self._data))

    def to_pandas(self, what: str = "layers") -> pandas.DataFrame:
        """A DataFrame of the "layers", "operators", "nodes", "curve" or "alive" memory."""
        keys = {
            "layers": "layers",
            "operators": "operators_by_type",
            "nodes": "nodes",
            "curve": "curve",
            "alive": "alive_at_peak",
        }
        if what not in keys:
            raise ValueError(f"invalid table {what!r}; valid: {', '.join(keys)}")
        return _display.frame([flat(row) for row in self._data[keys[what]]])

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        peak = self._data["peak_memory"]["total_bytes"]
        return (
            f"<pyrometer.TrainCost {_display.clean(self.model)}: {self.total_flops / 1e9:.4g} "
            f"GFLOPs per step, peak {peak / 2**20:.1f} MiB>"
        )


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose parts are columns: forward_flops, backward_macs, ..."""
    result: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            result.update({f"{key}_{inner}": amount for inner, amount in value.items()})
        else:
            result[key] = value
    return result
