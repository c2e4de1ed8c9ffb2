"""Makes series of change points that no threshold was chosen by: other seeds, lengths, levels and
kinds of noise than series.py.

`all_series(draw)` gives another set for every draw; the tests use draw 0.
"""

import math
import random

from series import Series, normal

# Noise per kind: standard deviation 1, neighbours correlated as named.
INDEPENDENT = ("normal", "laplace", "gamma", "two speeds")
CORRELATED = ("ar 0.15", "ar 0.35", "ar 0.45", "ar 0.65", "ar2", "moving average")


def independent(source, kind):
    if kind == "laplace":
        return math.copysign(math.log(1 - source.random()), source.random() - 0.5) / math.sqrt(2)
    if kind == "gamma":  # times have a tail to the right: the sum of four exponential ones
        return (sum(-math.log(1 - source.random()) for _ in range(4)) - 4) / 2
    if kind == "two speeds":  # a machine with two clock rates, chosen anew for every result
        return (normal(source) + (3 if source.random() < 0.25 else -1)) / 2
    return normal(source)


def correlated(source, count, kind):
    if kind == "moving average":
        shocks = [normal(source) for _ in range(count + 3)]
        weights = (0.6, 0.5, 0.45, 0.4350287)
        return [sum(w * shocks[i + j] for j, w in enumerate(weights)) for i in range(count)]
    first, second = (0.4, 0.2) if kind == "ar2" else (float(kind.split()[1]), 0.0)
    rho = first / (1 - second)
    scale = math.sqrt(1 - first * rho - second * (first * rho + second))
    past = [0.0, 0.0]
    for _ in range(count + 100):
        past.append(first * past[-1] + second * past[-2] + scale * normal(source))
    return past[-count:]


def noise(source, count, kind):
    if kind in CORRELATED:
        return correlated(source, count, kind)
    return [independent(source, kind) for _ in range(count)]


def make(draw, name, kind, shape, noise_kind="normal", changes=(), outliers=0.0):
    """`shape` is the level per point in standard deviations, which are 0.8% of 2.5 s."""
    source = random.Random(f"unseen {draw} {name}")
    values = []
    for level, one in zip(shape, noise(source, len(shape), noise_kind), strict=True):
        value = 2500 + 20 * (level + one)
        if source.random() < outliers:
            value += 20 * (6 + 30 * source.random())
        values.append(round(value, 3))
    return Series(name, kind, values, list(changes), noise_kind in CORRELATED)


def pick(draw, name, low, high):
    return random.Random(f"size {draw} {name}").randint(low, high)


def quiet(draw):
    """140 series without a change, half of them with correlated neighbours."""
    for i in range(70):
        count = pick(draw, f"quiet-{i}", 20, 300)
        yield make(draw, f"quiet-{i}", "constant", [0] * count, INDEPENDENT[i % 4],
                   outliers=0.02 * (i % 5 == 4))  # fmt: skip
    for i in range(70):
        count = pick(draw, f"correlated-{i}", 20, 300)
        yield make(draw, f"correlated-{i}", "correlated", [0] * count, CORRELATED[i % 6])


def steps(draw):
    """Single steps; the first 60 have 2 deviations and 15 points after them."""
    for i in range(60):
        before, height = pick(draw, f"step-2-{i}", 30, 130), 2 if i % 2 else -2
        kind = ("ar 0.15", "ar 0.35")[i // 4 % 2] if i % 4 == 3 else INDEPENDENT[i % 3]
        yield make(draw, f"step-2-{i}", "step of 2, 15 points after",
                   [0] * before + [height] * 15, kind, changes=[before])  # fmt: skip
    for i in range(40):
        before, after = pick(draw, f"before-{i}", 25, 90), pick(draw, f"after-{i}", 8, 70)
        height = (2.5, -3.5, 5, 1.7, -8)[i % 5]
        yield make(draw, f"step-{i}", "step", [0] * before + [height] * after,
                   INDEPENDENT[i % 4], changes=[before], outliers=0.02 * (i % 2))  # fmt: skip


def several(draw):
    for i in range(30):
        a = pick(draw, f"a-{i}", 25, 60)
        b = a + pick(draw, f"b-{i}", 20, 70)
        c = b + pick(draw, f"c-{i}", 20, 70)
        end = c + pick(draw, f"end-{i}", 20, 60)
        levels = [(0, 3.2, -0.5, 2.2), (0, -2.6, -5.2, -2.4), (0, 2.4, 0, 2.8)][i % 3]
        pieces = zip(levels, (a, b - a, c - b, end - c), strict=True)
        shape = [level for level, count in pieces for _ in range(count)]
        yield make(draw, f"several-{i}", "several", shape,
                   "ar 0.35" if i % 4 == 3 else INDEPENDENT[i % 3], changes=[a, b, c])  # fmt: skip


def other(draw):
    """Single outliers and drifts."""
    for i in range(15):
        count = pick(draw, f"outliers-{i}", 40, 160)
        yield make(draw, f"outliers-{i}", "outliers", [0] * count, INDEPENDENT[i % 3], outliers=0.1)
    for i in range(15):
        count = pick(draw, f"drift-{i}", 60, 200)
        yield make(draw, f"drift-{i}", "drift", [3 * j / count for j in range(count)])


def all_series(draw=0):
    series = [*quiet(draw), *steps(draw), *several(draw), *other(draw)]
    assert len(series) == 300
    return series
