"""pyrometer.fuse(): which operators of a model can run as one kernel, and what that saves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _display
from pyrometer._cost.cost import cost

if TYPE_CHECKING:
    import pandas


def fuse(model_or_path: Any, inputs: Any = None, *, strategy: str = "max", **sizes: Any) -> Fusion:
    """Groups the operators of a model that may legally run as one kernel.

    `model_or_path`, `inputs` and the other arguments are those of cost(); `rules`, `ridge` and
    `depth` have no effect. `strategy` is "none", "vertical" (operators with those that read their
    results), "horizontal" (operators beside each other) or "max".

    >>> pyrometer.fuse("resnet50").after["kernels"]
    56
    """
    priced = cost(model_or_path, inputs, **sizes)
    return Fusion(priced._model, strategy, *priced._settings[:2])


class Fusion:
    """Groups of operators, with kernels, bytes and arithmetic intensity before and after."""

    def __init__(self, model: Any, strategy: str, convention: str, dtype: str | None) -> None:
        self._model = model
        self._settings = (strategy, convention, dtype)
        self._data: dict[str, Any] = json.loads(_core.fuse(model, True, *self._settings, -1))

    @property
    def before(self) -> dict[str, Any]:
        """`kernels`, `flops`, `bytes` and `arithmetic_intensity`, every operator by itself."""
        return self._data["before"]

    @property
    def after(self) -> dict[str, Any]:
        """The same with one kernel per group."""
        return self._data["after"]

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Every group: `kind`, `layer`, `members`, `bytes_before`, `bytes_after`, ..."""
        return self._data["groups"]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as `pyrometer fuse --format json` writes them."""
        return self._data

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row per group; members are names."""
        rows = (
            {**group, "members": [one["name"] for one in group["members"]]} for group in self.groups
        )
        return _display.frame(list(rows))

    def __str__(self) -> str:
        return _core.fuse(self._model, False, *self._settings, 0)

    def __repr__(self) -> str:
        name, before, after = _display.clean(self._data["model"]), self.before, self.after
        return f"<pyrometer.Fusion {name}: {before['kernels']} -> {after['kernels']} kernels>"
