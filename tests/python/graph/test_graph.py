"""Graphs of models that ran: their edges compared with torch.export's, and cleanup."""

import json
import os
import subprocess
import warnings
import xml.etree.ElementTree

import pytest

import pyrometer
from pyrometer._testing import session

torch = pytest.importorskip("torch")
graph_models = pytest.importorskip("graph_models")
nn, functional = torch.nn, torch.nn.functional
_pytree = torch.utils._pytree

pytestmark = pytest.mark.usefixtures("observer")

CASES = graph_models.cases()


def detail(model, *args, level="aten", **kwargs):
    prof = pyrometer.Profiler(model, auto_profile=False)
    prof.profile_detail(*args, level=level, **kwargs)
    return prof.detail_graph


def layers(model, *args, granularity="layer", **kwargs):
    prof = pyrometer.Profiler(model, granularity=granularity, auto_profile=False)
    prof.profile_once(*args, **kwargs)
    return prof.graph


def edges_of(graph):
    return {(edge.source.name, edge.target.name) for edge in graph.edges}


def exported(model, args, kwargs):
    """Ops that return tensors, in order, and their edges. Skips ops that pick an item out
    of several outputs or return their input."""
    ops, edges, number = [], set(), {}
    for node in torch.export.export(model, args, kwargs).graph.nodes:
        if node.op != "call_function":
            continue
        if node.target.__name__ == "getitem":
            number[node] = number[node.args[0]]
        elif any(isinstance(leaf, torch.Tensor) for leaf in _pytree.tree_leaves(node.meta["val"])):
            number[node] = len(ops)
            ops.append(".".join(str(node.target).split(".")[:2]))
            edges |= {
                (number[source], number[node])
                for source in node.all_input_nodes
                if source in number
            }
            if node.target is torch.ops.aten.dropout.default and not node.args[2]:
                number[node] = number[node.args[0]]
    return ops, edges


@pytest.mark.parametrize("name", CASES)
def test_edges_are_those_of_torch_export(name):
    model, args, kwargs = CASES[name]
    model.eval()
    with torch.no_grad():
        graph = detail(model, *args, **kwargs)
        ops, edges = exported(model, args, kwargs)
    ours = [node for node in graph if node.kind == "op"]
    first = ours[0].id
    assert [node.type for node in ours] == ops
    assert {
        (edge.source.id - first, edge.target.id - first)
        for edge in graph.edges
        if edge.source.kind == "op"
    } == edges


@pytest.mark.parametrize("name", CASES)
def test_a_file_and_a_run_have_the_same_graph(name, tmp_path):
    model, args, kwargs = CASES[name]
    model.eval()
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(model, args, kwargs), path)
    with torch.no_grad():
        live = detail(model, *args, **kwargs)
    tool = os.environ.get("PYRO_TOOL")
    if not tool:
        pytest.skip("PYRO_TOOL is not set")
    done = subprocess.run(
        [tool, "graph", path, "-g", "op", "--format", "json"], capture_output=True, check=True
    )
    data = json.loads(done.stdout)
    nodes = [row for row in data["nodes"] if row["kind"] == "op"]
    ours = [node for node in live if node.kind == "op"]
    assert [(row["name"], row["type"]) for row in nodes] == [(one.name, one.type) for one in ours]
    assert [row["parameters"] for row in nodes] == [one.parameters for one in ours]
    assert [row["flops"] for row in nodes] == [one.flops for one in ours]
    names = [row["name"] for row in data["nodes"]]
    filed = {(names[row["from"]], names[row["to"]]) for row in data["edges"]}
    inputs = {one.name for one in live if one.kind == "input"}
    assert {pair for pair in filed if pair[0] in {one.name for one in ours}} == {
        pair for pair in edges_of(live) if pair[0] not in inputs
    }


def hooks(model):
    return {
        name: {key: dict(value) for key, value in vars(module).items() if key.endswith("_hooks")}
        for name, module in model.named_modules()
    }


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_behind(name):
    model, args, kwargs = CASES[name]
    model.eval()
    functions = dict(vars(functional))
    with torch.no_grad():
        wanted, before = model(*args, **kwargs), hooks(model)
        prof = pyrometer.Profiler(model, auto_profile=False)
        profiled = prof.profile_once(*args, **kwargs)
        prof.profile_detail(*args, **kwargs)
        after = prof(*args, **kwargs)
    for one in (profiled, after):
        for got, want in zip(_pytree.tree_leaves(one), _pytree.tree_leaves(wanted), strict=True):
            assert torch.equal(got, want)
    assert hooks(model) == before
    assert dict(vars(functional)) == functions
    assert session.settings is None


class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x, fail=True):
        x = self.layer(x)
        if fail:
            raise LookupError("inside", 7)
        return x


@pytest.mark.parametrize("method", ["__call__", "profile_once", "profile_detail"])
def test_exceptions_pass_through(method):
    model = Raises()
    before, functions = hooks(model), dict(vars(functional))
    prof = pyrometer.Profiler(model)
    with pytest.raises(LookupError) as caught:
        getattr(prof, method)(torch.randn(1, 2))
    assert caught.value.args == ("inside", 7)
    assert prof.graph is None and prof.detail_graph is None
    assert hooks(model) == before and dict(vars(functional)) == functions
    assert session.settings is None
    prof.profile_once(torch.randn(1, 2), fail=False)
    assert [node.name for node in prof.graph] == ["x", "layer"]


class Aliases(nn.Module):
    """Writes through a view, into a part, and reads what was not written."""

    def forward(self, x):
        base = x * 2
        view = base.view(-1)
        view.add_(1)
        whole = base.exp()
        base[0] = 3
        untouched = base[1].sin()
        return whole, untouched, base.cos()


@pytest.mark.parametrize("inference", [False, True])
def test_writes_are_seen_through_views(inference):
    with torch.inference_mode(inference):
        found = edges_of(detail(Aliases().eval(), torch.randn(2, 4)))
    assert found == {
        ("x", "mul"),
        ("mul", "view"),
        ("view", "add_"),
        ("add_", "exp"),
        ("add_", "select"),
        ("select", "fill_"),
        ("lift_fresh", "fill_"),  # the number is no input
        ("add_", "select@1"),
        ("select@1", "sin"),  # of the part that was not filled
        ("fill_", "cos"),
        ("add_", "cos"),
    }


class Keeps(nn.Module):
    """Keeps a tensor between passes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.kept = None

    def forward(self, x):
        x = self.layer(x)
        if self.kept is not None:
            x = x + self.kept
        self.kept = x.relu()
        return self.kept


def test_tensors_of_an_earlier_pass_are_inputs():
    prof = pyrometer.Profiler(Keeps().eval(), granularity="layer", auto_profile=False)
    with torch.no_grad():
        prof.profile_once(torch.randn(2, 3))
        assert edges_of(prof.graph) == {("x", "layer"), ("layer", "relu")}
        prof.profile_once(torch.randn(2, 3))
    assert edges_of(prof.graph) == {
        ("x", "layer"),
        ("layer", "add"),
        ("input", "add"),
        ("add", "relu"),
    }


class Parts(nn.Module):
    """A dataclass, a tuple and a dict between modules."""

    def __init__(self):
        super().__init__()
        self.first = graph_models.DictModel()
        self.second = nn.Linear(2, 4)
        self.gru = nn.GRU(4, 4, batch_first=True)

    def forward(self, inputs):
        heads = self.first(inputs)
        result = graph_models.Result(self.second(heads["a"]), heads["b"])
        out, state = self.gru(result.logits.unsqueeze(0))
        return graph_models.Result(out[:, -1] + state[0], result.hidden)


def test_outputs_of_every_form():
    inputs = {"left": torch.randn(3, 4), "right": torch.randn(3, 6)}
    found = edges_of(layers(Parts().eval(), inputs))
    assert found == {
        ("inputs.left", "first.left"),
        ("inputs.right", "first.right"),
        ("first.left", "first.norm"),
        ("first.norm", "first/cat"),
        ("first.right", "first/cat"),
        ("first/cat", "first.heads.a"),
        ("first/cat", "first.heads.b"),
        ("first.heads.a", "second"),
        ("second", "unsqueeze"),
        ("unsqueeze", "gru"),
        ("gru", "select"),
        ("gru", "select@1"),
        ("select", "add"),
        ("select@1", "add"),
    }


def test_granularities():
    model, args, _ = CASES["resnet18"]
    model.eval()
    blocks = layers(model, *args, granularity="module")
    assert [node.name for node in blocks][:6] == [
        "x", "conv1", "bn1", "relu", "maxpool", "layer1.0"
    ]  # fmt: skip
    assert [node.name for node in blocks][-3:] == ["layer4.1", "avgpool", "fc"]
    assert ("avgpool", "fc") in edges_of(blocks)  # flatten is no node
    leaves = layers(model, *args)
    assert ("bn1", "relu") in edges_of(leaves)
    assert ("maxpool", "layer1.0/add") not in edges_of(leaves)
    assert ("maxpool", "layer1.0/add_") in edges_of(leaves)
    total = sum(parameter.numel() for parameter in model.parameters())
    for graph in (blocks, leaves):
        assert sum(node.parameters for node in graph) == total
    unet, args, _ = CASES["unet"]
    names = [node.name for node in layers(unet.eval(), *args, granularity="module")]
    assert [name for name in names if not name.startswith("inc.")] == [
        "x", "down1", "down2", "up1", "up2", "outc"
    ]  # fmt: skip
    transformer, args, _ = CASES["transformer"]
    graph = layers(transformer.eval(), *args, granularity="module")
    assert [node.name for node in graph] == [
        "ids", "tokens", "drop", "blocks.0", "blocks.1", "blocks.2", "norm", "head"
    ]  # fmt: skip
    by_name = {node.name: node for node in graph}
    assert by_name["head"].parameters == 0  # its weight is the token embedding
    assert by_name["tokens"].parameters == 50 * 32


def test_a_function_stands_for_its_operators():
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(1, 5, 8)
    high, aten = detail(model, x, x, x, level="high"), detail(model, x, x, x)
    assert [node.type for node in high if node.kind == "op"] != [
        node.type for node in aten if node.kind == "op"
    ]
    (whole,) = (node for node in high if node.type.startswith("torch.nn.functional."))
    assert whole.type == "torch.nn.functional.multi_head_attention_forward"
    assert whole.operators > 5
    assert sum(node.parameters for node in high) == sum(one.numel() for one in model.parameters())


def test_ops_without_a_tensor_are_left_out():
    class Asks(nn.Module):
        def forward(self, x):
            return x * x.sum().item() if x.dim() == 2 else x

    assert [node.name for node in detail(Asks(), torch.randn(2, 2))] == ["x", "sum", "mul"]


def test_many_passes():
    model = graph_models.Reused().eval()
    prof = pyrometer.Profiler(model, granularity="layer", auto_profile=False, capture_ops=True)
    prof.profile_passes(torch.randn(2, 8) for _ in range(9))
    assert {node.passes for node in prof.graph if node.kind != "input"} == {9}
    assert {node.p95_ns for node in prof.graph} == {
        None
    }  # 9 passes are too few for a 95th percentile
    prof.profile_passes(torch.randn(2, 8) for _ in range(20))
    assert all(node.median_ns <= node.p95_ns for node in prof.graph if node.kind != "input")
    prof.profile_passes(torch.randn(2, 8) for _ in range(9))
    assert {node.passes for node in prof.detail_graph if node.kind == "op"} == {9}
    prof.capture_ops = False
    prof.profile_passes([(torch.randn(2, 8),), {"x": torch.randn(2, 8)}])
    passes = {node.name: node.passes for node in prof.graph if node.kind != "input"}
    assert passes["cell"] == passes["act@1"] == 2
    assert passes["mul"] == 1  # operators are recorded in the first pass only


def test_files(tmp_path):
    model, args, kwargs = CASES["transformer"]
    prof = pyrometer.Profiler(model.eval(), auto_profile=False)
    base = tmp_path / "base"
    with pytest.raises(pyrometer.Error, match="profile_once"):
        prof.export(base)
    prof.profile_once(*args, **kwargs)
    assert prof.export(base) == [f"{base}_module.txt"]
    first = (tmp_path / "base_module.txt").read_text()
    assert "Edges (" in first and "Stats:" in first and "blocks.1" in first
    prof.profile_detail(*args, **kwargs)
    written = prof.export(base, module_include_edges=False, include_stats=False)
    assert written == [f"{base}_detail.txt"]  # the module file is kept
    assert (tmp_path / "base_module.txt").read_text() == first
    assert "Stats:" not in (tmp_path / "base_detail.txt").read_text()
    prof.export(base, module_include_edges=False, include_stats=False, overwrite_module=True)
    assert "Edges (" not in (tmp_path / "base_module.txt").read_text()
    prof.export(base, format="json")
    data = json.loads((tmp_path / "base_detail.json").read_text())
    assert data["schema"] == "pyrometer.graph/1" and data["stats"]["passes"] == 1
    prof.export(base, format="graphml")
    tree = xml.etree.ElementTree.parse(tmp_path / "base_module.graphml")
    space = "{http://graphml.graphdrawing.org/xmlns}"
    assert len(tree.findall(f".//{space}node")) == len(prof.graph)
    assert len(tree.findall(f".//{space}edge")) == len(prof.graph.edges)
    prof.export(base, format="dot")
    assert (tmp_path / "base_module.dot").read_text().startswith('digraph "Transformer" {')
    with pytest.raises(ValueError, match="valid: text"):
        prof.export(base, format="png")
    assert not list(tmp_path.glob(".*"))


def test_a_file_that_cannot_be_written(tmp_path):
    prof = pyrometer.Profiler(graph_models.Reused(), auto_profile=False)
    prof.profile_once(torch.randn(2, 8))
    with pytest.raises(FileNotFoundError):
        prof.export(tmp_path / "nowhere" / "base")


def test_stats(capsys):
    model, args, _ = CASES["resnet18"]
    stats = layers(model.eval(), *args, granularity="module").stats()
    printed = capsys.readouterr().out
    assert printed.startswith("Stats:\n") and f"{stats['parameters']}" in printed
    assert stats["nodes"] == 15 and stats["edges"] == 14 and stats["inputs"] == 1
    assert stats["parameters"] == sum(one.numel() for one in model.parameters())
    assert 0 < stats["node_total_ns"] <= stats["pass_median_ns"]


def test_cuts():
    model, args, _ = CASES["transformer"]
    prof = pyrometer.Profiler(model.eval(), auto_profile=False, capture_ops=True)
    prof.profile_passes([args] * 5)
    graph = prof.graph
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = graph.cuts(3)
    assert split["warnings"] == []
    assert split["amount"] == "ns" and len(split["parts"]) == 3
    ends = [(part["first"], part["last"]) for part in split["parts"]]
    assert ends[0][0] == 1 and ends[-1][1] == len(graph) - 1
    assert all(ends[i][1] + 1 == ends[i + 1][0] for i in range(2))
    cut = {one["after"]: one for one in split["cuts"]}
    blocks = [node.id for node in graph if node.name.startswith("blocks.")]
    assert cut[blocks[0]]["bytes"] == 2 * 12 * 32 * 4
    with pytest.raises(ValueError, match="alone needs"):
        graph.cuts(3, memory_limit=1000)


def test_a_recording_and_the_tool(tmp_path):
    tool = os.environ.get("PYRO_TOOL")
    if not tool:
        pytest.skip("PYRO_TOOL is not set")
    model, args, kwargs = CASES["unet"]
    path = tmp_path / "run.pyro"
    with torch.no_grad(), pyrometer.capture(path, storages=True) as captured:
        model.eval()(*args, **kwargs)
        model(*args, **kwargs)
    graph = captured.graph("layer")
    assert {node.passes for node in graph if node.kind != "input"} == {2}
    done = subprocess.run(
        [tool, "graph", path, "-g", "layer", "--format", "json", "--cuts", "2"],
        capture_output=True,
        check=True,
    )
    data = json.loads(done.stdout)
    assert [row["name"] for row in data["nodes"]] == [node.name for node in graph]
    assert len(data["edges"]) == len(graph.edges) and len(data["parts"]) == 2
    with pyrometer.capture(tmp_path / "plain.pyro"):
        model(*args, **kwargs)
    done = subprocess.run([tool, "graph", tmp_path / "plain.pyro"], capture_output=True, text=True)
    assert done.returncode == 2 and "storages=True" in done.stderr


def test_only_one_recording_at_a_time():
    model = graph_models.Reused()
    prof = pyrometer.Profiler(model)
    with pyrometer.capture(storages=True):
        with pytest.raises(pyrometer.Error, match="already running"):
            prof.profile_once(torch.randn(2, 8))
        prof(torch.randn(2, 8))  # the model runs, without a graph
    assert prof.graph is None
