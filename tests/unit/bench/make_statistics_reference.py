#!/usr/bin/env python3
"""Writes statistics_reference.h: samples, and their statistics by SciPy, NumPy and statsmodels.

    python3 -m venv v && v/bin/pip install numpy scipy statsmodels
    v/bin/python tests/unit/bench/make_statistics_reference.py > statistics_reference.h

The bootstrap is compared exactly: this file reimplements src/bench/statistics/random.c,
so that both sides draw the same resamples, and computes their BCa interval by SciPy's formula.
"""

import math

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_ind

MASK = (1 << 64) - 1


class Random:
    """xoshiro256** seeded by splitmix64."""

    def __init__(self, seed):
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.state.append(z ^ (z >> 31))

    def next(self):
        s = self.state

        def rotate(x, k):
            return ((x << k) | (x >> (64 - k))) & MASK

        result = (rotate((s[1] * 5) & MASK, 7) * 9) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, bound):
        uneven = (MASK + 1 - bound) % bound
        while True:
            product = self.next() * bound
            if (product & MASK) >= uneven:
                return product >> 64


def bca(samples, statistic, resamples, seed, confidence=0.95):
    """SciPy's BCa interval over resamples of our generator."""
    random = Random(seed)
    n = len(samples)
    drawn = np.array(
        [statistic(samples[[random.below(n) for _ in range(n)]]) for _ in range(resamples)]
    )
    observed = statistic(samples)
    share = (np.sum(drawn < observed) + np.sum(drawn <= observed)) / (2 * resamples)
    bias = stats.norm.ppf(share)
    left_out = np.array([statistic(np.delete(samples, i)) for i in range(n)])
    influence = (n - 1) * (left_out.mean() - left_out)
    skew = (np.sum(influence**3) / n**3) / (6 * (np.sum(influence**2) / n**2) ** 1.5)
    ends = []
    for level in ((1 - confidence) / 2, 1 - (1 - confidence) / 2):
        shifted = bias + stats.norm.ppf(level)
        ends.append(stats.norm.cdf(bias + shifted / (1 - skew * shifted)))
    return np.percentile(drawn, [100 * end for end in ends])


def number(value):
    return repr(float(value)) if math.isfinite(value) else "NAN"


def array(name, values):
    body = ", ".join(number(value) for value in values)
    print(f"static const double {name}[] = {{{body}}};")


def rows(kind, name, table):
    print(f"static const {kind} {name}[] = {{")
    for row in table:
        print(
            "    {"
            + ", ".join(value if isinstance(value, str) else number(value) for value in row)
            + "},"
        )
    print("};")


def autocorrelation(x, lag):
    d = x - x.mean()
    return np.sum(d[lag:] * d[:-lag]) / np.sum(d * d)


def ranks(n, p, confidence):
    tail = (1 - confidence) / 2
    low = max((k for k in range(0, n + 1) if stats.binom.cdf(k - 1, n, p) <= tail), default=0)
    high = min((u for u in range(1, n + 1) if stats.binom.sf(u - 1, n, p) <= tail), default=n + 1)
    return low, high


def hodges_lehmann(a, b, confidence):
    """Brute force, the interval by R's rule (wilcox.test, conf.int = TRUE)."""
    differences = np.sort(np.subtract.outer(b, a).ravel())
    n, m = len(a), len(b)
    counts = np.zeros(n * m + 1)
    table = {}

    def ways(i, j, u):
        if u < 0:
            return 0
        if i == 0 or j == 0:
            return int(u == 0)
        key = (i, j, u)
        if key not in table:
            table[key] = ways(i - 1, j, u - j) + ways(i, j - 1, u)
        return table[key]

    total = math.comb(n + m, n)
    counts = np.array([ways(n, m, u) / total for u in range(n * m + 1)])
    rank = int(np.argmax(np.cumsum(counts) > (1 - confidence) / 2))
    if rank == 0:
        return np.median(differences), math.nan, math.nan
    return np.median(differences), differences[rank - 1], differences[n * m - rank]


def main():
    rng = np.random.default_rng(20240229)
    sample = rng.lognormal(0.5, 0.4, 37)
    other = rng.lognormal(0.62, 0.35, 29)
    tied = np.round(rng.normal(10, 2, 40), 0)
    tied_other = np.round(rng.normal(11, 2, 33), 0)
    series = np.zeros(200)
    for i in range(1, 200):
        series[i] = 0.6 * series[i - 1] + rng.normal()
    series += 20

    print("/*")
    print(" * Made by make_statistics_reference.py with")
    versions = [f"{m.__name__} {m.__version__}" for m in (np, scipy, statsmodels)]
    print(f" * {', '.join(versions)}.")
    print(" */")
    print("/* clang-format off */")
    array("sample", sample)
    array("other", other)
    array("tied", tied)
    array("tied_other", tied_other)
    array("series", series)

    q = [0, 0.01, 0.25, 0.5, 0.77, 0.95, 0.99, 1]
    rows("pair", "expected_quantiles", [(p, np.quantile(sample, p)) for p in q])
    q1, q3 = np.quantile(sample, [0.25, 0.75])
    beyond = np.sum((sample > q3 + 1.5 * (q3 - q1)) | (sample < q1 - 1.5 * (q3 - q1)))
    print(f"#define EXPECTED_MEAN {number(np.mean(sample))}")
    print(f"#define EXPECTED_STDDEV {number(np.std(sample, ddof=1))}")
    print(f"#define EXPECTED_MAD {number(stats.median_abs_deviation(sample))}")
    print(f"#define EXPECTED_OUTLIERS {beyond}")
    rows(
        "pair", "expected_autocorrelation", [(k, autocorrelation(series, k)) for k in (1, 2, 5, 30)]
    )
    rows(
        "pair",
        "expected_normal_quantiles",
        [
            (p, stats.norm.ppf(p))
            for p in (1e-300, 1e-12, 1e-4, 0.025, 0.3, 0.5, 0.84, 0.975, 1 - 1e-9)
        ],
    )
    rows(
        "pair",
        "expected_normal_cdf",
        [(x, stats.norm.cdf(x)) for x in (-30, -8, -1.96, 0, 0.3, 2.5)],
    )
    rows(
        "triple",
        "expected_binomial",
        [
            (k, n, p, stats.binom.cdf(k, n, p))
            for k, n, p in (
                (0, 10, 0.5),
                (3, 10, 0.5),
                (9, 10, 0.95),
                (480, 1000, 0.5),
                (985, 1000, 0.99),
                (999, 1000, 0.999),
                (49500, 100000, 0.5),
                (99900, 100000, 0.999),
                (20, 100000, 0.001),
            )
        ],
    )
    rows(
        "rank_row",
        "expected_ranks",
        [
            (n, p, c, *ranks(n, p, c))
            for n in (5, 6, 10, 59, 100, 299, 400, 1000)
            for p in (0.5, 0.95, 0.99)
            for c in (0.95, 0.99)
        ],
    )

    tests = []
    for names, a, b, method in (
        (("sample", "other"), sample, other, "exact"),
        (("tied", "tied_other"), tied, tied_other, "asymptotic"),
        (("sample", "series"), sample, series, "asymptotic"),
    ):
        for code, alternative in (
            ("PYRO_TWO_SIDED", "two-sided"),
            ("PYRO_LESS", "less"),
            ("PYRO_GREATER", "greater"),
        ):
            found = stats.mannwhitneyu(a, b, alternative=alternative, method=method)
            tests.append(
                (names[0], str(len(a)), names[1], str(len(b)), code, found.statistic, found.pvalue)
            )
    rows("test_row", "expected_tests", tests)

    shifts = []
    for size in (3, 4, 5, 10, 20, 29):
        for confidence in (0.90, 0.95, 0.99):
            shifts.append(
                (str(size), confidence, *hodges_lehmann(sample[:size], other[:size], confidence))
            )
    rows("shift_row", "expected_shifts", shifts)

    rows(
        "bootstrap_row",
        "expected_bootstrap",
        [("pyro_statistic_mean", str(seed), *bca(sample, np.mean, 500, seed)) for seed in (1, 7)]
        + [
            ("pyro_statistic_median", str(seed), *bca(sample, np.median, 500, seed))
            for seed in (1, 7)
        ],
    )
    large = stats.bootstrap(
        (sample,), np.mean, n_resamples=200000, method="BCa", rng=np.random.default_rng(5)
    ).confidence_interval
    print(
        f"static const double expected_scipy_bca[] = {{{number(large.low)}, {number(large.high)}}};"
    )

    p = np.array([0.01, 0.04, 0.03, 0.005, 0.6, 0.04])
    array("holm_given", p)
    array("holm_expected", multipletests(p, method="holm")[1])

    cases = []
    for index in range(24):
        size = (10, 20, 30)[index % 3]
        ratio = (1.0, 1.005, 1.05, 0.95)[index % 4]
        a = rng.normal(100, 1.2, size)
        b = rng.normal(100 * ratio, 1.2, size)
        bound = math.log(1.02)
        p_equal = ttost_ind(np.log(b), np.log(a), -bound, bound, usevar="unequal")[0]
        cases.append((a, b, p_equal))
    for index, (a, b, _) in enumerate(cases):
        array(f"tost_a{index}", a)
        array(f"tost_b{index}", b)
    rows(
        "tost_row",
        "expected_tost",
        [(f"tost_a{i}", f"tost_b{i}", str(len(a)), p) for i, (a, b, p) in enumerate(cases)],
    )


if __name__ == "__main__":
    main()
