"""What every Python tool pays before it starts."""

import torch

print(torch.__version__)
