"""Finds the rank of this process among those that train together."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple


class RankInfo(NamedTuple):
    """A process of a training run. The rank is the global one."""

    rank: int
    world_size: int
    backend: str  # of the process group; "" without one

    @property
    def is_certain(self) -> bool:
        """False if a process group may still be created and define another rank."""
        return bool(self.backend) or "RANK" in os.environ

    def renewed(self) -> RankInfo:
        """The current rank; a group that was destroyed meanwhile still counts."""
        now = rank_info()
        return now if now.backend or not self.backend else self


def rank_info() -> RankInfo:
    """The rank from torch.distributed if initialised, else from RANK and WORLD_SIZE."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return RankInfo(
            distributed.get_rank(), distributed.get_world_size(), str(distributed.get_backend())
        )
    rank, world_size = _number("RANK", 0), _number("WORLD_SIZE", 1)
    return RankInfo(rank, max(world_size, rank + 1), "")


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else otherwise
