"""Fused groups: what they contain, and that a model that runs group by group gives its results."""

import json

import pytest

torch = pytest.importorskip("torch")
pyrometer = pytest.importorskip("pyrometer")
nn = torch.nn
F = nn.functional


class Block(nn.Module):
    """Convolution, batch norm, residual; two readers of one value."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + x), y.mean()


class Attention(nn.Module):
    """Projections of one input, attention written out, a norm, and shifted reads."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(32, 32) for _ in range(3))
        self.out, self.norm = nn.Linear(32, 32), nn.LayerNorm(32)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        half = torch.cat((-q[..., 16:], q[..., :16]), -1)
        q = q * 0.5 + half * 0.3
        scores = (q @ k.transpose(-1, -2)) / 32**0.5
        y = self.norm(x + self.out(scores.softmax(-1) @ v))
        return F.gelu(y) * 2 + 1


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
                                     for _ in range(4))  # fmt: skip

    def forward(self, x):
        parts = x.chunk(4)
        return torch.cat([one(part) for one, part in zip(self.experts, parts, strict=True)])


class Norms(nn.Module):
    """An RMS norm written out, softmax, and a value that escapes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(24))

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        z = y.exp()
        return z.softmax(-1) + y, z


MODELS = [(Block, (2, 8, 6, 6)), (Attention, (2, 5, 32)), (Experts, (8, 16)), (Norms, (3, 24))]


def run_by_groups(program, groups, inputs):
    """Runs every group as a whole, once all that its members read from other groups is there."""
    module = program.module()
    nodes = {node.name: node for node in module.graph.nodes}
    of_node = {one["name"]: number for number, group in enumerate(groups)
               for one in group["members"]}  # fmt: skip
    tasks = {}
    for node in module.graph.nodes:
        tasks.setdefault(of_node.get(node.name, node.name), []).append(node)
    values, waiting = {}, dict(tasks)
    interpreter = torch.fx.Interpreter(module)
    interpreter.args_iter = iter(inputs)
    interpreter.env = values
    while waiting:
        ready = [key for key, members in waiting.items()
                 if all(read in values or read in members
                        for one in members for read in one.all_input_nodes)]  # fmt: skip
        assert ready, "the groups wait for each other"
        for node in waiting.pop(ready[0]):
            values[node] = interpreter.run_node(node)
    assert nodes
    return values[next(node for node in module.graph.nodes if node.op == "output")]


@pytest.mark.parametrize("strategy", ["none", "vertical", "horizontal", "max"])
@pytest.mark.parametrize("kind, shape", MODELS, ids=lambda one: getattr(one, "__name__", ""))
def test_results_stay(kind, shape, strategy):
    torch.manual_seed(1)
    model, x = kind().eval(), torch.randn(*shape)
    program = torch.export.export(model, (x,))
    fusion = pyrometer.fuse(program, strategy=strategy)
    found = run_by_groups(program, fusion.groups, (x,))
    expected = model(x)
    for one, other in zip(torch.utils._pytree.tree_leaves(found),
                          torch.utils._pytree.tree_leaves(expected), strict=True):  # fmt: skip
        assert torch.allclose(one, other, atol=1e-5)
    names = [one["name"] for group in fusion.groups for one in group["members"]]
    assert len(names) == len(set(names)) == fusion.before["kernels"]
    assert fusion.after["kernels"] == len(fusion.groups)
    assert fusion.after["bytes"] <= fusion.before["bytes"]
    assert fusion.after["flops"] == fusion.before["flops"]
    if strategy == "none":
        assert fusion.after == fusion.before


def kinds(model, x, strategy="max"):
    found = {}
    for group in pyrometer.fuse(model.eval(), x, strategy=strategy).groups:
        found.setdefault(group["kind"], []).append([one["type"] for one in group["members"]])
    return found


def test_convolutions():
    found = kinds(Block(), torch.randn(2, 8, 6, 6), "vertical")
    assert ["Conv2D", "BatchNorm", "Add", "ReLU"] in found["convolution"]
    # The first activation has two readers, so its group ends there, and it is written.
    assert ["Conv2D", "BatchNorm", "ReLU"] in found["convolution"]
    assert found["single"] == [["Mean"]]


def test_attention():
    found = kinds(Attention(), torch.randn(2, 5, 32))
    [attention] = found["attention"]
    assert attention[0] == attention[-1] == "MatMul" and "Softmax" in attention
    assert found["projections"] == [["Linear", "Linear", "Linear"]]  # rotation reads other places
    norms = [one for one in found["norm"] if "LayerNorm" in one]
    assert norms == [["LayerNorm", "GELU", "Mul", "Add"]]


def test_experts():
    found = kinds(Experts(), torch.randn(8, 16), "horizontal")
    assert found["parallel"] == [["Linear"] * 4, ["Linear"] * 4]
    assert kinds(Experts(), torch.randn(8, 16), "vertical")["product"] == [["Linear", "SiLU"]] * 4


def test_projections_as_one_product():
    """Expressed in torch: one product with all weights gives the three results."""
    model, x = Attention().eval(), torch.randn(2, 5, 32)
    weight = torch.cat([one.weight for one in (model.q, model.k, model.v)])
    bias = torch.cat([one.bias for one in (model.q, model.k, model.v)])
    parts = F.linear(x, weight, bias).chunk(3, -1)
    for part, one in zip(parts, (model.q, model.k, model.v), strict=True):
        assert torch.allclose(part, one(x), atol=1e-5)


def test_folded_batch_norm():
    """Expressed in torch: the folded convolution gives what convolution and batch norm give."""
    block, x = Block().eval(), torch.randn(2, 8, 6, 6)
    block.bn1.running_mean.uniform_(-1, 1)
    block.bn1.running_var.uniform_(0.5, 2)
    folded = torch.nn.utils.fusion.fuse_conv_bn_eval(block.conv1, block.bn1)
    assert torch.allclose(folded(x), block.bn1(block.conv1(x)), atol=1e-5)


def test_batch_statistics_are_not_folded():
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).train()
    groups = pyrometer.fuse(model, torch.randn(2, 3, 4, 4)).groups
    assert all("Conv2D" not in [one["type"] for one in group["members"]]
               or len(group["members"]) == 1 for group in groups)  # fmt: skip


def test_python_object():
    fusion = pyrometer.fuse("resnet50")
    assert fusion.before["kernels"] > 2 * fusion.after["kernels"]
    assert "Fusion of resnet50" in str(fusion) and "kernels" in repr(fusion)
    assert json.loads(json.dumps(fusion.to_dict()))["schema"] == "pyrometer.fuse/1"
    assert pyrometer.fuse("resnet50", batch=8).before["bytes"] > fusion.before["bytes"]
    with pytest.raises(ValueError, match="unknown strategy"):
        pyrometer.fuse("resnet50", strategy="all")
