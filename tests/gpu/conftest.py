"""Marks every test of this folder `gpu`, and skips them without a GPU that torch can use."""

import importlib.util
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
HAS_TORCH = importlib.util.find_spec("torch") is not None
collect_ignore_glob = [] if HAS_TORCH else ["test_*.py"]


def why_not():
    """Why no test can run here, or None."""
    if not HAS_TORCH:
        return "torch is not installed"
    import torch

    return None if torch.cuda.is_available() else "torch sees no GPU"


def pytest_collection_modifyitems(config, items):
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.gpu)
    if ours and why_not():
        items[:] = [item for item in items if item not in ours]
        config.hook.pytest_deselected(items=ours)
        config.stash[reason] = f"tests/gpu: none of {len(ours)} tests is run: {why_not()}"


reason = pytest.StashKey()


def pytest_terminal_summary(terminalreporter, config):
    if config.stash.get(reason, None):
        terminalreporter.write_line(config.stash[reason])


@pytest.fixture(autouse=True)
def clean_machine(tmp_path):
    from gpu import checks

    with checks.around(tmp_path):
        yield
