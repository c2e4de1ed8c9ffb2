"""Gives blocks torch and nn, as a script that uses PyTorch has them."""

import torch
from torch import nn

torch.manual_seed(0)
names |= {"torch": torch, "nn": nn}  # noqa: F821, the namespace of the document's blocks
