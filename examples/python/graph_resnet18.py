"""Writes the graph of ResNet18 as text files: blocks with their times, then every operator.

python graph_resnet18.py [FOLDER]
"""

import os
import sys

import torch
from torchvision.models import resnet18

from pyrometer import Profiler


def main(folder: str = ".") -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = resnet18().eval().to(device)
    prof = Profiler(model, granularity="module", auto_profile=False, capture_ops=False)
    x = torch.randn(1, 3, 224, 224, device=device)
    base = os.path.join(folder, "resnet18_profile")

    prof.profile_once(x)
    prof.export(base, module_include_edges=True, include_stats=True, overwrite_module=True)
    prof.profile_detail(x)
    prof.export(base, detail_include_edges=True, include_stats=True, overwrite_module=False)

    print("==== Module Graph Stats ====")
    prof.graph.stats()
    print("==== Detail Graph Stats ====")
    prof.detail_graph.stats()
    prof(x)  # behaves like the model


if __name__ == "__main__":
    main(*sys.argv[1:2])
