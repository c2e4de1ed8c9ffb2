"""The files that take longest come first, so that no worker is left alone with one at the end.

`make test` gives whole files to its workers in the order of collection (--no-loadscope-reorder).
"""

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
