"""The virtual environment of the tests: packages that need each other can be imported at all."""

import importlib.util
import subprocess
import sys

import pytest

# What of each package looks up operators of torchvision, or is only there with torchvision.
IMPORTS = {
    "torchvision": "import torchvision; torchvision.ops.nms; torchvision.models.resnet18",
    "transformers": "from transformers.image_processing_utils_fast import BaseImageProcessorFast",
    "timm": "import timm; timm.create_model",
}


@pytest.mark.parametrize(
    "names",
    [
        ("torchvision", "transformers"),
        ("transformers", "torchvision"),
        ("timm", "transformers", "torchvision"),
    ],
    ids="-".join,
)
def test_packages_can_be_imported_in_any_order(names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    program = "\n".join(IMPORTS[name] for name in names)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
