#!/usr/bin/env python3
"""Prints the line coverage of src/ per room, and lists the lines that no test reached.

    coverage.py BUILD

BUILD is a build with --coverage whose tests have run. The list is BUILD/uncovered.txt, one line
per file: path, share, line ranges.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"


def read_counts(build):
    """Number of runs of each line of src/, by file; a header's lines are summed over its users."""
    counts = collections.defaultdict(collections.Counter)
    objects = sorted(build.glob("CMakeFiles/pyrometer_objects.dir/**/*.gcno"))
    if not objects:
        sys.exit(f"coverage: {build}: no .gcno files; build with --coverage")
    reports = subprocess.run(
        [os.environ.get("GCOV", "gcov"), "--json-format", "--stdout", *map(str, objects)],
        cwd=build, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for report in reports.splitlines():
        data = json.loads(report)
        folder = pathlib.Path(data["current_working_directory"])
        for entry in data["files"]:
            path = (folder / entry["file"]).resolve()
            if SOURCES in path.parents:
                for line in entry["lines"]:
                    counts[path][line["line_number"]] += line["count"]
    return counts


def ranges(lines):
    """[3, 4, 5, 9] as '3-5, 9'."""
    parts = []
    for line in sorted(lines):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def percent(covered, total):
    return f"{100 * covered / total:.1f} %" if total else "-"


def write_uncovered(counts, path):
    with path.open("w") as out:
        for source in sorted(counts):
            lines = counts[source]
            missed = [line for line, count in lines.items() if count == 0]
            if missed:
                share = percent(len(lines) - len(missed), len(lines))
                out.write(f"{source.relative_to(ROOT)}: {share}: {ranges(missed)}\n")


def print_rooms(counts):
    rooms = collections.defaultdict(lambda: [0, 0, 0])
    for source, lines in counts.items():
        covered = sum(count > 0 for count in lines.values())
        for name in (source.relative_to(SOURCES).parts[0], "all"):
            row = rooms[name]
            row[0] += 1
            row[1] += len(lines)
            row[2] += covered
    print(f"{'room':<10} {'files':>6} {'lines':>7} {'missed':>7} {'covered':>9}")
    for name in sorted(rooms, key=lambda name: (name == "all", name)):
        files, lines, covered = rooms[name]
        print(f"{name:<10} {files:>6} {lines:>7} {lines - covered:>7} {percent(covered, lines):>9}")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: coverage.py BUILD")
    build = pathlib.Path(sys.argv[1]).resolve()
    counts = read_counts(build)
    print_rooms(counts)
    write_uncovered(counts, build / "uncovered.txt")
    print(f"{os.path.relpath(build / 'uncovered.txt')} lists the uncovered lines")


if __name__ == "__main__":
    main()
