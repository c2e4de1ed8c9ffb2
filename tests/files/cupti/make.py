"""Writes synthetic.records: records with the sizes and offsets of CUDA 13.0's headers.

Files of real GPUs beside it come from tests/gpu/dump_records.py.
"""

import pathlib
import struct

# CUpti_ActivityKernel9, Memcpy6, MemcpyPtoP4, Memset4, Synchronization2, Overhead3: size by kind.
SIZES = {10: 216, 1: 96, 22: 104, 2: 88, 38: 56, 17: 64}


def record(kind, *members):
    content = bytearray(b"\x5a" * SIZES[kind])  # members that the reader does not know
    for offset, form, *values in [(0, "I", kind), *members]:
        struct.pack_into("<" + form, content, offset, *values)
    return struct.pack("<I", len(content)) + content


def kernel(correlation, graph=0, node=0):
    return record(
        10,
        (6, "H", 40),
        (16, "QQQ", 5_000_000, 5_002_500, 0),
        (40, "III", 0, 1, 7),
        (52, "6i", 32, 8, 1, 128, 1, 1),
        (76, "ii", 0, 4096),
        (92, "I", correlation),
        (104, "Q", 0x7F0012345678),
        (144, "QII", node, 0, graph),
    )


def main():
    parts = [
        kernel(11),
        kernel(12, graph=3, node=3 << 32 | 9),
        record(1, (4, "4B", 2, 3, 1, 0), (8, "QQQ", 4096, 10, 20), (32, "IIII", 0, 1, 7, 13),
               (64, "QI", 0, 0)),
        record(22, (4, "4B", 10, 3, 3, 0), (8, "QQQ", 64, 10, 20), (32, "III", 0, 1, 7),
               (60, "I", 14), (72, "QI", 0, 0)),
        record(2, (8, "QQQ", 1000, 10, 20), (32, "IIII", 0, 1, 7, 15), (48, "HH", 0, 3),
               (64, "QI", 0, 0)),
        record(38, (4, "I", 4), (8, "QQ", 10, 20), (24, "III", 16, 1, 0xFFFFFFFF)),
        record(17, (4, "I", 5 << 16), (24, "QQ", 10, 20)),
    ]  # fmt: skip
    target = pathlib.Path(__file__).with_name("synthetic.records")
    target.write_bytes(struct.pack("<I", 130000) + b"".join(parts))


if __name__ == "__main__":
    main()
