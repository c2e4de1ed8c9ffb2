"""Reads the data that a page of `pyrometer report` contains."""

import base64
import json
import re
import zlib

import pytest

from pyrometer._testing import core


def read_parts(page: str) -> list[tuple[dict, dict]]:
    """Description and result (as in JSON output) of every part of a page."""
    if not core.page_is_available():
        pytest.skip("this build has no page")
    packed = re.search(r'id="pyrometer-data">([^<]*)<', page).group(1)
    data = zlib.decompress(base64.b64decode(packed))
    size = int.from_bytes(data[:4], "little")
    head, rest = json.loads(data[4 : 4 + size]), data[4 + size :]
    found = []
    for part in head["parts"]:
        section = next(one for one in part["sections"] if one["name"] == "result")
        text = rest[section["offset"] : section["offset"] + section["bytes"]]
        found.append((part, json.loads(text)))
    return found
