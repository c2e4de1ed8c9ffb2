"""No function overwrites its input, not even through links."""

from __future__ import annotations

import importlib
import os
import pathlib
import subprocess
import sys
import types

import pytest

import pyrometer

torch = pytest.importorskip("torch")

TOOL = os.environ.get("PYRO_TOOL", "pyrometer")
SOURCE = """
import torch

def build():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.zeros(2, 4),)
"""


def check_kept(file: pathlib.Path, write, *targets: pathlib.Path) -> None:
    """`write` is rejected for the file and for symbolic and hard links to it; other targets are
    written."""
    before = file.read_bytes()
    soft, hard = (file.with_name(f"{kind}-{file.name}") for kind in ("soft", "hard"))
    for link, make in ((soft, os.symlink), (hard, os.link)):
        if not link.exists():
            make(file, link)
    for target in (file, soft, hard):
        with pytest.raises(ValueError, match="would overwrite its input"):
            write(target)
    assert file.read_bytes() == before
    for target in targets:
        write(target)
        assert target.stat().st_size > 0


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A module of the program that is running."""
    path = tmp_path / "kept_model.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("kept_model")
    yield path, module
    sys.modules.pop("kept_model", None)


@pytest.fixture
def recording(tmp_path):
    with pyrometer.capture(tmp_path / "run.pyro", storages=True) as block:
        torch.nn.Linear(4, 4)(torch.zeros(2, 4))
    return block


def test_exporting_a_recording_over_itself(recording, tmp_path):
    path = pathlib.Path(recording.path)
    check_kept(path, recording.export_chrome_trace, tmp_path / "new.json", tmp_path / "new.json")


def test_saving_a_graph_over_its_recording(recording, tmp_path):
    try:
        graph = recording.graph()
    except pyrometer.Error as error:
        pytest.skip(str(error))
    check_kept(pathlib.Path(recording.path), graph.save, tmp_path / "graph.txt")


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_copying_a_pass_over_itself(tmp_path, suffix):
    from pyrometer._testing import Pass

    path = tmp_path / f"pass{suffix}"
    path.write_text("{}")
    one = Pass(types.SimpleNamespace(model_name="m"), 1, str(path))
    check_kept(path, lambda target: one.export_chrome_trace(str(target)), tmp_path / "copy.json")


def test_recording_over_code(code):
    path, _ = code

    def record(target):
        with pyrometer.capture(target):
            pass

    check_kept(path, record, path.with_name("run.pyro"), path.with_name("run.pyro"))


def test_graphs_of_a_profiler_over_code(code):
    path, module = code
    try:
        profiler = pyrometer.Profiler(module.build()[0])
        profiler.profile_once(torch.zeros(2, 4))
    except pyrometer.Error as error:
        pytest.skip(str(error))
    link = path.with_name("graph_module.txt")
    link.symlink_to(path)
    with pytest.raises(ValueError, match="would overwrite its input"):
        profiler.export(path.with_name("graph"), overwrite_module=True)
    assert path.read_text() == SOURCE
    link.unlink()
    assert profiler.export(path.with_name("graph")) == [str(link)]


@pytest.mark.parametrize("named", ["kept_model.py:build", "model.pt2"])
def test_results_over_the_model(code, named):
    path, module = code
    model, inputs = module.build()
    if named.endswith(".pt2"):
        path = path.with_name(named)
        torch.export.save(torch.export.export(model.eval(), inputs), path)
    spec = str(path) + (":build" if named.endswith("build") else "")
    profiler = pyrometer.ModelProfiler(spec, device="cpu")
    profiler.profile(inputs, num_runs=3, warmup_runs=0, only_times=True)
    for write in (profiler.export_json, profiler.export_csv, profiler.generate_html_report):
        check_kept(path, write, path.with_name("results"), path.with_name("results"))


def test_a_baseline_may_be_replaced(code):
    path, module = code
    model, inputs = module.build()
    profiler = pyrometer.ModelProfiler(model, device="cpu")
    profiler.profile(inputs, num_runs=3, warmup_runs=0, only_times=True)
    base = path.with_name("base.json")
    profiler.export_json(base)
    pyrometer.load_baseline(base)
    profiler.export_json(base)


def test_files_of_ranks_over_code(code):
    pytest.importorskip("ray")
    from pyrometer._testing import ray_files

    path, _ = code
    with pytest.raises(OSError, match="would overwrite"):
        ray_files._copy(None, 0, path.name, 0, str(path))
    assert path.read_text() == SOURCE


@pytest.mark.parametrize(
    "program",
    [
        ["kept_model.py"],
        ["other.py", "--data=kept_model.py"],
        ["-m", "kept_model"],
        ["-mkept_model"],
    ],
)
def test_run_over_the_program(code, program):
    path, _ = code
    path.with_name("other.py").write_text("open('ran', 'w')")
    for name in ("kept_model.py", "link.pyro"):
        if name == "link.pyro":
            path.with_name(name).symlink_to(path)
        done = subprocess.run(
            [TOOL, "run", "--python", sys.executable, "-f", "-o", name, *program],
            cwd=path.parent,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2, done.stderr
        assert "would overwrite an input" in done.stderr
    assert path.read_text() == SOURCE
    assert not path.with_name("ran").exists()
