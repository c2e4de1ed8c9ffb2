"""Makes a large Kineto trace from a real one by repeating its events with later times.

The text of the events is kept as it is; only times and ids move, so that copies neither overlap
nor share an id. Names of threads, spans of the profiler and global marks are written once.

usage: python bench/gen_trace.py IN.json[.gz] OUT.json[.gz] BYTES
"""

import gzip
import json
import pathlib
import re
import sys

# Numbers that move, by the space they count in: ids of launches and flows are one space.
SPACES = {
    "ts": "time",
    "External id": "external",
    "external id": "external",
    "correlation": "launch",
    "id": "launch",
    "Sequence number": "sequence",
    "Python id": "python",
    "Python parent id": "python",
    "Ev Idx": "event",
    "Record function id": "function",
}
MOVING = re.compile(
    r'"(' + "|".join(map(re.escape, SPACES)) + r')"\s*:\s*(\d+)(?=[\s,.}\]])|ProfilerStep#(\d+)'
)
EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
MICROSECONDS_BETWEEN = 1000


def read_text(path: pathlib.Path) -> str:
    """The whole file, decompressed if its name ends in .gz."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        return file.read().decode("utf-8", "surrogateescape")


def split_events(text: str) -> tuple[int, int, list[tuple[str, dict]]]:
    """Where the events begin and end, and each as text and as object."""
    decoder = json.JSONDecoder(strict=False)
    found = EVENTS.search(text)
    at = found.end() if found else text.index("[") + 1
    events, begin, end = [], None, at
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] != "{":
            return begin or at, end, events
        event, behind = decoder.raw_decode(text, at)
        begin = at if begin is None else begin
        events.append((text[at:behind], event))
        at = end = behind


def is_written_once(event: dict) -> bool:
    """Whether an event describes the whole file, not something that happened."""
    mark = event.get("ph") == "i" and event.get("s") == "g"
    return event.get("ph") == "M" or event.get("cat") == "Trace" or mark


class Pattern:
    """The repeated text, cut at the numbers that move."""

    def __init__(self, text: str) -> None:
        self.pieces: list[str] = []
        self.numbers: list[tuple[str, int]] = []
        lowest: dict[str, int] = {}
        highest: dict[str, int] = {}
        at = 0
        for match in MOVING.finditer(text):
            group = 2 if match.group(1) else 3
            space = SPACES[match.group(1)] if match.group(1) else "step"
            value = int(match.group(group))
            if value == 0 and space in ("external", "launch"):
                continue  # none
            self.pieces.append(text[at : match.start(group)])
            self.numbers.append((space, value))
            at = match.end(group)
            lowest[space] = min(lowest.get(space, value), value)
            highest[space] = max(highest.get(space, value), value)
        self.pieces.append(text[at:])
        self.width = {space: highest[space] - lowest[space] + 1 for space in highest}

    def copy(self, number: int) -> str:
        """The text of one copy."""
        parts = []
        for piece, (space, value) in zip(self.pieces, self.numbers, strict=False):
            parts.append(piece)
            parts.append(str(value + number * self.width[space]))
        parts.append(self.pieces[-1])
        return "".join(parts)


def span_us(events: list[dict]) -> int:
    """From the first event's start to the last one's end."""
    timed = [event for event in events if float(event.get("ts", 0)) > 0]
    first = min(float(event["ts"]) for event in timed)
    last = max(float(event["ts"]) + float(event.get("dur", 0) or 0) for event in timed)
    return int(last - first) + MICROSECONDS_BETWEEN


def generate(source: pathlib.Path, target: pathlib.Path, size: int) -> None:
    """Writes whole copies until the file has `size` bytes."""
    text = read_text(source)
    begin, end, events = split_events(text)
    repeated = [(part, event) for part, event in events if not is_written_once(event)]
    once = [part for part, event in events if is_written_once(event)]
    separator = ",\n  "
    pattern = Pattern(separator.join(part for part, _ in repeated))
    pattern.width["time"] = span_us([event for _, event in repeated])
    opener = gzip.open if target.suffix == ".gz" else open
    partial = target.with_name(target.name + ".part")
    with opener(partial, "wb") as file:

        def write(part: str) -> int:
            return file.write(part.encode("utf-8", "surrogateescape"))

        written, number = write(text[:begin]), 0
        while number == 0 or written < size:
            written += write(separator if number else "")
            written += write(pattern.copy(number))
            number += 1
        for part in once:
            write(separator + part)
        write(text[end:])
    partial.rename(target)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    generate(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(float(sys.argv[3])))
