"""Captures one forward pass of the guide's MyModel to MyModel_forward_001.json."""

import os

import torch

import pyrometer

os.environ["PYROMETER"] = "1"
model = names["MyModel"]()  # noqa: F821, the namespace of the document's blocks
pyrometer.capture_model(model)(torch.randn(32, 100))
del os.environ["PYROMETER"]
