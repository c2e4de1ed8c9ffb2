"""pyrometer run, python and doctor: the program behaves as usual and is recorded."""

import json
import os
import pathlib
import struct
import subprocess
import sys

import pytest
import torch
from page_data import read_parts

import pyrometer

ROOT = pathlib.Path(__file__).parents[3]
TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build/pyrometer"))
EXAMPLE = ROOT / "examples/model_profiling_example.py"

# The programs must find the tests' own packages too.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(
        [str(pathlib.Path(pyrometer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    ),
    "OMP_NUM_THREADS": "1",
}
for name in ("PYROMETER", "CHISEL_BACKEND_RUN"):
    ENVIRONMENT.pop(name, None)


def run(*arguments, folder, **variables):
    return subprocess.run(
        [str(argument) for argument in arguments], cwd=folder, env={**ENVIRONMENT, **variables},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def run_tool(command, *arguments, folder, python=sys.executable, **variables):
    return run(TOOL, command, "--python", python, *arguments, folder=folder, **variables)


def test_the_example(tmp_path):
    done = run_tool("python", EXAMPLE, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [*(f"MyModel_forward_{number:03d}.json" for number in range(1, 6)),
                     "ResNet_forward_001.json", "SimpleCNN_forward_001.json",
                     "TransformerBlock_forward_001.json"]  # fmt: skip
    assert done.stdout.count("Layer Analysis for ") == 8
    for number, batch in enumerate((8, 16, 32, 64, 128), 1):
        analysis = pyrometer.parse_model_trace(
            str(tmp_path / f"MyModel_forward_{number:03d}.json"), "MyModel"
        )
        stats = analysis["layer_stats"]
        assert list(stats) == ["linear1", "relu", "linear2", "(model)"]
        assert stats["linear1"]["shapes"] == {(batch, 100)}
    resnet = pyrometer.trace(tmp_path / "ResNet_forward_001.json")
    rows = {row["path"]: row for row in resnet.layers}
    assert rows["layer1.0.conv1"]["class"] == "Conv2d"
    assert sum(row["class"] == "Conv2d" for row in rows.values()) == 53
    assert rows[""]["forward_host_ns"] == resnet.layers.forward_host_ns[0]
    own = sum(row["forward_host_self_ns"] for row in rows.values())
    assert own == rows[""]["forward_host_ns"]  # every nanosecond is the self time of a layer
    summary = run(TOOL, "trace", *sorted(tmp_path.glob("MyModel*.json")), folder=tmp_path)
    assert summary.returncode == 0 and "linear1" in summary.stdout


@pytest.mark.parametrize("options, outputs", [((), True), (("--no-outputs",), False)])
def test_outputs_of_ops(tmp_path, options, outputs):
    (tmp_path / "add.py").write_text("import torch\ntorch.ones(2, 3) + 1\n")
    done = run_tool("run", *options, "add.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    chrome = tmp_path / "add.json"
    done = run(TOOL, "trace", "add.pyro", "--chrome", chrome, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    events = json.loads(chrome.read_text())["traceEvents"]
    args = next(event["args"] for event in events if event["name"] == "aten::add")
    assert args["Input Dims"][0] == [2, 3] and ("Output Dims" in args) == outputs


def test_the_example_by_itself_writes_nothing(tmp_path):
    done = run(sys.executable, EXAMPLE, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    assert "Layer Analysis" not in done.stdout


PROGRAM = """
import sys
print(sys.argv, __name__, __file__.rsplit("/", 1)[-1], sys.path[0] == __file__.rsplit("/", 1)[0])
print([entry for entry in sys.path if entry.endswith("startup")], "sitecustomize" in sys.modules)
import torch
from torch import nn
print(torch.__spec__.loader.__class__.__name__, torch.__loader__.__class__.__name__)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
model(torch.ones(1, 4)).sum().backward()
def fail():
    raise ValueError("mine")
if "fail" in sys.argv:
    fail()
sys.exit(3)
"""


def test_run_is_as_python(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    plain = run(sys.executable, script, "a", "-b", folder=tmp_path)
    ours = run_tool("run", script, "a", "-b", folder=tmp_path)
    assert ours.returncode == plain.returncode == 3
    assert ours.stdout.replace("True\nSource", "X\nSource") == plain.stdout.replace(
        "False\nSource", "X\nSource"
    )
    assert ours.stderr == (
        "pyrometer: recorded program.pyro; next: pyrometer trace program.pyro, "
        "or pyrometer serve for a browser\n"
    )
    trace = pyrometer.trace(tmp_path / "program.pyro")
    assert trace.layers["path"] == ["", "0", "1"]
    assert trace.layers["backward_calls"][1] == 1
    again = run_tool("run", script, folder=tmp_path)
    assert again.returncode == 2 and "-f replaces it" in again.stderr
    failing = run_tool("run", "-q", "-f", script, "fail", folder=tmp_path)
    plain = run(sys.executable, script, "fail", folder=tmp_path)
    assert failing.returncode == plain.returncode == 1
    assert failing.stderr == plain.stderr  # the traceback has no frame of Pyrometer


def test_modules_and_code(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "job.py").write_text("import torch\ntorch.nn.Linear(2, 2)(torch.ones(1, 2))\n")
    done = run_tool("run", "-m", "package.job", folder=tmp_path, CHISEL_DEBUG="1")
    assert done.returncode == 0, done.stderr
    assert "recording to" in done.stderr and "layers, ops by" in done.stderr
    assert pyrometer.trace(tmp_path / "job.pyro").layers["class"] == ["Linear"]
    done = run_tool("run", "-c", "print(1)", folder=tmp_path)
    assert done.stdout == "1\n"
    assert done.stderr == "pyrometer: nothing was recorded: the program did not import torch\n"
    assert not (tmp_path / "code.pyro").exists()


def test_children_have_recordings_of_their_own(tmp_path):
    (tmp_path / "parent.py").write_text(
        """
import os, subprocess, sys, torch
model = torch.nn.Linear(2, 2)
model(torch.ones(1, 2))
child = os.fork()
if child == 0:
    model(torch.ones(3, 2))
    os._exit(0)
os.waitpid(child, 0)
code = "import torch; torch.nn.ReLU()(torch.ones(1))"
sys.exit(subprocess.run([sys.executable, "-c", code]).returncode)
"""
    )
    done = run_tool("run", "parent.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    recordings = sorted(tmp_path.glob("*.pyro"))
    assert len(recordings) == 3
    classes = {path.name: pyrometer.trace(path).layers["class"] for path in recordings}
    assert classes.pop("parent.pyro") == ["Linear"]
    assert sorted(classes.values()) == [["Linear"], ["ReLU"]]


RANK = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.nn.Linear(2, 2)(torch.ones(1, 2))
dist.barrier()  # a rank that ends early closes connections that the other still makes
dist.destroy_process_group()
"""


def test_a_launcher_names_the_files_of_its_ranks(tmp_path):
    (tmp_path / "train.py").write_text(RANK)
    done = run_tool(
        "run", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, "train.py",
        folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ranks = [next(tmp_path.glob(f"run_rank{rank}.*.pyro")).name for rank in range(2)]
    said = [line for line in done.stderr.splitlines() if line.startswith("pyrometer: ")]
    assert said == [
        f"pyrometer: recorded 2 ranks: {', '.join(ranks)}; next: pyrometer ranks {' '.join(ranks)}"
    ]
    done = run(TOOL, *said[0].rpartition("next: pyrometer ")[2].split(), folder=tmp_path)
    assert done.returncode == 0 and "2 RANKS of 2" in done.stdout


def test_an_empty_recording_is_not_offered(tmp_path):
    done = run_tool("run", "-c", "import torch", folder=tmp_path)
    assert done.stderr == "pyrometer: code.pyro is empty: no op was called\n"


@pytest.mark.parametrize("stale", [False, True])
def test_hints_for_many_ranks(tmp_path, monkeypatch, stale):
    from pyrometer._testing import launch

    monkeypatch.chdir(tmp_path)
    recording = struct.pack("<8sIIIII", b"PYROREC1", 1, 64, 64, 64, 0).ljust(64, b"\0")
    recording += struct.pack("<QI", 1, 1).ljust(64, b"\0")
    names = [f"my run_rank{rank}.{rank + 100}.pyro" for rank in range(6)]
    for name in (*names, "my run.7.pyro"):
        (tmp_path / name).write_bytes(recording)
    if stale:
        (tmp_path / "my run_rank0.9.pyro").write_bytes(recording)
        os.utime(tmp_path / "my run_rank0.9.pyro", (1, 1))
    begun = (tmp_path / names[0]).stat().st_mtime - 1
    said = launch._Children(str(tmp_path / "my run.pyro"), begun).summary()
    first = ", ".join(f"'{name}'" for name in names[:4])
    offered = " ".join(f"'{name}'" for name in names) if stale else "'my run_rank'*.pyro"
    assert said == f"recorded 6 ranks: {first} and 2 more; next: pyrometer ranks {offered}"
    (tmp_path / "empty.pyro").write_bytes(recording[:64])
    assert not launch._has_records(str(tmp_path / "empty.pyro"))


def test_the_users_sitecustomize_still_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.mine = 5\n")
    done = run_tool(
        "python", "-c", "import sitecustomize; print(mine, sitecustomize.__file__)",
        folder=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}",
    )  # fmt: skip
    assert done.stdout.split() == ["5", str(tmp_path / "sitecustomize.py")]


def test_a_block_inside_a_run(tmp_path):
    (tmp_path / "job.py").write_text(
        """
import pyrometer, torch
first, second, third = torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Tanh()
first(torch.ones(1, 2))
with pyrometer.capture("block.pyro"):
    second(torch.ones(1, 2))
third(torch.ones(1, 2))
"""
    )
    done = run_tool("run", "job.py", folder=tmp_path, PYROMETER_DEBUG="1")
    assert done.returncode == 0, done.stderr
    assert "recording to" in done.stderr and "layers, ops by" in done.stderr
    classes = {path.name: pyrometer.trace(path).layers["class"] for path in tmp_path.glob("*.pyro")}
    assert classes == {"job.pyro": ["Linear"], "block.pyro": ["ReLU"], "job.part2.pyro": ["Tanh"]}


def test_limits(tmp_path):
    (tmp_path / "long.py").write_text(
        """
import torch
model, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
for _ in range(20000):
    model(x)
"""
    )
    done = run_tool("run", "--max-size", "2M", "--no-stacks", "long.py", folder=tmp_path)
    assert done.returncode == 0
    assert "--max-size was reached" in done.stderr
    assert (tmp_path / "long.pyro").stat().st_size <= 2.5 * 2**20
    assert pyrometer.trace(tmp_path / "long.pyro").layers["calls"][0] < 20000
    done = run_tool(
        "run", "-f", "--max-size", "2M", "--keep-last", "--no-memory", "long.py", folder=tmp_path
    )
    assert "only the last part was kept" in done.stderr
    assert pyrometer.trace(tmp_path / "long.pyro").layers["calls"][0] < 20000


def test_doctor(tmp_path, warm_python):
    done = run_tool("doctor", "--format", "json", folder=tmp_path, XDG_DATA_HOME=str(tmp_path))
    answer = json.loads(done.stdout)
    assert answer["schema"] == "pyrometer.doctor/1"
    states = {check["name"]: check["state"] for check in answer["checks"]}
    assert states["python"] == states["torch"] == states["recording"] == "ok"
    assert states["peaks"] == "note"
    assert done.returncode == 0
    text = run_tool("doctor", folder=tmp_path, python=warm_python, XDG_DATA_HOME=str(tmp_path))
    assert "pyrometer doctor --calibrate" in text.stdout


@pytest.mark.parametrize(
    ("settings", "state", "exit_code"),
    [
        ({"CXX": "false"}, "problem", 1),  # a compiler that always fails
        ({"CXX": "no-such-compiler"}, "note", 0),
        ({"PYROMETER_OBSERVER": "off"}, "note", 0),
    ],
    ids=["broken", "missing", "switched-off"],
)
def test_doctor_reports_a_compiler_without_an_observer(
    tmp_path, warm_python, settings, state, exit_code
):
    done = run_tool(
        "doctor", "--format", "json", folder=tmp_path, python=warm_python,
        XDG_CACHE_HOME=str(tmp_path), **settings,
    )  # fmt: skip
    (check,) = [one for one in json.loads(done.stdout)["checks"] if one["name"] == "observer"]
    assert (check["state"], done.returncode) == (state, exit_code)
    assert check["mend"]  # words: ok, a key of the JSON output


@pytest.fixture
def calibrated(tmp_path):
    done = run_tool("doctor", "--calibrate", folder=tmp_path, XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "USDT" not in done.stderr and "profiler_start" not in done.stderr
    return tmp_path


def test_calibrated_shares(calibrated):
    (path,) = (calibrated / "pyrometer").iterdir()
    (peaks,) = json.loads(path.read_text())["devices"]
    assert peaks["device"] == "cpu" and peaks["launch_ns"] > 0
    assert peaks["float32_flops_per_s"] > 1e8 and peaks["bytes_per_s"] > 1e8
    assert peaks["attention_flops_per_s"] > 1e8 and peaks["tf32_flops_per_s"] is None
    (calibrated / "job.py").write_text(
        "import torch\nmodel = torch.nn.Linear(512, 512)\n"
        "with torch.no_grad():\n    for _ in range(20): model(torch.ones(256, 512))\n"
    )
    assert run_tool("run", "job.py", folder=calibrated).returncode == 0
    done = run(TOOL, "trace", "job.pyro", "--by", "layer", folder=calibrated,
               XDG_DATA_HOME=str(calibrated))  # fmt: skip
    assert "Predicted (from shapes)" in done.stdout and "not measured" not in done.stdout
    done = run(TOOL, "trace", "job.pyro", "--format", "json", folder=calibrated,
               XDG_DATA_HOME=str(calibrated))  # fmt: skip
    (row,) = json.loads(done.stdout)["layers"]
    assert row["macs"] == 20 * 256 * 512 * 512 and row["dtype"] == "float32"
    seconds = row["forward_host_ns"] * 1e-9
    assert row["flops_per_s"] == pytest.approx(row["flops"] / seconds)
    assert row["flops_per_s"] == pytest.approx(row["peak_share"] * peaks["float32_flops_per_s"])
    best = max(value for key, value in peaks.items() if key.endswith("bytes_per_s"))
    assert row["bytes_per_s"] == pytest.approx(row["bytes"] / seconds)
    assert row["bytes_per_s"] == pytest.approx(row["bandwidth_share"] * best)
    done = run(TOOL, "trace", "job.pyro", "--by", "op", "--peaks", path, folder=calibrated,
               XDG_DATA_HOME="/nowhere")  # fmt: skip
    assert "Work of these ops" in done.stdout and "measured on this machine" in done.stdout


KILLED = """
import os, signal, sys, torch, pyrometer
model, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
with pyrometer.capture(sys.argv[1]):
    for _ in range(int(sys.argv[2])):
        model(x)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("passes", [0, 3])
def test_a_killed_program_has_a_page(tmp_path, passes):
    (tmp_path / "killed.py").write_text(KILLED)
    done = run(sys.executable, "killed.py", "run.pyro", passes, folder=tmp_path)
    assert done.returncode == -9, done.stderr
    done = run(TOOL, "report", "run.pyro", "-o", "run.html", folder=tmp_path)
    ((part, result),) = read_parts((tmp_path / "run.html").read_text())
    if passes == 0:
        assert done.returncode == 2 and "contains no events" in done.stderr
        assert part["kind"] == "failure"
    else:
        assert done.returncode == 0, done.stderr
        assert any("the recording has no end" in warning for warning in result["warnings"])
        assert result["layers"][0]["calls"] == passes


def test_perfetto_when_the_program_ends(tmp_path):
    code = "import torch; torch.nn.Linear(4, 4)(torch.randn(2, 4))"
    arguments = ["-o", "run.pyro", "--perfetto", "run.pftrace", "-c", code]
    done = run_tool("run", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run(TOOL, "trace", "run.pyro", "-q", "--perfetto", "same.pftrace", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    same = (tmp_path / "same.pftrace").read_bytes()
    assert (tmp_path / "run.pftrace").read_bytes() == same and b"aten::addmm" in same


def test_perfetto_of_a_block(tmp_path):
    with pyrometer.capture(tmp_path / "run.pyro") as capture:
        torch.nn.Linear(4, 4)(torch.randn(2, 4))
    capture.export_perfetto_trace(tmp_path / "run.pftrace")
    assert b"aten::addmm" in (tmp_path / "run.pftrace").read_bytes()
    with pytest.raises(ValueError, match="overwrite"):
        capture.export_perfetto_trace(tmp_path / "run.pyro")
