"""Runs small programs as test_capture_faults.py asks: each in a forked child, so that torch is
imported once. `fault_driver.py jobs.json`; the status of each goes to standard output as JSON."""

import json
import os
import random
import signal
import sys
import time

import torch

import pyrometer  # noqa: F401

torch.set_num_threads(1)


def become(job):
    """In the child: what a fresh process would have."""
    os.chdir(job["folder"])
    for name in ("stdout", "stderr"):
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(fd, {"stdout": 1, "stderr": 2}[name])
    os.environ.update(job["environment"])
    random.seed(job["name"])


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
    if job.get("kill_after_s") is not None:
        while not os.path.exists(os.path.join(job["folder"], "started")):
            time.sleep(0.001)
        time.sleep(job["kill_after_s"])
        os.kill(child, signal.SIGKILL)
    statuses[job["name"]] = os.waitpid(child, 0)[1]
print(json.dumps(statuses))
