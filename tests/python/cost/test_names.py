"""All commands name models the same way; errors of exporting say where, why and what to do."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
from torch import nn

import pyrometer

TOOL = str(pathlib.Path(os.environ.get("PYRO_TOOL", "build/pyrometer")).resolve())

SOURCE = """
import torch
from torch import nn
from torch.nn.attention.flex_attention import flex_attention


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(x)


class Branching(Net):
    def forward(self, x):
        y = self.fc(x)
        if y.sum() > 0:  # branches
            y = y * 2
        return y


class Raising(Net):
    def forward(self, x):
        raise KeyError("no such head")  # raises


class Flexible(nn.Module):
    def forward(self, q):
        return flex_attention(q, q, q)  # flexes


class Masked(Net):
    def forward(self, x, mask):  # takes a mask
        return self.fc(x) * mask


@torch.library.custom_op("names::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class Custom(Net):
    def forward(self, x):
        return twice(self.fc(x))


def build():
    return Net(), (torch.zeros(2, 8),)


def plain():
    return Net()


def branching():
    return Branching(), (torch.zeros(2, 8),)


def custom():
    return Custom(), (torch.zeros(2, 8),)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("names")
    (made / "names_net.py").write_text(SOURCE)
    return made


@pytest.fixture(scope="module")
def code(folder):
    sys.path.insert(0, str(folder))
    import names_net

    yield names_net
    sys.path.remove(str(folder))


def line_of(mark):
    lines = SOURCE.splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {mark}"))


def run(folder, *arguments, python=sys.executable):
    command = [TOOL, *(str(argument) for argument in arguments)]
    if arguments[0] != "bench":
        command += ["--python", python]
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_cost_of_a_function(folder, monkeypatch):
    arguments = ("cost", "names_net.py:build", "--batch", 16, "--format", "json")
    finished = run(folder, *arguments)
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["total_macs"] == 16 * 8 * 4
    monkeypatch.chdir(folder)
    for spec in ("names_net.py:build", "names_net:build", "names_net.py:plain"):
        assert pyrometer.cost(spec, batch=16).total_macs == 16 * 8 * 4


def test_graph_takes_a_function(folder, warm_python):
    finished = run(folder, "graph", "names_net.py:build", "--format", "json", python=warm_python)
    assert finished.returncode == 0, finished.stderr
    assert any("fc" in node["name"] for node in json.loads(finished.stdout)["nodes"])


def test_check_of_a_file_runs_it(folder, code, warm_python):
    program = torch.export.export(*code.build(), dynamic_shapes=({0: torch.export.Dim("b")},))
    torch.export.save(program, folder / "net.pt2")
    finished = run(
        folder, "check", "net.pt2", "--against", "torch", "--format", "json", python=warm_python
    )
    row = json.loads(finished.stdout)["rows"][0]
    assert (row["error"], row["accuracy"], finished.returncode) == (None, 1, 0), finished.stderr
    assert row["our_flops"] == row["their_flops"] == 2 * 2 * 8 * 4


def test_check_of_unpriced_operators_claims_no_accuracy(folder, warm_python):
    finished = run(folder, "check", "names_net.py:custom", "--against", "torch", python=warm_python)
    assert finished.returncode == 2
    assert "100" not in finished.stdout.split("Where")[0]
    assert "incomplete" in finished.stdout and "names.twice x1" in finished.stdout


def test_cost_of_a_folder_with_a_configuration(folder, warm_python):
    config = {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 32,
        "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
        "vocab_size": 100,
    }  # fmt: skip
    (folder / "bert").mkdir()
    (folder / "bert" / "config.json").write_text(json.dumps(config))
    finished = run(folder, "cost", "bert", "--seq", 64, "--format", "json", python=warm_python)
    assert finished.returncode == 0, finished.stderr
    priced = json.loads(finished.stdout)
    assert priced["inputs"][0]["shape"] == [1, 64]
    # Four projections and two linear layers of each token, attention, and the pooler.
    layer = 64 * (4 * 32 * 32 + 2 * 32 * 64) + 2 * 64 * 64 * 32
    assert priced["total_macs"] == layer + 32 * 32


def test_function_that_breaks_is_one_line_of_the_tool(folder, warm_python):
    finished = run(folder, "diff", "resnet18", "names_net.py:branching", python=warm_python)
    assert finished.returncode == 2
    assert f"names_net.py:{line_of('branches')}" in finished.stderr
    assert "torch.cond" in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "inputs", "mark", "remedy"),
    [
        ("Branching", torch.zeros(2, 8), "branches", "torch.cond"),
        ("Raising", torch.zeros(2, 8), "raises", "runs with these inputs"),
        ("Flexible", torch.zeros(1, 2, 16, 8), "flexes", "scaled_dot_product_attention"),
        ("Masked", torch.zeros(2, 8), "takes a mask", r"forward\(x, mask\)"),
    ],
)
def test_what_cannot_be_exported_names_file_line_and_remedy(
    code, capfd, kind, inputs, mark, remedy
):
    with pytest.raises(
        pyrometer.Error, match=rf"names_net\.py:{line_of(mark)} .*{remedy}"
    ) as raised:
        pyrometer.cost(getattr(code, kind)(), inputs)
    assert raised.value.code == "export"
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 1500
    assert "".join(capfd.readouterr()) == ""


def test_wrong_shape_is_an_error_with_a_remedy(code, capfd):
    with pytest.raises(pyrometer.Error, match=r"names_net\.py:\d+ .*wrong shape, change it"):
        pyrometer.cost(code.Net(), torch.zeros(2, 9))
    assert "".join(capfd.readouterr()) == ""


def test_what_a_model_prints_is_still_printed(capsys):
    class Talking(nn.Module):
        def forward(self, x):
            print("hello")
            return x * 2

    pyrometer.cost(Talking(), torch.zeros(2))
    assert "hello" in capsys.readouterr().out


def test_bench_takes_names_as_cost_does(folder):
    finished = run(folder, "bench", "--model-path", "resnet5")
    assert finished.returncode == 2 and "did you mean resnet50" in finished.stderr
    from pyrometer._testing import engines

    engine = engines.load("microsoft/resnet-18", "cpu", "fp32")
    assert engine.name == "resnet18"
    assert [list(tensor.shape) for _, tensor in engine.make_inputs(2).tensors()] == [
        [2, 3, 224, 224]
    ]


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("resnet18", "resnet18"), ("mobilenetv3_small_100", "mobilenet_v3_small"),
        ("regnetx_008", "regnet_x_800mf"), ("vit_tiny_patch16_224", "vit_tiny_16"),
        ("tf_efficientnet_b0", "efficientnet_b0"), ("ghostnet_100", "ghostnet_1_0"),
    ],
)  # fmt: skip
def test_aliases_of_timm_have_as_many_parameters(name, builtin):
    timm = pytest.importorskip("timm")
    with torch.device("meta"):
        module = timm.create_model(name)
    model = pyrometer.MODEL_REGISTRY[f"timm/{name}.a1_in1k"]
    assert model.name == builtin
    assert sum(parameter.numel() for parameter in module.parameters()) == model.params


def test_unknown_ids_say_so():
    with pytest.raises(FileNotFoundError, match=r"not downloaded; nearest of family llama"):
        pyrometer.cost("meta-llama/Llama-9-Scout-17B-16E")
    with pytest.raises(KeyError):
        pyrometer.MODEL_REGISTRY["nobody/nothing"]
