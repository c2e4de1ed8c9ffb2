"""Passes evidence to the library, whose rules recommend changes. Rules, thresholds and texts are in
src/analyze/findings/model/model.def and beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyrometer import _core

COLUMNS = ["subject", "recommendation", "evidence", "gain", "try", "outcome"]


class Rule(NamedTuple):
    """A rule of the library: its subject, and the threshold from which it applies."""

    id: str
    subject: str
    threshold: float


RULES = tuple(Rule(*row) for row in _core.recommendation_rules())


@dataclass
class Evidence:
    """Facts about a model after profiling it; None: unknown."""

    kind: str = "module"
    precision: str = "fp32"
    on_gpu: bool = False
    batch_size: int = 1
    call_ms: float = 0.0
    batch_ms: dict[int, float] = field(default_factory=dict)  # per call, by batch; interleaved
    half_type: tuple[str, str] | None = None  # a 16-bit type that is fast here, and why
    ops: list[tuple[str, float, int]] = field(default_factory=list)  # name, share, calls
    outside: float = 0.0  # share of a call outside of operators
    classes: frozenset[str] = frozenset()  # of the layers
    channels_last: bool = False
    flops: int | None = None
    moved_bytes: int | None = None  # read and written by all operators
    weight_bytes: int | None = None
    zero_share: float | None = None  # share of weights that are exactly 0
    activation_bytes: int | None = None
    device_bytes: int | None = None
    allocations: int = 0  # per call
    allocated_bytes: int = 0
    fragmentation: float | None = None
    peak_bytes: int = 0  # GPU: allocated memory; CPU: resident memory
    threads: int = 1
    usable: int = 1  # processors
    cpu_percent: float | None = None
    waiting: float | None = None  # share of a call in which none of its threads could compute
    gpu_percent: float | None = None
    disk_read_bytes: int = 0
    calls_timed: int = 0
    stages_ms: dict[str, float] = field(default_factory=dict)
    first_token_ms: float | None = None
    token_ms: float | None = None
    caches: bool | None = None  # config.use_cache
    cache_bytes: int | None = None  # of keys and values at the measured length
    attention: str | None = None  # how transformers computes it
    findings: list[dict[str, Any]] = field(default_factory=list)


def recommend(evidence: Evidence) -> list[list[str]]:
    """Rows of recommendations, then findings of the recording; all still untried."""
    return [[*row, ""] for _, *row in _core.recommend(evidence)]
