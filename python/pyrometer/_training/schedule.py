"""Chooses the training steps to profile, by the rule of torch.profiler.schedule."""

from __future__ import annotations

import enum
import sys

NEVER = sys.maxsize


class Action(enum.Enum):
    """The action of a step; the names are torch.profiler's."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule:
    """[skip_first] -> ([wait] -> [warmup] -> [active]) x repeat; repeat 0: until the end."""

    def __init__(self, skip_first: int, wait: int, warmup: int, active: int, repeat: int) -> None:
        self.skip_first = _whole("skip_first", skip_first, 0)
        self.wait = _whole("wait", wait, 0)
        self.warmup = _whole("warmup", warmup, 0)
        self.active = _whole("active", active, 1)
        self.repeat = _whole("repeat", repeat, 0)
        self.cycle_steps = self.wait + self.warmup + self.active

    @property
    def needed_steps(self) -> int:
        """Number of steps until the first cycle is complete."""
        return self.skip_first + self.cycle_steps

    def action(self, step: int) -> Action:
        step -= self.skip_first
        if step < 0 or (self.repeat and step >= self.repeat * self.cycle_steps):
            return Action.NONE
        at = step % self.cycle_steps
        if at < self.wait:
            return Action.NONE
        if at < self.wait + self.warmup:
            return Action.WARMUP
        return Action.RECORD if at < self.cycle_steps - 1 else Action.RECORD_AND_SAVE

    def next_due(self, step: int) -> int:
        """The next step at whose beginning the schedule requires an action."""
        action = self.action(step)
        if action in (Action.RECORD, Action.RECORD_AND_SAVE):
            return step + 1
        at = step - self.skip_first
        if at < 0:
            return self.skip_first + self.wait
        if self.repeat and at >= self.repeat * self.cycle_steps:
            return NEVER
        begin = self.skip_first + at // self.cycle_steps * self.cycle_steps
        return begin + self.wait + (self.warmup if action is Action.WARMUP else 0)

    def __str__(self) -> str:
        return (
            f"skip_first {self.skip_first} + wait {self.wait} + warmup {self.warmup} + "
            f"active {self.active}"
        )


def _whole(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"profiler: {name} must be an integer of at least {least}, not {value!r}")
    return value
