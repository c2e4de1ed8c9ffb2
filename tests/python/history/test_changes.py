"""Change points: equal to Apache Otava's on 600 series, and the vote beside it."""

import json
import math
import pathlib

import otava_samples
import pytest
import series as generated
import unseen

core = pytest.importorskip("pyrometer._testing").core

HERE = pathlib.Path(__file__).resolve().parent
SETS = {"series": (generated, "otava.json"), "unseen": (unseen, "otava_unseen.json")}
NEAR = 5  # a change point counts as found within so many points


@pytest.fixture(scope="module", params=list(SETS))
def both(request):
    """The series that thresholds were chosen by, or those that none was; and Otava's answers."""
    source, name = SETS[request.param]
    series, otava = source.all_series(), json.loads((HERE / name).read_text())
    for one in series:
        assert one.key() == otava[one.name]["key"], "make peers: the series have changed"
    return series, otava


def find(values, method):
    return core.find_changes(values, method, 0, 0.0, 0.0)


def check_equal(name, values, theirs):
    ours = find(values, "edivisive")
    assert [point[0] for point in ours] == [point["index"] for point in theirs], name
    for point, other in zip(ours, theirs, strict=True):
        assert point[2:4] == (other["mean_before"], other["mean_after"])
        assert math.isclose(point[1], other["p"], rel_tol=1e-10, abs_tol=1e-300), name


def test_equal_to_otava(both):
    all_series, otava = both
    for one in all_series:
        check_equal(one.name, one.values, otava[one.name]["changes"])


def test_equal_to_otava_on_its_samples():
    """The series in Otava's own repository, where a checkout is."""
    checkout = otava_samples.folder()
    if checkout is None:
        pytest.skip("no source of Otava: make peers downloads it")
    stored = json.loads((HERE / "otava_samples.json").read_text())
    compared = 0
    for name, values in otava_samples.read(checkout).items():
        if name in stored and stored[name]["key"] == otava_samples.key(values):
            check_equal(name, values, stored[name]["changes"])
            compared += 1
    assert compared == len(stored)


def rate(all_series, find_indexes):
    """Hits, misses, false points, and series without a step that have a false point, by kind."""
    rows = {}
    for one in all_series:
        found = find_indexes(one)
        hits = 0
        for true in one.changes:
            near = [index for index in found if abs(index - true) <= NEAR]
            if near:
                found.remove(min(near, key=lambda index: abs(index - true)))
                hits += 1
        row = rows.setdefault(one.kind, {"series": 0, "alarms": 0, "hit": 0, "miss": 0, "false": 0})
        row["series"] += 1
        row["alarms"] += bool(found)
        row["hit"] += hits
        row["miss"] += len(one.changes) - hits
        row["false"] += len(found)
    return rows


def f1(rows):
    """A drift has no step to find, so it counts for neither side."""
    counted = [row for kind, row in rows.items() if kind != "drift"]
    hit, miss, false = (sum(row[key] for row in counted) for key in ("hit", "miss", "false"))
    return 2 * hit / (2 * hit + miss + false)


def show(vote, otava):
    print(f"\n{'series':28}{'n':>4}  vote: hit miss false alarms   Otava 0.8.0: the same")
    for kind, row in vote.items():
        cells = [
            f"{one['hit']:>5}{one['miss']:>5}{one['false']:>6}{one['alarms']:>7}"
            for one in (row, otava[kind])
        ]
        print(f"{kind:28}{row['series']:>4}  {cells[0]}   {cells[1]}")
    print(f"F1: vote {f1(vote):.3f}, Otava {f1(otava):.3f}")


def test_vote_beside_otava(both):
    all_series, answers = both
    vote = rate(all_series, lambda one: [point[0] for point in find(one.values, "vote")])
    otava = rate(all_series, lambda one: [point["index"] for point in answers[one.name]["changes"]])
    show(vote, otava)
    quiet = [vote["constant"], vote["correlated"]]
    assert sum(row["series"] for row in quiet) >= 120
    assert vote["correlated"]["series"] * 2 >= sum(row["series"] for row in quiet)
    assert sum(row["alarms"] for row in quiet) * 20 <= sum(row["series"] for row in quiet)
    steps = vote["step of 2, 15 points after"]
    assert steps["hit"] / (steps["hit"] + steps["miss"]) >= 0.8
    assert f1(vote) >= f1(otava)


@pytest.mark.parametrize("method", ["edivisive", "bayesian", "ranks", "vote"])
def test_short_and_constant_series(method):
    for values in ([], [1.0], [1.0, 2.0], [5.0] * 200, [0.0] * 60):
        assert find(values, method) == []
    assert [point[0] for point in find([1.0] * 30 + [2.0] * 30, "edivisive")] == [30]


def test_missing_values_are_filled():
    nan = math.nan
    step = [1.0, 1.1, 0.9, 1.05] * 6 + [3.0, 3.1, 2.9, 3.05] * 6
    holes = [nan, *step[1:10], nan, *step[11:]]
    assert [point[0] for point in find(holes, "edivisive")] == [24]
    with pytest.raises(ValueError, match="no values"):
        find([nan, nan], "edivisive")
    with pytest.raises(ValueError, match="infinite"):
        find([1.0, math.inf], "edivisive")
