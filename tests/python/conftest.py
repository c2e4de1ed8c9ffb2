"""Fixtures for all test files."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

# Tests change the current folder.
if "PYRO_TOOL" in os.environ:
    os.environ["PYRO_TOOL"] = os.path.abspath(os.environ["PYRO_TOOL"])

# Without torch, skips files that import it at the top.
_FOLDER = pathlib.Path(__file__).parent
collect_ignore = [
    str(path.relative_to(_FOLDER))
    for path in _FOLDER.rglob("test_*.py")
    if importlib.util.find_spec("torch") is None
    and re.search(
        r"^((import|from) torch\b|torch = )", path.read_text(encoding="utf-8"), re.MULTILINE
    )
]


def pytest_collection_modifyitems(items):
    """The capture tests run a second time with PYROMETER_OBSERVER=off."""
    if os.environ.get("PYROMETER_OBSERVER") != "off":
        return
    for item in items:
        if item.get_closest_marker("needs_observer") or "observer" in item.fixturenames:
            item.add_marker(pytest.mark.skip(reason="needs the observer, which is turned off"))


@pytest.fixture(scope="module", autouse=True)
def nothing_is_watched_for_ever():
    """Passes keep their session and the hook for the next pass; each test file starts without
    them."""
    yield
    if "pyrometer" in sys.modules:
        from pyrometer._testing import stop_watching

        stop_watching()


@pytest.fixture(scope="module")
def one_thread():
    """Runs torch with one thread; spinning threads would measure other load on the machine."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory):
    """The path of an interpreter that has already imported torch. Importing it takes longer than
    most programs under test; each file still runs some of them with a Python of their own."""
    pytest.importorskip("torch")
    import warm_python

    path, address = warm_python.client(tmp_path_factory.mktemp("warm"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, warm_python.__file__, address], stdout=subprocess.PIPE, env=environment
    ) as server:
        assert server.stdout.readline() == b"ready\n"
        yield path
        server.terminate()


@pytest.fixture(scope="module")
def observer():
    """The library that observes ops. Skips only if none is expected (no compiler, an old torch);
    if one should work and does not, the test fails."""
    from pyrometer._testing import observer_build

    try:
        observer_build.load()
    except observer_build.Unavailable as error:
        if not error.expected:
            raise
        pytest.skip(f"no observer: {error}")
