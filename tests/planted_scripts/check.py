"""Records the planted scripts and compares the findings with what was planted.

    python tests/planted_scripts/check.py [--device cuda] [-o FOLDER [--seconds 100]] [NAME ...]

Of a script, the planted problem must be the first finding, at its line or layer. Of the fixed
script, it must be gone, and no finding that the first one lacks may be worth over 5% of the time.
With --seconds, it stops in time and exits with 3; the next call uses the recordings in the folder.
With --again, a script with a wrong answer is recorded again: on a busy machine, time in which the
program waits for the processor looks like time in Python code. A wrong rule is wrong every time.
"""

import argparse
import importlib
import json
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import recording  # noqa: E402
import torch  # noqa: E402

import pyrometer  # noqa: E402

NAMES = (
    "slow_loader",
    "items",
    "float64",
    "single_tensor_updates",
    "leak",
    "needless_copies",
    "tiny_ops",
    "attention",
    "pageable_copies",
    "small_collectives",
)
MOST_NEW_SHARE = 0.05


def load(name):
    return importlib.import_module(name)


def names_for(device):
    return [name for name in NAMES if device != "cpu" or not load(name).PLANTED.needs_device]


def is_at(place, script):
    """Whether a place is the planted one: its layer, its line, or the function around it, whose
    first line is what torch.profiler records."""
    planted = script.PLANTED
    if planted.layer and place == planted.layer:
        return True
    found = re.fullmatch(r"(.*)\((\d+)\): (.*)", place)
    if not found or not found[1].endswith(f"{script.__name__}.py"):
        return False
    is_line = int(found[2]) == recording.planted_line(script)
    return is_line or found[3].split(".")[-1] == planted.function


def describe(finding, span_ns):
    share = f"{finding['gain_ns'] / span_ns:.0%}" if (finding["gain_ns"] or -1) >= 0 else "-"
    return f"{finding['id']} ({share}, {finding['place'] or 'no place'})"


def span_of(trace):
    return sum(trace.steps["span_ns"]) or trace.span_ns


def check_planted(script, trace, device):
    """Returns what is wrong; "" if nothing is."""
    wanted = script.PLANTED.finding_on(device)
    found = list(trace.findings)
    first = describe(found[0], span_of(trace)) if found else "nothing"
    if not found or found[0]["id"] != wanted:
        return f"first is {first}, not {wanted}"
    if not is_at(found[0]["place"], script):
        return f"{first} is at the wrong place"
    return ""


def check_fixed(script, trace, before, device):
    known = {finding["id"] for finding in before.findings}
    known |= {part["id"] for part in before.finding_parts}
    for finding in trace.findings:
        gain_ns = finding["gain_ns"]
        if finding["id"] == script.PLANTED.finding_on(device):
            return f"{describe(finding, span_of(trace))} is still there"
        if finding["id"] not in known and (gain_ns or 0) > MOST_NEW_SHARE * span_of(trace):
            return f"{describe(finding, span_of(trace))} is new"
    return ""


def mentions_device(path, device):
    """On a run without a device nothing on the first screen may speak of one."""
    if device != "cpu":
        return ""
    words = re.findall(r"\b(?:device|GPU|CUDA|kernel)s?\b", str(pyrometer.trace(path)))
    return f"the first screen speaks of {words[0]!r}" if words else ""


def record_all(names, folder, device, end=None):
    """Pyrometer comes first: once torch.profiler has used CUPTI in a process, it keeps it.

    Keeps recordings that are there. Returns whether all were made before the time `end`.
    """
    for recorder in reversed(recording.RECORDERS):
        for name in names:
            for is_fixed in (False, True):
                script = load(name)
                if recording.path_of(script, recorder, folder, is_fixed).exists():
                    continue
                if end and time.monotonic() > end:
                    return False
                recording.record(script, recorder, folder, device, is_fixed)
    return True


def is_recorded(name, folder):
    return all(
        recording.path_of(load(name), recorder, folder, is_fixed).exists()
        for recorder in recording.RECORDERS
        for is_fixed in (False, True)
    )


def record_again(name, folder, device):
    script = load(name)
    for recorder in reversed(recording.RECORDERS):
        for is_fixed in (False, True):
            recording.path_of(script, recorder, folder, is_fixed).unlink()
            recording.record(script, recorder, folder, device, is_fixed)


def check_often(name, folder, device, again):
    """Rows of the first recordings without a problem, or of the last ones."""
    rows = list(check_recordings(name, folder, device))
    for _ in range(again):
        if not any(problem for _, _, problem, _ in rows):
            break
        record_again(name, folder, device)
        rows = list(check_recordings(name, folder, device))
    return rows


def check_recordings(name, folder, device):
    """Yields (recorder, "planted" or "fixed", what is wrong, the first finding)."""
    script = load(name)
    for recorder in recording.RECORDERS:
        paths = [recording.path_of(script, recorder, folder, fixed) for fixed in (False, True)]
        traces = [pyrometer.trace(path) for path in paths]
        wrong = check_planted(script, traces[0], device) or mentions_device(paths[0], device)
        gone = check_fixed(script, *reversed(traces), device) or mentions_device(paths[1], device)
        for kind, trace, problem in zip(("planted", "fixed"), traces, (wrong, gone), strict=True):
            first = [describe(finding, span_of(trace)) for finding in trace.findings][:1]
            yield recorder, kind, problem, "".join(first)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="Scripts to check; default all.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("-o", "--output", help="Folder that keeps the recordings.")
    parser.add_argument("--json", help="File for the results.")
    parser.add_argument("--again", type=int, default=0, help="Most further recordings.")
    parser.add_argument("--seconds", type=float, help="Stop recording after this time.")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds if options.seconds else None
    if options.device == "cpu":
        torch.set_num_threads(1)
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.output or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        names = options.names or names_for(options.device)
        is_whole = record_all(names, folder, options.device, end)
        for name in [name for name in names if is_recorded(name, folder)]:
            rows = check_often(name, folder, options.device, options.again)
            for recorder, kind, problem, first in rows:
                results.append([name, recorder, kind, problem])
                print(f"{'FAIL' if problem else 'ok':4} {name:22} {recorder:9} {kind:7} "
                      f"{problem or first}", flush=True)  # fmt: skip
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results))
    print(f"{sum(not problem for *_, problem in results)} of {len(results)} checks pass")
    sys.exit(any(problem for *_, problem in results) if is_whole else 3)


if __name__ == "__main__":
    main()
