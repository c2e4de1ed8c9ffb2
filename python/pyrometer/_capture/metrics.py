"""Serves the metrics of a program that `pyrometer run --metrics` started. The library counts and
serves; this decides which process listens at which port."""

from __future__ import annotations

import os

from pyrometer import _core, _env


def begin(address: str, is_first: bool, quiet: bool) -> bool:
    """Starts the server; on failure the program runs without it. Returns whether it is on."""
    offset = _port_offset(is_first)
    if offset is None:
        return False
    try:
        served = _core.metrics_start(address, offset)
    except Exception as error:  # never reaches the program
        _env.say(f"--metrics: {error}; the program runs without metrics")
        return False
    if not quiet:
        _env.say(f"metrics at http://{served}/metrics")
    return True


def end() -> None:
    _core.metrics_stop()


def _port_offset(is_first: bool) -> int | None:
    """What is added to the port; None: this process has no metrics.

    Ranks of one machine use ports that follow each other. A launcher, which itself has no rank,
    uses the first port, so its ranks follow it. Other child processes have none.
    """
    rank = os.environ.get("LOCAL_RANK", "")
    if "RANK" not in os.environ or not rank.isdigit():
        return 0 if is_first else None
    return int(rank) + (0 if is_first else 1)
