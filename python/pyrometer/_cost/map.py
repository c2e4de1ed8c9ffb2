"""pyrometer.map(): how long a model takes on chips, layer by layer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _display
from pyrometer._cost.cost import cost

if TYPE_CHECKING:
    import pandas


def map(  # shadows the built-in only here and where users import it by name
    model_or_path: Any,
    inputs: Any = None,
    *,
    on: str | list[str] = "h100",
    train: bool = False,
    fused: bool = False,
    tf32: bool = False,
    table: str | None = None,
    peaks: str | None = None,
    **sizes: Any,
) -> Map:
    """Predicts the time of a model on chips, with the range that 80% of measurements lie in.

    `model_or_path`, `inputs` and the sizes are those of cost(). `on` names chips as
    `pyrometer hardware` does ("h100", "a100-80gb"); "host" is this machine as
    `pyrometer doctor --calibrate` measured it. `train` predicts a training step, `fused` kernels as
    fuse() groups them, `tf32` products of float32 on tensor cores. `table` is a file of learnt
    efficiencies, `peaks` one of measured rates; by default the user's own are used.

    >>> pyrometer.map("resnet50", on=["h100", "a100"], batch=8).best_by_time
    'H100 SXM'
    """
    priced = cost(model_or_path, inputs, **sizes)
    chips = on.split(",") if isinstance(on, str) else list(on)
    settings = (chips, priced._settings[1], train, fused, tf32, table, peaks)
    return Map(priced._model, settings)


class Map:
    """Predicted times of a model on chips."""

    def __init__(self, model: Any, settings: tuple[Any, ...]) -> None:
        self._model, self._settings = model, settings
        self._data: dict[str, Any] = json.loads(_core.map(model, True, *settings))

    @property
    def chips(self) -> list[dict[str, Any]]:
        """Every chip: `chip`, `total`, `layers`, `memory_bytes`, `fits`, `saturating_batch`, ..."""
        return self._data["maps"][0]["chips"]

    @property
    def best_by_time(self) -> str | None:
        """The fastest chip that has enough memory."""
        return self._data["maps"][0]["best_by_time"]

    @property
    def best_by_energy(self) -> str | None:
        """The chip that needs least energy, of those with enough memory."""
        return self._data["maps"][0]["best_by_energy"]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as `pyrometer map --format json` writes them."""
        return self._data

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row per chip and layer."""
        rows = ({"chip": one["chip"], **layer} for one in self.chips for layer in one["layers"])
        return _display.frame(list(rows))

    def __str__(self) -> str:
        return _core.map(self._model, False, *self._settings)

    def __repr__(self) -> str:
        times = ", ".join(
            f"{one['chip']} {one['total']['time_ns'] / 1e6:.3g} ms" for one in self.chips
        )
        return f"<pyrometer.Map {_display.clean(self._data['maps'][0]['model'])}: {times}>"
