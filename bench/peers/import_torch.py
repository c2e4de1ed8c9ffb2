"""Imports torch only: the start-up time of every Python tool."""

import torch

print(torch.__version__)
