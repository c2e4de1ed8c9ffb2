"""Sorts the test files, and restores SIGINT's default action.

The longest files come first, so that no worker runs one alone at the end: `make
test` assigns whole files to its workers in the order of collection (--no-loadscope-reorder).
"""

import signal
import threading

LONGEST_FIRST = (
    "test_ray.py",
    "test_launch.py",
    "test_model_bench.py",
    "test_catalog.py",
    "test_verify.py",
    "test_training_ranks.py",
    "test_ranks.py",
    "test_docs.py",
    "test_capture_faults.py",
)


def pytest_collection_modifyitems(items):
    place = {name: index for index, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


def pytest_configure():
    """A shell starts background jobs with SIGINT ignored, and programs under test inherit that:
    interrupting them would have no effect."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if is_ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
