"""Makes the 300 series of the tests of change points: the same numbers on every machine.

Every series is a list of times in milliseconds with the indexes at which its level really changes.
Only random.Random.random() is used, whose numbers Python guarantees.
"""

import dataclasses
import hashlib
import math
import random
import struct

# Correlation of neighbouring results on shared machines; bench/history.py measures it.
CORRELATIONS = (0.2, 0.3, 0.4, 0.5, 0.6)


@dataclasses.dataclass
class Series:
    name: str
    kind: str
    values: list
    changes: list  # true change points
    correlated: bool

    def key(self):
        return hashlib.sha256(struct.pack(f"<{len(self.values)}d", *self.values)).hexdigest()[:16]


def normal(source):
    """A standard normal number (Box and Muller)."""
    radius = math.sqrt(-2 * math.log(1 - source.random()))
    return radius * math.cos(2 * math.pi * source.random())


def noise(source, count, correlation):
    """Stationary noise with standard deviation 1 and this correlation of neighbours."""
    values, last = [], normal(source)
    for _ in range(count):
        last = correlation * last + math.sqrt(1 - correlation**2) * normal(source)
        values.append(last)
    return values


def make(name, kind, shape, *, correlation=0.0, changes=(), spread=None, outliers=0.0, heavy=False):
    """`shape` is the level per point in standard deviations, which are 1 ms around 100 ms."""
    source = random.Random(f"pyrometer {name}")
    values = []
    for index, (level, one) in enumerate(
        zip(shape, noise(source, len(shape), correlation), strict=True)
    ):
        scale = spread[index] if spread else 1.0
        one = math.copysign(math.expm1(abs(one)), one) if heavy else one
        value = 100 + level + scale * one
        if source.random() < outliers:
            value += 5 + 20 * source.random()
        values.append(round(value, 4))
    return Series(name, kind, values, list(changes), correlation > 0)


def stairs(count, *steps):
    """Levels of `count` points, raised by `height` from each (index, height) on."""
    return [sum(height for index, height in steps if i >= index) for i in range(count)]


def constant():
    """130 series without a change: 62 independent, 68 with correlated neighbours."""
    for i in range(62):
        count = (30, 60, 100, 150, 240)[i % 5]
        yield make(
            f"constant-{i}", "constant", [0] * count, heavy=i % 6 == 5, outliers=0.03 * (i % 4 == 3)
        )
    for i in range(68):
        count = (30, 60, 100, 150, 240)[i % 5]
        correlation = CORRELATIONS[(i // 5) % len(CORRELATIONS)]
        yield make(f"correlated-{i}", "correlated", [0] * count, correlation=correlation)


def steps():
    """Single steps, up and down, of 1 to 6 deviations, also with few points after them."""
    for i in range(50):
        before, after = (35, 60, 85, 110, 45)[i % 5], 15
        sign = 1 if i % 2 else -1
        yield make(
            f"step-2-{i}",
            "step of 2, 15 points after",
            stairs(before + after, (before, sign * 2)),
            changes=[before],
            correlation=CORRELATIONS[i % 3] if i % 4 == 3 else 0.0,
        )
    for i in range(40):
        before, after = 40 + 7 * (i % 6), (8, 12, 20, 40, 60)[i % 5]
        height = (3, 4, 6, 1.5)[i % 4] * (1 if i % 3 else -1)
        yield make(
            f"step-{i}",
            "step",
            stairs(before + after, (before, height)),
            changes=[before],
            outliers=0.03 * (i % 2),
        )


def several():
    for i in range(30):
        a, b, c = 40 + i % 7, 90 + 2 * (i % 5), 150
        yield make(
            f"several-{i}",
            "several",
            stairs(200, (a, 3), (b, -4 if i % 2 else 3), (c, 2.5)),
            changes=[a, b, c],
            correlation=0.3 * (i % 3 == 2),
        )


def other():
    """Drifts, single outliers and growing variance: nothing there is a step."""
    for i in range(15):
        yield make(f"outlier-{i}", "outliers", [0] * (60 + 10 * (i % 4)), outliers=0.08)
    for i in range(20):
        count = 80 + 20 * (i % 3)
        spread = [1 if j < count // 2 else 2.5 for j in range(count)]
        yield make(f"variance-{i}", "variance", [0] * count, spread=spread)
    for i in range(15):
        count = 120
        yield make(f"drift-{i}", "drift", [(2 + i % 3) * j / count for j in range(count)])


def all_series():
    series = [*constant(), *steps(), *several(), *other()]
    assert len(series) == 300
    return series
