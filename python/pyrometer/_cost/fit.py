"""pyrometer.fit(): does a model fit into the memory of GPUs, and what is the most that does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _display
from pyrometer._cost.cost import cost

if TYPE_CHECKING:
    import pandas


def fit(
    model_or_path: Any,
    inputs: Any = None,
    *,
    on: str | Sequence[str],
    gpus: int | None = None,
    parallel: str | None = None,
    concurrent: int | None = None,
    kv_cache: str | None = None,
    micro_batches: int | None = None,
    reserve_bytes: int | None = None,
    **sizes: Any,
) -> Fit:
    """Computes what each GPU holds, and compares it with its memory.

    `model_or_path`, `inputs` and the other arguments are those of cost(), also `train` with
    `optimizer`, `checkpoint`, `precision`, `freeze` and `lora`.

    Args:
        on: a chip ("h100", "mi300x"), a size of memory ("24GB"), or a list of them.
        gpus: the number of GPUs.
        parallel: how they divide the model: "tp=8,pp=2,dp=4,ep=8" with "zero1", "zero2", "zero3",
            "fsdp" or "sp"; "auto": the cheapest layout that fits.
        concurrent: sequences with keys and values in the cache, per replica.
        kv_cache: element type of that cache.
        micro_batches: with `train`: micro-batches per step.
        reserve_bytes: kept for driver, CUDA context and NCCL, in place of what is assumed.

    >>> pyrometer.fit("llama3_8b", on="l40s", seq=8192).fits
    True
    """
    chips = tuple(on.split(",")) if isinstance(on, str) else tuple(on)
    priced = cost(model_or_path, inputs, **sizes)
    training = priced._training if sizes.get("train") else None
    arguments = (
        chips,
        priced._settings[1],
        training,
        gpus or 0,
        parallel,
        concurrent or 0,
        micro_batches or 0,
        kv_cache,
        -1 if reserve_bytes is None else reserve_bytes,
    )
    return Fit(priced._model, arguments)


class Fit:
    """Whether a model fits, per chip; the properties are those of the first chip."""

    def __init__(self, model: Any, arguments: tuple[Any, ...]) -> None:
        self._model = model
        self._arguments = arguments
        self._data: dict[str, Any] = json.loads(_core.fit(model, True, *arguments))

    @property
    def fits(self) -> bool:
        """True if the fullest GPU has enough memory."""
        return self.answers[0]["fits"]

    @property
    def margin_bytes(self) -> int:
        """Memory that is free on the fullest GPU; negative: missing."""
        return self.answers[0]["margin_bytes"]

    @property
    def total_bytes(self) -> int:
        """Memory that is used on the fullest GPU."""
        return self.answers[0]["total_bytes"]

    @property
    def parts(self) -> dict[str, int]:
        """Bytes by what they hold at the peak: `weights`, `gradients`, `activations`, ..."""
        return dict(self.answers[0]["peak_bytes"])

    @property
    def largest_batch(self) -> int | None:
        """The largest batch that fits; 0: none; None: the model fixes the batch."""
        return self.answers[0]["largest_batch"]

    @property
    def largest_sequence(self) -> int | None:
        """The longest sequence that fits, likewise."""
        return self.answers[0]["largest_sequence"]

    @property
    def largest_concurrent(self) -> int | None:
        """The most sequences whose keys and values fit; None without a cache."""
        return self.answers[0]["largest_concurrent"]

    @property
    def answers(self) -> list[dict[str, Any]]:
        """Everything per chip: `layout`, `held_bytes`, `peak_bytes`, `communication`, `levers`."""
        return self._data["answers"]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as `pyrometer fit --format json` writes them."""
        return self._data

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row per chip."""
        keys = ("chip", "memory_bytes", "gpus", "fits", "total_bytes", "margin_bytes")
        largest = ("largest_batch", "largest_sequence", "largest_concurrent")
        rows = ({key: one[key] for key in keys + largest} for one in self.answers)
        return _display.frame(list(rows))

    def __bool__(self) -> bool:
        return all(one["fits"] for one in self.answers)

    def __str__(self) -> str:
        return _core.fit(self._model, False, *self._arguments)

    def __repr__(self) -> str:
        name, first = _display.clean(self._data["model"]), self.answers[0]
        verb = "fits" if first["fits"] else "does not fit"
        return f"<pyrometer.Fit {name}: {verb} on {first['gpus']} x {first['chip']}>"
