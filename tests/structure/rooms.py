"""The table of rooms in ARCHITECTURE.md: which folder, or single file, may use which."""

import dataclasses
import re

HEADING = "## Rooms"
FOLDER = re.compile(r"`([^`]+?)/?`")
REMARK = re.compile(r"\([^)]*\)")


@dataclasses.dataclass
class Room:
    folder: str
    uses: set  # folders of the rooms it names


def parse(text):
    """Rooms by folder, in the order of the table; raises ValueError if the table is invalid."""
    rooms = {}
    section = text[text.index(HEADING) :].split("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("| `") or len(cells) < 3:
            continue
        uses = _used_rooms(cells[-1], rooms)
        for folder in FOLDER.findall(cells[0]):
            rooms[folder] = Room(folder, uses)
    return rooms


def _used_rooms(cell, above):
    """The rooms above that a cell names: by folder, or by the folder's last part."""
    used = set()
    for name in REMARK.sub("", cell).replace("`", "").split(","):
        name = name.strip().rstrip("/")
        if name == "all above":
            used |= set(above)
        elif name == "shared files":
            used |= {path for path in above if path.endswith(".py")}
        elif name == "the library":
            used |= {folder for folder in above if folder.split("/")[0] in ("include", "src")}
        else:
            found = [folder for folder in above if folder == name or folder.split("/")[-1] == name]
            if len(found) > 1:
                raise ValueError(f"ARCHITECTURE.md: {name} is the name of several rooms: {found}")
            used |= set(found)
    return used


def room_of(rooms, path):
    """The innermost room that contains or is the file, or None."""
    inside = [room for room in rooms if path == room or path.startswith(room + "/")]
    return max(inside, key=len, default=None)


def allowed(rooms):
    """All rooms that each room may use: those it names, what these may use, public headers."""
    closure = {}
    for folder, room in rooms.items():  # names point up, so these are already in the result
        reach = {folder, "include/pyrometer"} | room.uses
        for used in room.uses:
            reach |= closure[used]
        closure[folder] = reach
    return closure
