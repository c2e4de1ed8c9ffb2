"""Runs before a program that `pyrometer run` or `pyrometer python` started, and in its children.

Removes itself from sys.path, and then runs the sitecustomize that it shadows.
"""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _folder]

try:
    import pyrometer._capture.launch
except ImportError:
    pass  # another Python than the one that was started: do not record it
else:
    pyrometer._capture.launch.begin()

sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # noqa: F401
except ImportError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = type(sys)("sitecustomize")
