"""Describes one model of the catalog: its entry, task, published size and variants."""

import dataclasses
from collections.abc import Callable

from catalog.entry import Entry


@dataclasses.dataclass(frozen=True)
class Published:
    """The parameter count that a model must have, and its source.

    `rounded_to` is 1 for an exact count; a count of "7.24B" is rounded to 10**7. `is_stated` is
    false for a count that no source states: it is the built model's own, kept so that a change is
    noticed.
    """

    params: int
    source: str
    rounded_to: int = 1
    is_stated: bool = True

    def agrees_with(self, params: int) -> bool:
        """Whether a count equals the published one within its rounding."""
        return abs(params - self.params) * 2 <= (self.rounded_to if self.rounded_to > 1 else 0)


def as_built(params: int, note: str) -> Published:
    """The built model's own count; the note says what its authors state."""
    source = f"count of the model as built, not of a checkpoint; {note}"
    return Published(params, source, is_stated=False)


@dataclasses.dataclass(frozen=True)
class Depth:
    """The identical layers of a model: their path and number, and a builder with fewer layers.

    From layer `first` on, rounds of `period` layers repeat; layers before it may differ.
    """

    prefix: str
    layers: int
    at: Callable[[int], "Model"]
    first: int = 0
    period: int = 1

    def traced(self) -> int:
        """Number of layers to trace, from which the rest is copied."""
        return self.first + 3 * self.period


@dataclasses.dataclass(frozen=True)
class Model:
    """A built-in model of the tool.

    `decode` runs the same weights for one new token with a key-value cache. `variants` are models
    of the same builder by image size. `same_as` names a model that differs only in its weights.
    `layers` is the path of layers that are too different to be copied, but similar enough to have
    similar names.
    """

    entry: Entry
    task: str
    published: Published
    decode: Entry | None = None
    variants: tuple[tuple[int, str], ...] = ()
    same_as: str | None = None
    depth: Depth | None = None
    layers: str | None = None

    @property
    def name(self) -> str:
        return self.entry.name
