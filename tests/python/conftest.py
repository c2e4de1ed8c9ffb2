"""What every file of tests may rely on."""

import sys

import pytest


@pytest.fixture(scope="module", autouse=True)
def nothing_is_watched_for_ever():
    """Passes keep their session and the hook for the next one; another file of tests begins
    without."""
    yield
    if "pyrometer._session" not in sys.modules:
        return
    from pyrometer import _core, _observe
    from pyrometer._session import session

    session.stop()
    if _observe._is_watching:
        _core.layers_remove()
        _observe._is_watching = False
