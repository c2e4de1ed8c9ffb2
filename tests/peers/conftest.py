"""Marks every test of this folder `peers`.

Each tool has its own virtual environment, which scripts/test-peers.sh makes: they pin
packages that conflict with those of the other tests.
"""

import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peers)


@pytest.fixture(scope="session")
def tool():
    path = os.path.abspath(os.environ.get("PYRO_TOOL", ROOT / "build" / "pyrometer"))
    if not os.path.exists(path):
        pytest.skip(f"{path} is not built")
    return path


def interpreter(name):
    """The Python of a peer's environment."""
    python = ROOT / "build" / "peers" / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python} is missing: make test-peers makes it")
    return str(python)


@pytest.fixture(scope="session")
def hta():
    return interpreter("hta")


@pytest.fixture(scope="session")
def tensorboard():
    return interpreter("tensorboard")
