"""Defines torch and nn for blocks."""

import torch
from torch import nn

torch.manual_seed(0)
names |= {"torch": torch, "nn": nn}  # noqa: F821, the namespace of the document's blocks
