"""The node that produced a tensor, through operators that return it, views and partial writes."""

import json
import os
import random
import shutil
import subprocess
import threading

import pytest

import pyrometer
from pyrometer._testing import observer_build

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

try:
    observer_build.load()
except observer_build.Unavailable as error:
    pytest.skip(f"no observer of ops: {error}", allow_module_level=True)


def live(model, *args, granularity="layer"):
    """The edges of a run."""
    if granularity == "op":
        prof = pyrometer.Profiler(model, auto_profile=False)
        prof.profile_detail(*args, level="aten")
        graph = prof.detail_graph
    else:
        prof = pyrometer.Profiler(model, granularity=granularity, auto_profile=False)
        prof.profile_once(*args)
        graph = prof.graph
    assert not [edge for edge in graph.edges if edge.assumed]
    return {(edge.source.name, edge.target.name) for edge in graph.edges}


def filed(tmp_path, model, *args, granularity="layer"):
    """The edges of an exported file."""
    if not (tool := os.environ.get("PYRO_TOOL")):
        pytest.skip("PYRO_TOOL is not set")
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(model, args), path)
    done = subprocess.run(
        [tool, "graph", path, "-g", granularity, "--format", "json"],
        capture_output=True,
        check=True,
    )
    data = json.loads(done.stdout)
    assert not [row for row in data["edges"] if row["assumed"]]
    names = [row["name"] for row in data["nodes"]]
    return {(names[row["from"]], names[row["to"]]) for row in data["edges"]}


class Branches(nn.Module):
    """Parallel branches that each start with an operator that returns its input."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.drops = nn.ModuleList(nn.Dropout(0.5) for _ in range(3))
        self.branches = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        x = self.stem(x)
        parts = [one(drop(x)) for drop, one in zip(self.drops, self.branches, strict=True)]
        return parts[0] + parts[1].to(torch.float32) + parts[2]


BRANCHES = {
    ("x", "stem"),
    *(("stem", f"drops.{i}") for i in range(3)),
    *(("stem", f"branches.{i}") for i in range(3)),
    ("branches.0", "add"),
    ("branches.1", "to"),
    ("branches.1", "add"),
    ("add", "add@1"),
    ("branches.2", "add@1"),
}


class Residual(nn.Module):
    """The residual starts at the stem, whatever uses its result in between."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5, inplace=True)
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        x = self.stem(x)
        y = self.body(self.drop(x).contiguous().type_as(x))
        return x + y


RESIDUAL = {
    ("x", "stem"),
    ("stem", "drop"),
    ("stem", "body"),
    ("body", "add"),
    ("stem", "add"),
}


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize(("model", "wanted"), [(Branches, BRANCHES), (Residual, RESIDUAL)])
def test_branches_behind_an_operator_that_returns_its_input(model, wanted, inference):
    model = model().eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.inplace &= not inference  # writes are not counted there
    with torch.inference_mode(inference):
        found = live(model, torch.randn(2, 4))
    between = {"contiguous", "type_as"}
    assert {pair for pair in found if not between & set(pair)} == wanted


@pytest.mark.parametrize(("model", "wanted"), [(Branches, BRANCHES), (Residual, RESIDUAL)])
def test_branches_of_a_file(model, wanted, tmp_path):
    found = filed(tmp_path, model().eval(), torch.randn(2, 4))
    between = {"contiguous", "type_as"}
    assert {pair for pair in found if not between & set(pair)} == wanted


def test_cuts_follow_the_producer():
    """A tensor that crosses a cut because of a branch counts, even if an operator returned it."""
    prof = pyrometer.Profiler(Branches().eval(), granularity="layer", auto_profile=False)
    prof.profile_once(torch.randn(2, 4))
    names = [node.name for node in prof.graph]
    with pytest.warns(UserWarning, match="of 1 pass,"):
        cuts = prof.graph.cuts(2)["cuts"]
    crossing = {names[cut["after"]]: cut["tensors"] for cut in cuts}
    assert crossing["drops.1"] == 2  # of the stem, and of the first branch


SAME = {
    "dropout": lambda x: functional.dropout(x, 0.5, False),
    "dropout of nothing": lambda x: functional.dropout(x, 0.0, True),
    "feature_dropout": lambda x: torch.feature_dropout(x, 0.5, False),
    "alpha_dropout": lambda x: functional.alpha_dropout(x, 0.5, False),
    "to": lambda x: x.to(torch.float32),
    "to a device": lambda x: x.to("cpu"),
    "float": lambda x: x.float(),
    "type_as": lambda x: x.type_as(x),
    "contiguous": lambda x: x.contiguous(),
    "flatten": lambda x: x.flatten(1, 1),
    "atleast_2d": lambda x: torch.atleast_2d(x),
    "conj": lambda x: x.conj(),
    "resolve_conj": lambda x: x.resolve_conj(),
    "real": lambda x: torch.real(x),
    "positive": lambda x: +x,
}
OTHER = {
    "dropout in training": lambda x: functional.dropout(x, 0.5, True),
    "to another type": lambda x: x.to(torch.float64),
    "a copy": lambda x: x.to(torch.float32, copy=True),
    "a clone": lambda x: x.clone(),
    "contiguous again": lambda x: x.t().contiguous(),
    "flatten": lambda x: x.flatten(),
    "reshape": lambda x: x.reshape(3, 2),
}


class Passes(nn.Module):
    def __init__(self, operate):
        super().__init__()
        self.operate = operate

    def forward(self, x):
        return self.operate(x.exp()).sin()


@pytest.mark.parametrize("name", [*SAME, *(f"not {name}" for name in OTHER)])
def test_the_producer_is_the_same_in_a_file_and_a_run(name, tmp_path):
    is_same = not name.startswith("not ")
    operate = SAME[name] if is_same else OTHER[name.removeprefix("not ")]
    x = torch.randn(2, 3)
    assert (operate(x) is x) == is_same
    model = Passes(operate).eval()
    assert (("exp", "sin") in live(model, x, granularity="op")) == is_same
    assert (("exp", "sin") in filed(tmp_path, model, x, granularity="op")) == is_same


class Halves(nn.Module):
    """Two writers of one tensor, and readers of what each wrote."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x):
        out = torch.zeros(4, 6)
        out[self.first] = x.exp()[self.first]
        out[self.second] = x.log()[self.second]
        return out[self.first].sin(), out[self.second].cos(), out.tan()


ROWS = (slice(0, 2),), (slice(2, None),)
STEPS = (slice(None), slice(0, None, 2)), (slice(None), slice(1, None, 2))


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize(("first", "second"), [ROWS, STEPS], ids=["halves", "interleaved"])
def test_a_reader_of_a_part_has_no_edge_from_the_writer_of_another(first, second, inference):
    with torch.inference_mode(inference):
        found = live(Halves(first, second).eval(), torch.rand(4, 6), granularity="op")
    views = {}
    for source, target in found:
        if target in ("sin", "cos", "tan"):
            views[target] = source
    writers = {
        name: {source for source, target in found if target == views[name]}
        for name in ("sin", "cos")
    }
    assert {len(one) for one in writers.values()} == {1}
    assert writers["sin"] == {"copy_"} and writers["cos"] == {"copy_@1"}
    assert {source for source, target in found if target == "tan"} == {"copy_", "copy_@1"}


class Write(nn.Module):
    def __init__(self, place, is_turned=False):
        super().__init__()
        self.place, self.is_turned = place, is_turned

    def forward(self, out, x):
        (out.transpose(0, 1) if self.is_turned else out)[self.place] = x.sum()


class Read(nn.Module):
    def __init__(self, place, is_turned=False):
        super().__init__()
        self.place, self.is_turned = place, is_turned

    def forward(self, out):
        return (out.transpose(0, 1) if self.is_turned else out)[self.place].sin()


class Stirred(nn.Module):
    """Writes and reads of random parts of a tensor and of a transposed view of it."""

    def __init__(self, plan, shape):
        super().__init__()
        self.plan, self.shape = plan, shape
        self.writes = nn.ModuleList(Write(*place) for is_write, *place in plan if is_write)
        self.reads = nn.ModuleList(Read(*place) for is_write, *place in plan if not is_write)

    def forward(self, x):
        out = torch.zeros(self.shape)
        results, writes, reads = [], iter(self.writes), iter(self.reads)
        for is_write, *_ in self.plan:
            if is_write:
                next(writes)(out, x)
            else:
                results.append(next(reads)(out))
        return results


def random_slice(generator, size):
    step = generator.choice([1, 1, 2, 3])
    begin = generator.randrange(size)
    return slice(begin, generator.randint(begin + 1, size), step)


def random_plan(seed):
    """The operations, and the true producers of each read."""
    generator = random.Random(seed)
    shape = tuple(generator.randint(2, 7) for _ in range(generator.choice([2, 2, 3])))
    last, plan, wanted, writes = torch.full(shape, -1), [], set(), 0
    for _ in range(10):
        is_turned, is_write = generator.random() < 0.3, generator.random() < 0.6
        view = last.transpose(0, 1) if is_turned else last
        place = tuple(random_slice(generator, size) for size in view.shape)
        plan.append((is_write, place, is_turned))
        if is_write:
            view[place] = writes
            writes += 1
            continue
        reader = f"reads.{sum(not one[0] for one in plan) - 1}"
        sources = {"zeros" if one < 0 else f"writes.{one}" for one in view[place].unique().tolist()}
        wanted |= {(source, reader) for source in sources}
    return plan, shape, wanted


@pytest.mark.parametrize("seed", range(25))
def test_edges_of_random_writes_are_those_of_the_bytes(seed):
    plan, shape, wanted = random_plan(seed)
    found = live(Stirred(plan, shape).eval(), torch.ones(2))
    assert {pair for pair in found if pair[1].startswith("reads.")} == wanted


@pytest.mark.parametrize("seed", range(3))
def test_random_writes_of_a_file(seed, tmp_path):
    plan, shape, wanted = random_plan(seed)
    found = filed(tmp_path, Stirred(plan, shape).eval(), torch.ones(2))
    assert {pair for pair in found if pair[1].startswith("reads.")} == wanted


class Chunks(nn.Module):
    """A tensor that two blocks fill, and that is split between blocks."""

    def __init__(self):
        super().__init__()
        self.left, self.right = Write((slice(0, 2),)), Write((slice(2, 4),))
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        out = torch.empty(4, 3)
        self.left(out, x)
        self.right(out, x)
        low, high = out.chunk(2)
        return self.first(low), self.second(high)


def test_outputs_of_one_view_operator_are_told_apart_between_modules(tmp_path):
    wanted = {("left", "first"), ("right", "second")}
    into = {"first", "second"}
    found = live(Chunks().eval(), torch.ones(3), granularity="module")
    assert {pair for pair in found if pair[1] in into} == wanted
    found = filed(tmp_path, Chunks().eval(), torch.ones(3), granularity="module")
    assert {pair for pair in found if pair[1] in into} == wanted


def test_a_result_that_is_written_into_in_inference_mode():
    class Out(nn.Module):
        def forward(self, x):
            out = torch.empty(3)
            torch.add(x, 1, out=out)
            return out.sin()

    with torch.inference_mode():
        found = live(Out(), torch.randn(3), granularity="op")
    assert ("add", "sin") in found and ("empty", "sin") not in found


class ThroughNumpy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        array = self.first(x).detach().numpy() * 2
        return self.second(torch.from_numpy(array))


class ThroughAThread(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        x, results = self.first(x), []
        thread = threading.Thread(target=lambda: results.append(x.detach() * 2))
        thread.start()
        thread.join()
        return self.second(results[0])


def notes_of(model):
    prof = pyrometer.Profiler(model.eval(), granularity="layer", auto_profile=False)
    prof.profile_once(torch.randn(2, 4))
    assert "Note: " in str(prof.graph) or not prof.graph.notes
    return " | ".join(prof.graph.notes)


def test_data_that_leave_through_numpy_are_noted():
    before = dict(vars(torch.Tensor))
    notes = notes_of(ThroughNumpy())
    assert "data leave torch by Tensor.numpy (1 times, first the result of aten::linear in" in notes
    assert "1 tensors come from numpy or another library (first into aten::lift_fresh in" in notes
    assert dict(vars(torch.Tensor)) == before


def test_data_that_leave_through_another_thread_are_noted():
    notes = notes_of(ThroughAThread())
    assert "operators ran on other threads with tensors of this pass" in notes
    assert "of the result of aten::linear in first" in notes
    assert "1 tensors were made on other threads (first taken by aten::linear in second)" in notes


def test_data_that_stay_are_not_noted():
    assert notes_of(Branches()) == ""


def test_pictures(tmp_path):
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(400)))
    prof = pyrometer.Profiler(model.eval(), granularity="layer", auto_profile=False)
    prof.profile_once(torch.randn(2, 4))
    text = prof.graph.text("dot")
    assert "0 ... 399 (x400)" in text and "subgraph cluster_0" in text
    assert prof.graph.text("dot", depth=1).count("subgraph") == 400
    with pytest.raises(pyrometer.Error, match="coarser granularity"):
        prof.graph.text("svg", depth=1)
    if shutil.which("dot"):
        prof.graph.save(tmp_path / "x.svg", "svg")
        assert (tmp_path / "x.svg").read_text().count('class="node"') == 3
