"""Reads and writes zip archives with zstd members (method 93), which Python's zipfile cannot write.

The bytes depend only on the members and the version of zstandard.
"""

import pathlib
import struct
import zlib

import zstandard

_STORED = 0
_ZSTD = 93
_VERSION_NEEDED = 63
# Level 19 looks back 8 MiB, level 22 far more.
_LEVEL, _LONG_LEVEL = 19, 22
_LONG_BYTES = 1 << 23
# 1 January 1980, midnight: the earliest time in a zip.
_DOS_TIME, _DOS_DATE = 0, 0x21
_UNIX = 3 << 8
_PLAIN_FILE = 0o100644 << 16


def _compressed(data: bytes) -> tuple[int, bytes]:
    """The method and the bytes to store; uncompressed if zstd does not make them smaller."""
    level = _LEVEL if len(data) <= _LONG_BYTES else _LONG_LEVEL
    packed = zstandard.ZstdCompressor(level=level).compress(data)
    return (_ZSTD, packed) if len(packed) < len(data) else (_STORED, data)


def zstd_archive(members: dict[str, bytes]) -> bytes:
    """An archive of the members, sorted by name."""
    files, directory = [], []
    offset = 0
    for name in sorted(members):
        data, path = members[name], name.encode()
        method, packed = _compressed(data)
        common = struct.pack(
            "<HHHHHIIIHH",
            _VERSION_NEEDED,
            0,
            method,
            _DOS_TIME,
            _DOS_DATE,
            zlib.crc32(data),
            len(packed),
            len(data),
            len(path),
            0,
        )
        files.append(b"PK\3\4" + common + path + packed)
        directory.append(
            b"PK\1\2"
            + struct.pack("<H", _UNIX | _VERSION_NEEDED)
            + common
            + struct.pack("<HHHII", 0, 0, 0, _PLAIN_FILE, offset)
            + path
        )
        offset += len(files[-1])
    rows = b"".join(directory)
    end = struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(rows), offset, 0)
    return b"".join(files) + rows + b"PK\5\6" + end


def write_zstd(path: str, members: dict[str, bytes]) -> None:
    """Writes zstd_archive(members) to a file."""
    pathlib.Path(path).write_bytes(zstd_archive(members))


def read_zstd(path: str) -> dict[str, bytes]:
    """The members of an archive that write_zstd() wrote."""
    data = pathlib.Path(path).read_bytes()
    members = {}
    at = 0
    while data[at : at + 4] == b"PK\3\4":
        method, crc, packed_size, size, name_length = struct.unpack_from("<8xH4xIIIH", data, at)
        start = at + 30 + name_length
        packed = data[start : start + packed_size]
        content = (
            zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
            if method == _ZSTD
            else packed
        )
        if zlib.crc32(content) != crc:
            raise ValueError(f"{path}: invalid checksum")
        members[data[at + 30 : at + 30 + name_length].decode()] = content
        at = start + packed_size
    return members
