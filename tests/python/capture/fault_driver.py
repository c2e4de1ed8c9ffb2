"""Runs small programs for test_capture_faults.py, each in a forked child, so that torch is
imported once. `fault_driver.py jobs.json`; the status of each goes to standard output as JSON."""

import gc
import json
import os
import random
import signal
import sys
import time

import torch

import pyrometer  # noqa: F401

torch.set_num_threads(1)
gc.freeze()  # a child that collects garbage would copy all memory


def become(job):
    """In the child: restores the state of a fresh process."""
    os.chdir(job["folder"])
    for name in ("stdout", "stderr"):
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(fd, {"stdout": 1, "stderr": 2}[name])
    os.environ.update(job["environment"])
    random.seed(job["name"])


def calls_of(folder):
    """The count that a program wrote to the file `counter`; -1 before it starts."""
    if not os.path.exists(os.path.join(folder, "started")):
        return -1
    with open(os.path.join(folder, "counter"), "rb") as file:
        return int.from_bytes(file.read(8), "little")


jobs = json.load(open(sys.argv[1]))
statuses = {}
for job in jobs:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        become(job)
        code = compile(job["code"], "program.py", "exec")
        exec(code, {"__name__": "__main__"})
        sys.exit(0)
    if job.get("kill_after_calls") is not None:
        has_ended = False  # too early, by an error of its own: its status tells
        while calls_of(job["folder"]) < job["kill_after_calls"] and not has_ended:
            time.sleep(0.001)
            has_ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        time.sleep(job["pause_s"])
        os.kill(child, signal.SIGKILL)
    statuses[job["name"]] = os.waitpid(child, 0)[1]
print(json.dumps(statuses))
