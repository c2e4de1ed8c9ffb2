"""Extreme traces: deep nesting, or more threads than tracks."""

from __future__ import annotations

import json
import os
import resource
import subprocess

TOOL = os.environ.get("PYRO_TOOL", "pyrometer")


def nested_modules(path, depth):
    """Modules inside of modules, with an op in each."""
    with open(path, "w") as file:
        file.write('{"traceEvents":[')
        for i in range(depth):
            file.write(
                f'{{"ph":"X","cat":"python_function","name":"nn.Module: Block_{i}","pid":1,'
                f'"tid":1,"ts":{10 * i},"dur":{40 * depth - 20 * i}}},\n'
                f'{{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":{10 * i + 2},'
                f'"dur":3}},\n'
            )
        file.write('{"ph":"i","name":"end","ts":0}]}')


def processor_time(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([TOOL, *command], check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def test_a_hundred_thousand_nested_modules_take_linear_time(tmp_path):
    few, many = tmp_path / "few.json", tmp_path / "many.json"
    nested_modules(few, 10_000)
    nested_modules(many, 100_000)
    for options in (["trace", "-q"], ["ranks", "-q"]):
        # Linear work would grow ten times, quadratic work a hundred times. Other load on
        # the machine changes CPU time by a factor of two at most.
        allowed = 40 * max(processor_time(*options, few), 0.02)
        assert processor_time(*options, many) < allowed


def test_warnings_beyond_65535_tracks_do_not_depend_on_threads(tmp_path):
    path = tmp_path / "tracks.json"
    with open(path, "w") as file:
        file.write('{"traceEvents":[')
        for i in range(140_000):
            file.write(
                f'{{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":{i % 70_000},'
                f'"ts":{i},"dur":1,"args":{{"External id":{i},"Sequence number":{i}}}}},\n'
            )
        file.write('{"ph":"i","name":"end","ts":0}]}')
    outputs = set()
    for threads in ("1", "2", "4", "4", "7"):
        done = subprocess.run(
            [TOOL, "trace", path, "--threads", threads, "--format", "json"],
            check=True,
            capture_output=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    warnings = json.loads(outputs.pop())["warnings"]
    # 65,535 tracks, and two events on each of the 4,465 threads that are left.
    assert warnings == ["8930 events beyond 65535 threads and streams (put into one track)"]
