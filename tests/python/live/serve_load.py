#!/usr/bin/env python3
"""Loads `pyrometer serve` with many connections and hostile requests on loopback, and measures it.

`serve_load.py --connections 1000 --seconds 60` makes a folder with traces, links out of it, a FIFO
and hidden files, serves it, and keeps that many connections busy.
It fails if the server ends, writes an error, gives away a byte from outside its folder, refuses a
good request, or keeps growing. Prints a table, or JSON with --json.
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

SECRET = b"secret-outside-of-the-folder"
ROOT = pathlib.Path(__file__).resolve().parents[3]

# What a path may look like that must never be served; {outside} is a file beside the folder.
PATHS = [
    "..", ".", "", "/", "../outside.json", "sub/../../outside.json", "./trace.json", "sub/./x.json",
    "%2e%2e%2foutside.json", "%2e%2e/outside.json", "..%2foutside.json",
    "%252e%252e%252foutside.json",
    "..%5coutside.json", "..%c0%afoutside.json", "%c0%ae%c0%ae/outside.json", "....//outside.json",
    "{outside}", "/etc/passwd", "%2fetc%2fpasswd", "//etc/passwd", "file:///etc/passwd",
    "/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/self/fd/0",
    "link.json", "links/outside.json",
    "fifo.json", ".hidden.json", "sub", "sub/", "trace.json%00.png", "trace.json/", "trace.json/x",
    "a" * 2000, "%", "%zz", "trace.json%", "\u202etrace.json", "socket.json",
]  # fmt: skip
ROUTES = ["/api/page", "/page", "/api/perfetto", "/perfetto"]


def make_folder(base):
    """A folder to serve, and a file with a secret beside it."""
    outside = base / "outside.json"
    outside.write_bytes(b'{"traceEvents": [], "schema": "pyrometer.' + SECRET + b'"}')
    folder = base / "served"
    (folder / "sub").mkdir(parents=True)
    for source in sorted((ROOT / "tests/files/kineto").glob("good-*.json"))[:4]:
        shutil.copy(source, folder / source.name)
    shutil.copy(ROOT / "tests/files/kineto/good-1-kineto.json", folder / "trace.json")
    shutil.copy(ROOT / "tests/files/kineto/bad-12-garbage-behind.json", folder / "sub/bad.json")
    (folder / "link.json").symlink_to(outside)
    (folder / "links").symlink_to(base)
    (folder / ".hidden.json").write_bytes(outside.read_bytes())
    os.mkfifo(folder / "fifo.json")
    return folder, outside


class Server:
    """A running `pyrometer serve`."""

    def __init__(self, tool, folder):
        self.process = subprocess.Popen(
            [tool, "serve", folder, "--port", "0", "-q"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        found = re.match(
            r"http://127\.0\.0\.1:(\d+)/\?token=(\w+)\n", self.process.stdout.readline().decode()
        )
        self.port, self.token = int(found[1]), found[2]

    def memory_kib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        self.process.terminate()
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors.decode()


class Load:
    """Requests of one kind after the other, on many connections."""

    def __init__(self, server, outside, seed):
        self.server, self.outside = server, outside
        self.random = random.Random(seed)
        self.done = collections.Counter()
        self.failures = []

    def good(self):
        path = self.random.choice(["/", "/serve.js", "/api/files", "/api/page?file=trace.json"])
        token = (
            ""
            if path in ("/", "/serve.js")
            else f"{'&' if '?' in path else '?'}token={self.server.token}"
        )
        return "good", {200}, self.head(f"GET {path}{token}")

    def head(self, line, host=None, fields=""):
        host = host or f"127.0.0.1:{self.server.port}"
        return f"{line} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode("utf-8", "surrogateescape")

    def outside_path(self):
        name = self.random.choice(PATHS).format(outside=self.outside)
        route = self.random.choice(ROUTES)
        if name and self.random.random() < 0.2:
            return "path", {403, 404, 400, 431}, self.head(f"GET /{name.replace(' ', '+')}")
        return (
            "path",
            {404, 400, 431},
            self.head(f"GET {route}?file={name}&token={self.server.token}"),
        )

    def stranger(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return "token", {403}, self.head("GET /api/files?token=" + "0" * 32)
        if kind == 1:
            return "token", {403}, self.head("GET /page?file=trace.json")
        if kind == 2:
            return (
                "host",
                {421},
                self.head(f"GET /api/files?token={self.server.token}", host="evil.example"),
            )
        fields = "Host: 127.0.0.1\r\n"
        return "host", {421}, self.head(f"GET /?token={self.server.token}", fields=fields)

    def broken(self):
        noise = self.random.randbytes(self.random.randrange(1, 2000))
        return "broken", None, self.random.choice([
            noise, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00" + noise,
            b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 20000,
            b"GET " + b"/" * 9000 + b" HTTP/1.1\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n" + noise,
            b"GET / HTTP/9\r\n\r\n",
            b"DELETE /api/files HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"A:b\r\n" * 1500 + b"\r\n",
            b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET  / HTTP/1.1\r\n folded\r\n\r\n",
        ])  # fmt: skip

    async def one(self):
        kind, allowed, request = self.random.choice(
            [self.good, self.outside_path, self.stranger, self.broken]
        )()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            if self.random.random() < 0.2:  # in two pieces, and sometimes only the first
                cut = self.random.randrange(len(request))
                writer.write(request[:cut])
                await asyncio.sleep(self.random.random() * 0.5)
                if self.random.random() < 0.3:
                    self.done["abandoned"] += 1
                    return
                request = request[cut:]
            writer.write(request)
            answer = await asyncio.wait_for(reader.read(), 40)
        except (ConnectionError, asyncio.IncompleteReadError):
            answer = b""
        finally:
            writer.close()
        self.judge(kind, allowed, answer)

    def judge(self, kind, allowed, answer):
        status = int(answer[9:12]) if re.match(rb"HTTP/1.1 \d{3} ", answer) else 0
        self.done[f"{kind} {status or 'closed'}"] += 1
        if SECRET in answer:
            self.failures.append(f"{kind}: gave away what is outside of the folder")
        # Many connections at once may find all places taken, which closes them.
        if allowed is not None and status and status not in allowed:
            self.failures.append(f"{kind}: status {status}: {answer[:200]!r}")
        if status >= 500 and status != 505:
            self.failures.append(f"{kind}: status {status}")

    async def keep_busy(self, until):
        while time.monotonic() < until and len(self.failures) < 10:
            try:
                await self.one()
            except OSError as error:
                self.done[f"client: {error.strerror}"] += 1
                await asyncio.sleep(0.05)


async def run(server, load, connections, seconds):
    """Returns samples of the server's memory: (seconds, KiB)."""
    begun = time.monotonic()
    tasks = [asyncio.create_task(load.keep_busy(begun + seconds)) for _ in range(connections)]
    samples = []
    while not all(task.done() for task in tasks):
        samples.append((round(time.monotonic() - begun, 1), server.memory_kib()))
        await asyncio.wait(tasks, timeout=max(seconds / 60, 0.1))
    for task in tasks:
        task.result()
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=str(ROOT / "build/pyrometer"))
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 8192), limit))

    with tempfile.TemporaryDirectory() as base:
        folder, outside = make_folder(pathlib.Path(base))
        server = Server(os.path.abspath(arguments.tool), folder)
        load = Load(server, outside, arguments.seed)
        before = server.descriptors()
        samples = asyncio.run(run(server, load, arguments.connections, arguments.seconds))
        time.sleep(1)
        is_alive = server.process.poll() is None
        left = server.descriptors() - before if is_alive else -1
        code, errors = server.stop()

    # The first quarter fills buffers and makes the first pages.
    settled = [kib for at, kib in samples if at >= arguments.seconds / 4] or [samples[-1][1]]
    growth = settled[-1] - settled[0]
    failures = list(load.failures)
    if not is_alive or code != 0:
        failures.append(f"the server ended with {code}")
    if errors:
        failures.append(f"the server wrote: {errors[:300]}")
    if growth > 2048:
        failures.append(f"memory grew by {growth} KiB after the first quarter")
    if left > 80:  # finished pages are kept open
        failures.append(f"{left} descriptors are left open")
    result = {
        "connections": arguments.connections, "seconds": arguments.seconds,
        "requests": sum(load.done.values()), "outcomes": dict(sorted(load.done.items())),
        "memory_kib": {
            "first": samples[0][1], "settled": settled[0], "last": settled[-1],
            "most": max(kib for _, kib in samples),
        },
        "descriptors_left": left, "failures": failures,
    }  # fmt: skip
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        for key, value in result.items():
            print(f"{key:18} {value}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
