"""The zoo: all named models that tests check Pyrometer's numbers on."""

import difflib
import functools

from catalog.entry import Entry
from zoo import layers, timm, torchvision, transformers

_FAMILIES = (torchvision, transformers, timm, layers)


@functools.cache
def all_entries() -> dict[str, Entry]:
    """Every entry by name, family by family."""
    entries: dict[str, Entry] = {}
    for family in _FAMILIES:
        for entry in family.entries():
            if entry.name in entries:
                raise ValueError(f"{entry.name}: named twice in the zoo")
            entries[entry.name] = entry
    return entries


def find(name: str) -> Entry:
    """The entry of that name; raises LookupError with the nearest names if it is missing."""
    entries = all_entries()
    if name in entries:
        return entries[name]
    near = difflib.get_close_matches(name, entries, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise LookupError(f"{name}: no such model in the zoo{hint}")
