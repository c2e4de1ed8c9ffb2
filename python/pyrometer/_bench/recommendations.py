"""Recommendations: evidence goes to the library, whose rules say what is worth doing. Rules,
thresholds and texts are in src/analyze/findings/model.def and beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyrometer import _core

COLUMNS = ["subject", "recommendation", "evidence", "gain", "try", "outcome"]


class Rule(NamedTuple):
    """A rule of the library: what it is about, and the number from which it is recommended."""

    id: str
    subject: str
    threshold: float


RULES = tuple(Rule(*row) for row in _core.recommendation_rules())


@dataclass
class Evidence:
    """What is known of a model after profiling it; None: not known."""

    kind: str = "module"
    precision: str = "fp32"
    on_gpu: bool = False
    batch_size: int = 1
    call_ms: float = 0.0
    batch_ms: dict[int, float] = field(default_factory=dict)  # of a call, by batch; run in turn
    half_type: tuple[str, str] | None = None  # a 16-bit type that is fast here, and why
    ops: list[tuple[str, float, int]] = field(default_factory=list)  # name, share, calls
    outside: float = 0.0  # share of a call that is in no operator
    classes: frozenset[str] = frozenset()  # of the layers
    channels_last: bool = False
    flops: int | None = None
    moved_bytes: int | None = None  # read and written by all operators
    weight_bytes: int | None = None
    zero_share: float | None = None  # of weights that are exactly 0
    activation_bytes: int | None = None
    device_bytes: int | None = None
    allocations: int = 0  # of one call
    allocated_bytes: int = 0
    fragmentation: float | None = None
    unused_bytes: int = 0  # that the fragmentation is of
    threads: int = 1
    usable: int = 1  # processors
    cpu_percent: float | None = None
    waiting: float | None = None  # share of a call in which no thread of it could compute
    gpu_percent: float | None = None
    disk_read_bytes: int = 0
    calls_timed: int = 0
    stages_ms: dict[str, float] = field(default_factory=dict)
    first_token_ms: float | None = None
    token_ms: float | None = None
    caches: bool | None = None  # config.use_cache
    cache_bytes: int | None = None  # of keys and values at the length that was run
    attention: str | None = None  # how transformers computes it
    findings: list[dict[str, Any]] = field(default_factory=list)


def recommend(evidence: Evidence) -> list[list[str]]:
    """Rows of what is worth doing, then what the recording's findings add; none was tried yet."""
    return [[*row, ""] for _, *row in _core.recommend(evidence)]
