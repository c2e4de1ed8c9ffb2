"""The tests' virtual environment: torchvision and transformers can be imported in any order."""

import importlib.util
import subprocess
import sys

import pytest

# A module of each package that needs torchvision or its operators.
IMPORTS = {
    "torchvision": "import torchvision; torchvision.ops.nms; torchvision.models.resnet18",
    "transformers": "from transformers.image_processing_utils_fast import BaseImageProcessorFast",
}
# Importing torch takes long, so one process imports it and forks for each order.
PROGRAM = """
import os, sys, torch, torch._dynamo
for order in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        exec(order)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"failed: {order}")
"""


def test_packages_can_be_imported_in_any_order():
    for name in IMPORTS:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    orders = ["\n".join(IMPORTS.values()), "\n".join(reversed(IMPORTS.values()))]
    command = [sys.executable, "-c", PROGRAM, *orders]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
