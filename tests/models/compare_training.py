"""Compares predicted training steps with real ones: FLOPs with FlopCounterMode, memory with the
storages that the operators of a step on the CPU hold.

    compare_training.py TOOL [--memory [--optimizer sgd|adamw]] [NAME...]
"""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.utils.checkpoint
import training_models
import training_reference
from torch import nn


def export(
    module: nn.Module, inputs: tuple[torch.Tensor, ...], folder: str
) -> tuple[torch.export.ExportedProgram, pathlib.Path]:
    """Writes a module as a .pt2 file."""
    path = pathlib.Path(folder) / "model.pt2"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, inputs, strict=False)
        torch.export.save(program, path)
    return program, path


def predict(tool: str, path: pathlib.Path, *options: str) -> dict:
    """The training step that the tool predicts for a file."""
    command = [tool, "cost", str(path), "--train", "--format", "json", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def compare_flops(tool: str, name: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Predicted and real FLOPs of the forward and the backward."""
    torch.manual_seed(0)
    module, inputs = training_models.BY_NAME[name].make()
    module.train()
    with tempfile.TemporaryDirectory() as folder:
        found = predict(tool, export(module, inputs, folder)[1], "--convention", "torch")
    return (
        (found["forward"]["flops"], found["backward"]["flops"]),
        training_reference.flops(module, inputs),
    )


# The classes of the blocks that --checkpoint blocks runs again.
BLOCKS = {
    "resnet50": "Bottleneck",
    "vit_b_16": "EncoderBlock",
    "gpt2": "GPT2Block",
    "bert": "BertLayer",
    "unet": "DoubleConv",
    "mixtral": "MixtralDecoderLayer",
    "experts": "ExpertLayer",
}


def checkpoint_blocks(module: nn.Module, class_name: str) -> None:
    """Runs every block of a class under torch.utils.checkpoint."""
    for block in module.modules():
        if type(block).__name__ == class_name:
            block.forward = functools.partial(
                torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False
            )


def compare_memory(tool: str, name: str, optimizer: str = "sgd") -> dict[str, tuple[int, int]]:
    """Predicted and real peaks in bytes: of the forward alone, of a step, of a checkpointed one."""
    torch.manual_seed(0)
    module, inputs = training_models.LARGER_BY_NAME[name].make()
    module.train()
    kinds = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    options = ("--optimizer", optimizer)
    with tempfile.TemporaryDirectory() as folder:
        program, path = export(module, inputs, folder)
        plain = predict(tool, path, *options)
        blocks = predict(tool, path, *options, "--checkpoint", "blocks")
        command = [tool, "cost", str(path), "--format", "json"]
        inference = json.loads(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )
    found = {}
    forward = training_reference.forward_memory(program, inputs)
    found["forward"] = (inference["peak_memory"]["activation_bytes"], forward)
    for label, predicted in (("step", plain), ("blocks", blocks)):
        if label == "blocks":
            checkpoint_blocks(module, BLOCKS[name])
        step = kinds[optimizer](module.parameters(), lr=1e-3, foreach=True)
        if optimizer != "sgd":  # the first step makes the states
            training_reference.go_back(module(*inputs))
            step.step()
        step.zero_grad(set_to_none=True)
        real = training_reference.step_memory(module, inputs, step)
        step.zero_grad(set_to_none=True)
        found[label] = (predicted["peak_memory"]["total_bytes"], real)
    return found


def compare_fit(tool: str, name: str) -> tuple[int, int]:
    """Activations at the peak of a step with SGD: as `fit` predicts them, and really."""
    torch.manual_seed(0)
    module, inputs = training_models.LARGER_BY_NAME[name].make()
    module.train()
    with tempfile.TemporaryDirectory() as folder:
        _program, path = export(module, inputs, folder)
        command = [tool, "fit", str(path), "--on", "80GB", "--train", "--optimizer", "sgd"]
        command += ["--format", "json"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    parts = json.loads(text)["answers"][0]["peak_bytes"]
    step = torch.optim.SGD(module.parameters(), lr=1e-3)
    real = training_reference.step_memory(module, inputs, step)
    return parts["activations"], real - parts["weights"] - parts["gradients"]


def show_memory(tool: str, names: list[str], optimizer: str) -> int:
    """Prints a table; returns how many peaks are off by more than 5% (forward) or 10%."""
    failed = 0
    print(f"{'model':12} {'what':8} {'predicted':>14} {'real':>14} {'ratio':>7}")
    for name in names or [case.name for case in training_models.LARGER]:
        for what, (predicted, real) in compare_memory(tool, name, optimizer).items():
            ratio = predicted / real
            wrong = abs(ratio - 1) > (0.05 if what == "forward" else 0.1)
            failed += wrong
            mark = "  DIFFERS" if wrong else ""
            print(f"{name:12} {what:8} {predicted:14,} {real:14,} {ratio:7.3f}{mark}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--memory", action="store_true", help="compare peaks, not FLOPs")
    parser.add_argument("--optimizer", default="sgd", choices=("sgd", "adamw"))
    chosen = parser.parse_intermixed_args()
    if chosen.memory:
        return show_memory(chosen.tool, chosen.names, chosen.optimizer) > 0
    failed = 0
    print(f"{'model':22} {'forward':>16} {'backward':>16} {'of torch':>16}")
    for name in chosen.names or training_models.BY_NAME:
        predicted, real = compare_flops(chosen.tool, name)
        same = predicted == real
        failed += not same
        print(
            f"{name:22} {predicted[0]:16,} {predicted[1]:16,} {real[1]:16,}"
            f"{'' if same else f'  DIFFERS (forward {real[0]:,})'}",
            flush=True,
        )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
