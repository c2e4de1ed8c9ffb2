"""`doctor --calibrate` on a GPU, and shares of the measured peaks."""

import json
import os
import subprocess
import sys
from unittest import mock

import torch
from torch import nn

import pyrometer
from gpu.checks import TOOL, check
from pyrometer._testing import calibrate

# name: lowest and highest plausible rate; the highest is that of the data sheet.
PLAUSIBLE = {
    "NVIDIA H200": {
        "bfloat16_flops_per_s": (300e12, 989.5e12),
        "float16_flops_per_s": (300e12, 989.5e12),
        "float8_flops_per_s": (500e12, 1979e12),
        "tf32_flops_per_s": (150e12, 494.5e12),
        "float32_flops_per_s": (20e12, 67e12),
        "float64_flops_per_s": (20e12, 67e12),
        "int8_ops_per_s": (200e12, 1979e12),
        "attention_flops_per_s": (150e12, 989.5e12),
        "bytes_per_s": (2e12, 4.8e12),
        "elementwise_bytes_per_s": (2e12, 4.8e12),
        "reduction_bytes_per_s": (1e12, 4.8e12),
        "gemv_bytes_per_s": (1e12, 4.8e12),
        "launch_ns": (500, 50_000),
    },
}


def test_rates_and_shares(tmp_path):
    with mock.patch.dict(os.environ, XDG_DATA_HOME=str(tmp_path)):
        done = subprocess.run([TOOL, "doctor", "--calibrate", "--format", "json", "--python",
                               sys.executable], capture_output=True, text=True)  # fmt: skip
        check("doctor --calibrate", done.returncode == 0, done.stderr[-500:] or done.stdout[-500:])
        answer = json.loads(done.stdout)
        devices = {one["name"]: one for one in answer["peaks"]["devices"]}
        name = torch.cuda.get_device_name()
        check("the GPU was measured", name in devices, str(list(devices)))
        rates = devices[name]
        for key, value in rates.items():
            if not isinstance(value, list):  # not the single kernels
                print(f"      {key}: {value if isinstance(value, str | None) else f'{value:.4g}'}")
        for key, (low, high) in PLAUSIBLE.get(name, {}).items():
            value = rates[key]
            check(key, value is not None and low <= value <= high, str(value))
        (text,) = [one["text"] for one in answer["checks"] if one["name"] == "peaks"]
        check("doctor names the rates", name in text, text)
        (collector,) = [one for one in answer["checks"] if one["name"] == "collector"]
        check("the collector works", collector["state"] == "ok", collector["text"])
        check("the file is read back", calibrate.read()["devices"][1]["name"] == name)
        shares(tmp_path, rates)


def shares(folder, rates):
    """A large product reaches most of the measured peak, an addition most of the bandwidth."""
    net = nn.Linear(8192, 8192, bias=False).cuda().bfloat16()
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    y = torch.randn_like(x)
    with torch.no_grad(), pyrometer.capture(folder / "run.pyro") as block:
        for _ in range(20):
            net(x)
        for _ in range(20):
            torch.add(x, y)
    trace = block.trace()
    ops = {row["name"]: row for row in trace.ops}
    check("the ops are there", {"aten::mm", "aten::add"} <= set(ops), str(sorted(ops)))
    product, addition = ops["aten::mm"], ops["aten::add"]
    check("peaks_from", trace.to_dict()["peaks_from"] == "measured")
    share = product["peak_share"] or 0
    check("a large product nears the peak", 0.6 < share < 1.15, f"{share:.2f}")
    expected = product["flops_per_s"] / rates["bfloat16_flops_per_s"]
    check("by the type of the op", abs(share - expected) < 0.01, f"{share:.3f} and {expected:.3f}")
    share = addition["bandwidth_share"] or 0
    check("an addition nears the bandwidth", 0.5 < share < 1.5, f"{share:.2f}")
    (layer,) = [row for row in trace.layers if row["class"] == "Linear"]
    check("the layer too", 0.6 < layer["peak_share"] < 1.15, f"{layer['peak_share']:.2f}")
    done = subprocess.run([TOOL, "trace", str(folder / "run.pyro"), "--by", "op"],
                          capture_output=True, text=True)  # fmt: skip
    check("the tool shows them", "measured on" in done.stdout, done.stdout[-800:])
