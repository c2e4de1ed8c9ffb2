"""Declares torchvision's operators before torchvision is imported in this environment.

The environment has a CPU build of torch, and torchvision's compiled library does not load with it:
`import torchvision`, and with it much of transformers, would fail with "operator torchvision::nms
does not exist". scripts/make-venv.sh copies this file and torchvision_ops.py into site-packages,
and a .pth file imports it whenever Python starts. It does not import torch or torchvision.
"""

import importlib.machinery
import sys


class Declaring:
    """Declares torchvision's operators, then loads torchvision with its own loader."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        import pyrometer_torchvision_ops

        pyrometer_torchvision_ops.declare()
        self._loader.exec_module(module)


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torchvision":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = Declaring(spec.loader)
        return spec


sys.meta_path.insert(0, Finder)
