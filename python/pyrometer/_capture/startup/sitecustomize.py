"""Runs before a program that `pyrometer run` or `pyrometer python` started, and in its children.

Leaves no trace on sys.path, and then runs the sitecustomize that it stood in front of.
"""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _folder]

try:
    import pyrometer._capture.launch
except ImportError:
    pass  # another Python than the one that was started: not ours to record
else:
    pyrometer._capture.launch.begin()

sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # noqa: F401
except ImportError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = type(sys)("sitecustomize")
