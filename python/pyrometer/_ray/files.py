"""Copies the files of ranks to the caller's folder. Transfers them in pieces to bound the memory;
a file gets its final name only when it is complete."""

from __future__ import annotations

import collections
import itertools
import os
import tempfile
from typing import Any

from pyrometer._output_files import refuse_code

# Number of pieces in flight: enough to hide a round trip, little memory.
PIECE_BYTES = 4 << 20
PIECES_AHEAD = 4


def bring(agent: Any, target: str, taken: dict[str, int]) -> None:
    """Copies all files of a node below `target`. `taken` maps the names already copied to their
    ranks; a second file of the same name gets its rank into the name. Raises OSError."""
    import ray

    for rank, name, size_bytes in ray.get(agent.files.remote()):
        free = free_name(name, rank, taken)
        _copy(agent, rank, name, size_bytes, os.path.join(target, free))
        taken[free] = rank


def free_name(name: str, rank: int, taken: dict[str, int]) -> str:
    """log.txt, or log.rank3.txt if another rank's file already has that name."""
    if os.path.isabs(name) or os.pardir in name.split(os.sep):
        raise OSError(f"rank {rank} has a file with the invalid name {name!r}")
    stem, suffix = os.path.splitext(name)
    candidates = itertools.chain(
        (name, f"{stem}.rank{rank}{suffix}"),
        (f"{stem}.rank{rank}.{number}{suffix}" for number in itertools.count(2)),
    )
    return next(one for one in candidates if one not in taken)


def _copy(agent: Any, rank: int, name: str, size_bytes: int, target: str) -> None:
    import ray

    try:
        refuse_code(target)
    except ValueError as error:
        raise OSError(str(error)) from None
    folder, base = os.path.split(target)
    os.makedirs(folder, exist_ok=True)
    descriptor, part = tempfile.mkstemp(prefix=f".{base}.", suffix=".part", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            offsets = iter(range(0, size_bytes, PIECE_BYTES))
            coming: collections.deque[Any] = collections.deque()
            while True:
                for offset in itertools.islice(offsets, PIECES_AHEAD - len(coming)):
                    coming.append(agent.read.remote(rank, name, offset, PIECE_BYTES))
                if not coming:
                    break
                file.write(ray.get(coming.popleft()))
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise
