"""Models by name: the list, registered models, and pricing them without Python."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn

import pyrometer

TOOL = os.environ.get("PYRO_TOOL", "build/pyrometer")


class Net(nn.Module):
    """Two separate layers, over images of any size."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1)
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.conv(x).mean((2, 3)))


class Branching(Net):
    """Cannot be traced: its control flow depends on values."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        if y.sum() > 0:  # the line that breaks
            y = y * 2
        return self.head(y.mean((2, 3)))


class Tied(nn.Module):
    """An embedding that is also the last layer, as in language models."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.out = nn.Linear(16, 100, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.embed(tokens))


def branching() -> nn.Module:
    return Branching()


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """An empty, temporary registry."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "pyrometer" / "models"


def tool(*arguments: str) -> subprocess.CompletedProcess:
    """Runs the tool without Python in PATH."""
    environment = {"XDG_DATA_HOME": os.environ["XDG_DATA_HOME"], "PATH": "/nonexistent"}
    return subprocess.run(
        [os.path.abspath(TOOL), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def macs_of_net(batch: int, height: int, width: int, channels: int = 8) -> int:
    return batch * height * width * channels * 27 + batch * channels * 10


def test_setting_a_name_stores_a_model_that_needs_no_python():
    pyrometer.MODEL_REGISTRY["my_model"] = lambda: Net()
    assert pyrometer.cost("my_model").total_macs == macs_of_net(1, 224, 224)
    run = tool("cost", "My-Model", "--input-shape", "4,3,64,80", "--format", "json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["total_macs"] == macs_of_net(4, 64, 80)
    entry = pyrometer.MODEL_REGISTRY["my_model"]
    assert entry.own
    assert entry.macs == macs_of_net(1, 224, 224)
    assert entry(batch=3).total_macs == macs_of_net(3, 224, 224)
    assert {dim["what"] for dim in entry.dims} == {"batch", "height", "width"}


def test_the_registry_is_a_mapping():
    registry = pyrometer.MODEL_REGISTRY
    before = len(registry)
    assert before >= 100
    assert "resnet50" in registry and "ResNet-50" in registry and "no_such" not in registry
    assert 3 not in registry
    registry["mine"] = Net
    assert len(registry) == before + 1
    assert "mine" in list(registry)
    registry["mine"] = lambda: Net(16)
    assert registry["mine"].params == 3 * 16 * 9 + 16 + 16 * 10 + 10
    del registry["mine"]
    assert "mine" not in registry
    with pytest.raises(KeyError):
        registry["mine"]
    with pytest.raises(KeyError):
        del registry["mine"]


def test_a_built_in_model_is_not_replaced_by_accident():
    with pytest.raises(ValueError, match="built-in model"):
        pyrometer.MODEL_REGISTRY["resnet-18"] = Net
    with pytest.raises(TypeError, match="cannot be removed"):
        del pyrometer.MODEL_REGISTRY["resnet18"]
    pyrometer.register("resnet18", Net, force=True)
    assert pyrometer.cost("resnet18").total_macs == macs_of_net(1, 224, 224)
    assert pyrometer.MODEL_REGISTRY["resnet18"].hides_builtin
    del pyrometer.MODEL_REGISTRY["resnet18"]
    assert pyrometer.cost("resnet18").total_macs == 1_814_073_344


@pytest.mark.parametrize("name", ["../x", "", "a b", ".hidden", "x.pt2", "a,b", "é"])
def test_names_that_are_none(name, own_folder):
    with pytest.raises(ValueError, match="not a valid model name"):
        pyrometer.register(name, Net)
    assert not own_folder.exists()


def test_tied_weights_are_counted_once():
    pyrometer.register("tied", Tied, input_shape=(1, 12))
    cost = pyrometer.cost("tied", seq=40)
    assert cost.params == 1600
    assert cost.total_macs == 40 * 16 * 100


def test_several_inputs():
    class Two(nn.Module):
        def forward(self, a, b):
            return a @ b

    pyrometer.register("two", Two, inputs=(torch.zeros(4, 8), torch.zeros(8, 16)))
    assert pyrometer.cost("two").total_macs == 4 * 8 * 16
    pyrometer.register("pair", lambda: (Two(), (torch.zeros(2, 3), torch.zeros(3, 5))))
    assert pyrometer.cost("pair").total_macs == 2 * 3 * 5


def test_nothing_private_is_stored(own_folder):
    pyrometer.register("mine", Net)
    data = (own_folder / "mine.pt2").read_bytes()
    import zipfile

    with zipfile.ZipFile(own_folder / "mine.pt2") as archive:
        program = archive.read("models/mine.json")
    assert b"stack_trace" not in program and b".py" not in program
    assert len(data) < 4096


def test_what_cannot_be_traced_names_its_line():
    line = next(
        number
        for number, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1)
        if text.endswith("# the line that breaks")
    )
    with pytest.raises(pyrometer.Error, match=rf"test_registry\.py:{line} \(if y\.sum\(\) > 0"):
        pyrometer.register("branching", branching)
    assert "branching" not in pyrometer.MODEL_REGISTRY
    with pytest.raises(TypeError, match="int was returned"):
        pyrometer.register("three", lambda: 3)
    with pytest.raises(TypeError, match="a function"):
        pyrometer.register("module", 3)
    with pytest.raises(pyrometer.Error, match="failed in its forward"):
        pyrometer.register("wrong_input", Net, input_shape=(1, 4, 8, 8))


def test_without_torch(tmp_path):
    script = textwrap.dedent(
        """
        import importlib.util
        real = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: (
            None if name == "torch" else real(name, *rest)
        )
        import pyrometer
        assert pyrometer.cost("resnet18").total_macs == 1814073344
        try:
            pyrometer.MODEL_REGISTRY["x"] = lambda: None
        except ModuleNotFoundError as error:
            print(error)
        """
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install torch" in run.stdout


def test_listing():
    names = [model.name for model in pyrometer.models("resnet*")]
    assert {"resnet18", "resnet50", "resnet152"} <= set(names)
    assert names == sorted(names)
    by_params = pyrometer.models("resnet", sort="params")
    assert [m.params for m in by_params] == sorted((m.params for m in by_params), reverse=True)
    resnet = pyrometer.models("resnet18")[-1]
    assert resnet.source["package"] == "torchvision" and resnet.params_source
    assert resnet.published_params == resnet.params == 11_689_512
    assert pyrometer.models("no such model") == []
    with pytest.raises(ValueError, match="sort"):
        pyrometer.models(sort="size")


def test_the_tool_adds_and_checks_a_file_of_python(tmp_path, warm_python):
    (tmp_path / "net.py").write_text(
        textwrap.dedent(
            """
            import torch

            print("what a file prints is not in the way")


            def build():
                return torch.nn.Sequential(
                    torch.nn.Conv2d(3, 8, 3, padding=1),
                    torch.nn.AdaptiveAvgPool2d(1),
                    torch.nn.Flatten(),
                    torch.nn.Linear(8, 10),
                )


            def raises():
                raise RuntimeError("no configuration")
            """
        )
    )

    def run(*arguments: str, python: str = warm_python) -> subprocess.CompletedProcess:
        command = [os.path.abspath(TOOL), "models", *arguments, "--python", python]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    checked = run("check", "net.py:build", "--format", "json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["traceable"] is True
    broken = run("check", "net.py:raises", "--format", "json")
    assert broken.returncode == 1
    error = json.loads(broken.stdout)["error"]
    assert (pathlib.Path(error["file"]).name, error["line"]) == ("net.py", 17)
    assert run("check", "net.py:nothing").returncode == 2
    added = run(
        "add", "from_file", "net.py:build", "--input-shape", "2,3,32,48", python=sys.executable
    )
    assert added.returncode == 0, added.stderr
    priced = tool("cost", "from_file", "--format", "json")
    assert json.loads(priced.stdout)["total_macs"] == macs_of_net(2, 32, 48)
