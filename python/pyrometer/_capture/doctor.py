"""Examines this Python for `pyrometer doctor` and prints the findings as JSON."""

from __future__ import annotations

import ctypes.util
import json
import os
import pathlib
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from pyrometer import _core, _env

Check = dict[str, str]


def check(name: str, state: str, text: str, remedy: str = "") -> Check:
    """state is ok, note (works, but less well) or problem (broken)."""
    # words: ok, JSON key of `pyrometer doctor`
    return {"name": name, "state": state, "text": text, "mend": remedy}


def look_around() -> list[Check]:
    checks = [_python(), _torch()]
    if checks[-1]["state"] != "problem":
        checks += [_compiler(), _observer(), _devices(), _collector(), _samples()]
    return [*checks, _cache(), _recording(), _clock(), _perf()]


def _python() -> Check:
    text = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if platform.python_implementation() != "CPython":
        return check("python", "problem", text, "layers can be observed only in CPython")
    problem = _env.why_no_capture()
    if problem is not None:
        return check("python", "problem", f"{text}: {problem}", "cost and trace still work")
    return check("python", "ok", text)


def _torch() -> Check:
    try:
        import torch
    except ImportError as error:
        return check("torch", "problem", f"cannot be imported: {error}", "pip install torch")
    return check("torch", "ok", f"{torch.__version__}, {torch.get_num_threads()} threads")


def _compiler() -> Check:
    name = os.environ.get("CXX") or "c++"
    for candidate in (name, "g++", "clang++"):
        found = shutil.which(candidate.split()[0])
        if found:
            return check("compiler", "ok", found)
    return check(
        "compiler",
        "note",
        "no C++ compiler: ops come from torch.profiler, which costs more",
        "apt-get install g++, or set CXX",
    )


def _observer() -> Check:
    from pyrometer._capture import observers

    state, text, remedy = observers.examine()
    return check("observer", state, text, remedy)


def _has_library(*names: str) -> str | None:
    for name in names:
        found = ctypes.util.find_library(name)
        if found:
            return found
    return None


def _nvidia_wheels() -> list[str]:
    """CUDA libraries that torch's wheels installed."""
    found = []
    for folder in sys.path:
        root = pathlib.Path(folder or ".") / "nvidia"
        if root.is_dir():
            found += [path.name for path in root.glob("*/lib/libcupti.so*")]
            found += [path.name for path in root.glob("cu*/lib/libcupti.so*")]
    return found


def _devices() -> Check:
    import torch

    nvml = _has_library("nvidia-ml")
    cupti = _nvidia_wheels() or [name for name in [_has_library("cupti")] if name]
    rest = f"CUPTI {cupti[0] if cupti else 'none'}, NVML {nvml or 'none'}"
    if not torch.cuda.is_available():
        built = torch.version.cuda or torch.version.hip
        reason = "none that torch can use" if built else "torch is built without CUDA"
        return check("devices", "ok", f"{reason}; {rest}; the host is recorded")
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    text = f"{', '.join(names)}; CUDA {torch.version.cuda}; {rest}"
    return check("devices", "ok", text)


_REMEDIES = {
    "no library": "install torch for CUDA, which contains libcupti; until then: --gpu torch",
    "too old": "install torch for CUDA 11.8 or later; until then: --gpu torch",
    "old driver": "update the NVIDIA driver, or install torch for an older CUDA",
    "taken": "end the other profiler, or record with it: --gpu torch",
    "not allowed": "ask the administrator to set NVreg_RestrictProfilingToAdminUsers=0",
}


def _run_kernel() -> None:
    import torch

    torch.zeros(8, device="cuda").add_(1)
    torch.cuda.synchronize()


def _collector(run_kernel: Callable[[], None] = _run_kernel) -> Check:
    """Starts the collector of kernels, runs one kernel, and looks whether its record arrives."""
    import torch

    has_device = torch.cuda.is_available() and not torch.version.hip
    if not has_device and run_kernel is _run_kernel:
        text = "kernels of ROCm come from torch.profiler" if torch.version.hip else "not needed"
        return check("collector", "ok", text)
    if has_device:
        torch.cuda.init()
    status = _core.devices_start()
    if status["state"] != "on":
        text = f"kernels are not recorded: {status['reason']}"
        return check("collector", "note", text, _REMEDIES.get(status["state"], "--gpu torch"))
    try:
        run_kernel()
    finally:
        _core.devices_flush()
        status = _core.devices_status()
        _core.devices_stop()
    about = f"CUPTI {status['version']} ({status['library']})"
    if not status["records"]:
        return check("collector", "note", f"{about} reports no kernel", "--gpu torch")
    error_us = status["clock_error_ns"] / 1000
    return check("collector", "ok", f"{about}; device times are exact to {error_us:.1f} us")


def _samples(seconds: float = 3) -> Check:
    """Samples the GPU that torch uses, and says what the driver does not report."""
    import torch

    if not torch.cuda.is_available() or torch.version.hip:
        return check("gpu samples", "ok", "not needed")
    torch.zeros(1, device="cuda")
    _core.gpu_sampling_start(0.01)
    end = time.monotonic() + seconds
    while _core.gpu_sampling_status()["samples"] < 3 and time.monotonic() < end:
        time.sleep(0.01)
    _core.gpu_sampling_stop()
    return _describe_samples(_core.gpu_sampling_status())


def _describe_samples(status: dict[str, Any]) -> Check:
    if not status["samples"]:
        reason = status["reason"] or "the driver's library does not return"
        text = f"power and clocks are not recorded: {reason}"
        return check("gpu samples", "note", text, "install the driver's libnvidia-ml.so.1")
    each_us = status["cost_ns"] / status["samples"] / 1000
    energy = "energy counter" if status["has_energy"] else "no energy counter"
    units = "use of units" if status["has_units"] else "no use of units (needs Hopper)"
    power = "power as a mean of 1 s" if status["power_is_mean"] else "instant power"
    text = f"{power}, {energy}, {units}; {each_us:.0f} us per sample"
    missing = f"; the driver lacks {status['missing']}" if status["missing"] else ""
    return check("gpu samples", "ok", text + missing)


def _is_writable(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _cache() -> Check:
    from pyrometer._capture import observers

    folder = observers.cache_folder()
    if _is_writable(folder):
        return check("cache", "ok", folder)
    return check(
        "cache",
        "note",
        f"{folder} is not writable: every process builds the observer again",
        "set XDG_CACHE_HOME to a writable folder",
    )


def _recording() -> Check:
    """Makes a real recording."""
    folder = tempfile.gettempdir()
    path = os.path.join(folder, f"pyrometer-doctor-{os.getpid()}.pyro")
    try:
        _core.recorder_start(path, _core.RECORD_LAYERS, 0, False, True, True)
        _core.recorder_stop()
    except Exception as error:
        return check("recording", "problem", f"in {folder}: {error}", "set TMPDIR")
    free = shutil.disk_usage(folder).free
    return check("recording", "ok", f"in {folder}, {free / 2**30:.0f} GiB free")


def _clock() -> Check:
    source = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    try:
        name = source.read_text().strip()
    except OSError:
        name = "unknown"
    count = 200_000
    begin = time.perf_counter_ns()
    for _ in range(count):
        time.perf_counter_ns()
    cost_ns = (time.perf_counter_ns() - begin) / count
    text = f"{name}, {cost_ns:.0f} ns per reading from Python"
    if platform.machine() in ("x86_64", "AMD64") and name not in ("tsc", "unknown"):
        return check("clock", "note", text, "the kernel does not trust the CPU's counter: slower")
    return check("clock", "ok", text)


def _perf() -> Check:
    path = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
    try:
        level = int(path.read_text())
    except (OSError, ValueError):
        return check("permissions", "ok", "nothing special is needed")
    return check("permissions", "ok", f"nothing special is needed (perf_event_paranoid {level})")


def _peaks() -> Check:
    from pyrometer._capture import calibrate

    try:
        return check("peaks", "ok", calibrate.describe(calibrate.read()))
    except (OSError, ValueError):
        return check(
            "peaks",
            "note",
            "not measured: shares of the peak use data sheets, or are missing",
            "pyrometer doctor --calibrate",
        )


def main() -> None:
    answer: dict[str, Any] = {"schema": "pyrometer.doctor/1", "version": _core.version}
    # Calibration uses torch.profiler, which keeps CUPTI: the collector is tried before it.
    checks, failures = look_around(), []
    if "--calibrate" in sys.argv[1:]:
        try:
            from pyrometer._capture import calibrate

            answer["peaks"] = calibrate.calibrate()
        except (ImportError, OSError) as error:
            failures.append(check("calibrate", "problem", f"cannot store the result: {error}"))
    answer["checks"] = [*checks, _peaks(), *failures]
    _env.debug(f"{len(answer['checks'])} checks")
    json.dump(answer, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
