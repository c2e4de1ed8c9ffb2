"""What every file of tests may rely on."""

import importlib.util
import os
import pathlib
import re
import sys

import pytest

# Tests change their folder.
if "PYRO_TOOL" in os.environ:
    os.environ["PYRO_TOOL"] = os.path.abspath(os.environ["PYRO_TOOL"])

# Files that want torch at once are left out where there is none.
_FOLDER = pathlib.Path(__file__).parent
collect_ignore = [
    str(path.relative_to(_FOLDER))
    for path in _FOLDER.rglob("test_*.py")
    if importlib.util.find_spec("torch") is None
    and re.search(
        r"^((import|from) torch\b|torch = )", path.read_text(encoding="utf-8"), re.MULTILINE
    )
]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "needs_observer: wants what torch.profiler cannot record in the observer's place"
    )


def pytest_collection_modifyitems(items):
    """The tests of capturing run a second time with PYROMETER_OBSERVER=off."""
    if os.environ.get("PYROMETER_OBSERVER") != "off":
        return
    for item in items:
        if item.get_closest_marker("needs_observer") or "observer" in item.fixturenames:
            item.add_marker(pytest.mark.skip(reason="needs the observer, which is switched off"))


@pytest.fixture(scope="module", autouse=True)
def nothing_is_watched_for_ever():
    """Passes keep their session and the hook for the next one; another file of tests begins
    without."""
    yield
    if "pyrometer._capture.session" not in sys.modules:
        return
    from pyrometer import _core
    from pyrometer._capture import observers
    from pyrometer._capture.session import session

    session.stop()
    if observers._is_watching:
        _core.layers_remove()
        observers._is_watching = False


@pytest.fixture(scope="module")
def one_thread():
    """Threads that spin for each other measure what else the machine does."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def observer():
    """The library that sees ops. Skips only where none is expected (no compiler, an old torch);
    where one should work and does not, the test fails."""
    from pyrometer._capture import observer_build

    try:
        observer_build.load()
    except observer_build.Unavailable as error:
        if not error.expected:
            raise
        pytest.skip(f"no observer: {error}")
