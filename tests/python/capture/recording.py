"""Reads a recording by its documentation, without the library, for tests to compare with."""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from pathlib import Path

CHUNK = 256 * 1024
RECORD = struct.Struct("<QQqIIIIIIIIBBBBI")
MEMORY = struct.Struct("<QQqqqhhIQBBHI")
OP, LAYER, ALLOCATION = 1, 2, 3
NAME, SIGNATURE, FRAME, STACK, MODULE, STORAGES = 1, 2, 3, 4, 5, 6
FUNCTION, BACKWARD, TORCHSCRIPT, USER = 0, 1, 2, 7
RAISED, ELSEWHERE = 1, 2


@dataclasses.dataclass
class Module:
    root: int
    instance: int
    parameters: int
    parameter_bytes: int
    path: str
    class_name: str


@dataclasses.dataclass
class Span:
    kind: int
    thread: int
    start: int
    end: int
    name: str
    module: Module | None
    sequence: int
    inputs: list | None
    outputs: list | None
    input_storages: list
    output_storages: list
    stack: list[str]
    scope: int
    notes: int
    forward_thread: int
    torch_thread: int


@dataclasses.dataclass
class Memory:
    thread: int
    time: int
    address: int
    bytes: int
    total: int


class Recording:
    def __init__(self, path: str | Path) -> None:
        self.bytes = Path(path).read_bytes()
        assert self.bytes[:8] == b"PYROREC1"
        self.flags, self.state = struct.unpack_from("<II", self.bytes, 24)
        self.data: dict[tuple[int, int], bytes] = {}
        self.spans: list[Span] = []
        self.memory: list[Memory] = []
        chunks = []
        for start in range(4096, len(self.bytes) - CHUNK + 1, CHUNK):
            sequence, kind, thread = struct.unpack_from("<QII", self.bytes, start)
            if sequence and kind:
                chunks.append((sequence, kind, thread, start))
        for sequence, kind, _, start in sorted(chunks):
            if kind == 2:
                self._read_data(start, sequence & 0xFFFFFFFF)
        for sequence, kind, thread, start in sorted(chunks):
            if kind == 1:
                self._read_records(start, sequence & 0xFFFFFFFF, thread)
        self.spans.sort(key=lambda span: span.start)
        self.memory.sort(key=lambda one: one.time)

    def _read_data(self, start: int, tag: int) -> None:
        at = start + 64
        while at + 16 <= start + CHUNK:
            size, number, kind, entry_tag = struct.unpack_from("<IIII", self.bytes, at)
            if entry_tag != tag:
                break
            self.data[kind, number] = self.bytes[at + 16 : at + 16 + size]
            at += 16 + (size + 15) // 16 * 16

    def text(self, kind: int, number: int) -> str:
        return self.data[kind, number].decode() if number else ""

    def module(self, number: int) -> Module:
        data = self.data[MODULE, number]
        path, class_name = data[24:].split(b"\0")[:2]
        return Module(*struct.unpack_from("<IIQQ", data), path.decode(), class_name.decode())

    def words(self, kind: int, number: int) -> list[int] | None:
        if not number:
            return None
        data = self.data[kind, number]
        return list(struct.unpack(f"<{len(data) // 8}Q", data))

    def stack(self, number: int) -> list[str]:
        """Frames, outermost first."""
        if not number:
            return []
        around, *frames = struct.unpack(
            f"<{len(self.data[STACK, number]) // 4}I", self.data[STACK, number]
        )
        return self.stack(around) + [self.text(FRAME, frame) for frame in frames]

    def _read_records(self, start: int, tag: int, thread: int) -> None:
        for at in range(start + 64, start + CHUNK, 64):
            fields = RECORD.unpack_from(self.bytes, at)
            kind = fields[11]
            if fields[-1] != tag:
                continue
            if kind == 7:  # another thread continues in this chunk
                thread = fields[3]
            elif kind == ALLOCATION:
                memory = MEMORY.unpack_from(self.bytes, at)
                self.memory.append(Memory(thread, memory[0], memory[1], memory[2], memory[3]))
            elif kind in (OP, LAYER):
                module = self.module(fields[3]) if kind == LAYER else None
                self.spans.append(
                    Span(
                        kind=kind,
                        thread=thread,
                        start=fields[0],
                        end=fields[1],
                        name=module.path if module else self.text(NAME, fields[3]),
                        module=module,
                        sequence=fields[2],
                        inputs=values(self.words(SIGNATURE, fields[4])),
                        outputs=values(self.words(SIGNATURE, fields[5])),
                        stack=self.stack(fields[6]),
                        forward_thread=fields[7],
                        torch_thread=fields[8],
                        input_storages=pairs(self.words(STORAGES, fields[9])),
                        output_storages=pairs(self.words(STORAGES, fields[10])),
                        scope=fields[12],
                        notes=fields[13],
                    )
                )

    @property
    def layers(self) -> list[Span]:
        return [span for span in self.spans if span.kind == LAYER]

    @property
    def ops(self) -> list[Span]:
        return [span for span in self.spans if span.kind == OP]


def pairs(words: list[int] | None) -> list[tuple[int, int]]:
    """(storage, version) of every tensor."""
    found, at = [], 0
    while words and at < len(words):
        found.append((words[at + 1], words[at + 2]))
        at += 6 + (words[at + 5] >> 32)
    return found


def values(words: list[int] | None) -> list | None:
    """Tensors as (dtype number, sizes), lists as lists, scalars as they are, "..." for a cut."""
    if words is None:
        return None
    result, at = [], 0
    while at < len(words):
        value, at = _value(words, at)
        result.append(value)
    return result


def _value(words: list[int], at: int):
    head = words[at]
    kind, count = head & 255, head >> 32
    at += 1
    if kind == 1:
        return (head >> 8 & 255, tuple(words[at : at + count])), at + count
    if kind == 2:
        return struct.unpack("<q", struct.pack("<Q", words[at]))[0], at + 1
    if kind == 3:
        return struct.unpack("<d", struct.pack("<Q", words[at]))[0], at + 1
    if kind == 4:
        return bool(words[at]), at + 1
    if kind == 5:
        items = []
        while count and at < len(words):
            item, at = _value(words, at)
            items.append(item)
            count -= 1
        return items, at
    return {0: None, 6: "other", 7: "..."}[kind], at


@contextlib.contextmanager
def observed(path: str | Path, *what: str):
    """Records the named parts ("layers", "ops", ...) to a file, with the functions of sessions."""
    import torch

    from pyrometer._testing import core, observer_build, observers

    flags = sum(getattr(core, f"RECORD_{one.upper()}") for one in what)
    flags |= core.RECORD_OUTPUTS if "shapes" in what else 0
    core.recorder_start(str(path), flags, 0, False, True, False)
    try:
        if "stacks" in what:
            core.stacks_install(observer_build.stack_functions())
        if "layers" in what:
            core.layers_install(torch.nn.Module._call_impl, torch.nn.Module)
        if "shapes" in what:
            observers.watch_inputs()
        if "ops" in what or "memory" in what:
            observer_build.start(flags)
        yield
    finally:
        observer_build.stop()
        core.layers_remove()
        core.recorder_stop()
        core.stacks_remove()


def record(path: str | Path, work, *what: str) -> Recording:
    with observed(path, *(what or ("layers", "ops", "shapes", "memory"))):
        work()
    return Recording(path)
