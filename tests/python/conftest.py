"""What every file of tests may rely on."""

import sys

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_session_is_left():
    """Passes keep their session for the next one; another file of tests begins without."""
    yield
    if "pyrometer._session" in sys.modules:
        sys.modules["pyrometer._session"].session.stop()
