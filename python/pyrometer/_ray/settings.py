"""The checked arguments of pyrometer.ray(), and texts for amounts of resources."""

from __future__ import annotations

import dataclasses
from typing import Any

DEFAULT_OUTPUT_DIR = "./profiler_logs"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The checked arguments of pyrometer.ray()."""

    num_nodes: int
    gpus_per_node: int
    workers_per_node: int
    cpus_per_worker: float
    output_dir: str | None
    return_all: bool
    address: str | None
    runtime_env: dict[str, Any] | None
    wait_s: float
    grace_s: float

    @property
    def world_size(self) -> int:
        return self.num_nodes * self.workers_per_node

    @property
    def bundle(self) -> dict[str, float]:
        """The resources that a node must provide."""
        bundle: dict[str, float] = {"CPU": self.cpus_per_worker * self.workers_per_node}
        if self.gpus_per_node:
            bundle["GPU"] = self.gpus_per_node
        return bundle


def plural(count: float, what: str) -> str:
    return f"{count:g} {what}{'' if count == 1 else 's'}"


def describe(resources: dict[str, float]) -> str:
    return f"{plural(resources.get('CPU', 0), 'CPU')} and {plural(resources.get('GPU', 0), 'GPU')}"
