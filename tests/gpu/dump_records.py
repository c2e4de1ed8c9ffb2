"""Saves real records of CUPTI for tests/unit/device/test_recorded_records.c.

python tests/gpu/dump_records.py FILE      on a machine with a GPU; FILE goes to tests/files/cupti/
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

import torch

HERE = pathlib.Path(__file__).resolve().parent


def find_library():
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if "libcupti.so" in line:
            return line.split()[-1]
    sys.exit("torch has not loaded libcupti")


def work():
    """A kernel, copies in both directions, memsets, synchronizations and a graph of two nodes."""
    x = torch.randn(256, 256, device="cuda")
    (x @ x).relu_().sum().item()
    torch.zeros(1000, device="cuda", dtype=torch.uint8).zero_()
    x.cpu()
    graph = torch.cuda.CUDAGraph()
    y = x.clone()
    with torch.cuda.graph(graph):
        y.mul_(2).add_(1)
    graph.replay()
    torch.cuda.synchronize()


def main():
    torch.cuda.init()
    work()
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/dump.so"
        command = ["cc", "-O1", "-shared", "-fPIC", "-w", HERE / "dump_records.c", "-o", library]
        subprocess.run([*command, "-ldl"], check=True)
        dump = ctypes.CDLL(library)
        if dump.dump_start(find_library().encode(), sys.argv[1].encode()):
            sys.exit("CUPTI cannot record")
        work()
        dump.dump_stop()
    print(f"{sys.argv[1]}: {pathlib.Path(sys.argv[1]).stat().st_size} bytes")


if __name__ == "__main__":
    main()
