"""Order of the files, and signals as a terminal has them.

The files that take longest come first, so that no worker is left alone with one at the end: `make
test` gives whole files to its workers in the order of collection (--no-loadscope-reorder).
"""

import signal
import threading

LONGEST_FIRST = (
    "test_ray.py",
    "test_model_bench.py",
    "test_training_ranks.py",
    "test_launch.py",
    "test_verify.py",
    "test_ranks.py",
)


def pytest_collection_modifyitems(items):
    place = {name: index for index, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


def pytest_configure():
    """A shell starts jobs in the background with SIGINT ignored, which programs under test inherit:
    those that are interrupted would never end."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if is_ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
