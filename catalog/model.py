"""One model of the catalog: an entry with its task, its published size and its ways of running."""

import dataclasses
from collections.abc import Callable

from catalog.entry import Entry


@dataclasses.dataclass(frozen=True)
class Published:
    """What others say of a model: its parameters, and who says so.

    `rounded_to` is 1 where every digit was published; a count of "7.24B" is rounded to 10**7.
    """

    params: int
    source: str
    rounded_to: int = 1

    def agrees_with(self, params: int) -> bool:
        """Whether a count is the published one, as far as that was told."""
        return abs(params - self.params) * 2 <= (self.rounded_to if self.rounded_to > 1 else 0)


@dataclasses.dataclass(frozen=True)
class Depth:
    """The layers of a model that are alike: where they are, how many, and how to have fewer.

    Before layer `first` others may come; then `period` layers in turn repeat.
    """

    prefix: str
    layers: int
    at: Callable[[int], "Model"]
    first: int = 0
    period: int = 1

    def traced(self) -> int:
        """How many layers are enough to copy the rest from."""
        return self.first + 3 * self.period


@dataclasses.dataclass(frozen=True)
class Model:
    """A model that the tool knows by name.

    `decode` runs the same weights for one new token beside a cache of keys and values.
    `variants` are the entries of the same builder for other image sizes, by that size, and
    `same_as` names a model that differs in nothing but its weights.
    """

    entry: Entry
    task: str
    published: Published
    decode: Entry | None = None
    variants: tuple[tuple[int, str], ...] = ()
    same_as: str | None = None
    depth: Depth | None = None

    @property
    def name(self) -> str:
        return self.entry.name
