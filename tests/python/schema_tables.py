"""The schema of every table of a trace, made from the library's own description of its columns.

schema_tables.py --update writes them into schemas/trace-1.json; PYTHONPATH names the built package.
"""

import argparse
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schemas" / "trace-1.json"
ANY_TRACE = ROOT / "tests" / "files" / "trace" / "good-1-training.json"
OTHERWISE = ("memory",)  # an object with its own shape
ON_REQUEST = ("stacks",)  # only with --verbose


def column_schema(column):
    if isinstance(column, list):
        return {"type": "string"}
    if column.format == "?":
        return {"type": "boolean"}
    return {"type": ["number" if column.format == "d" else "integer", "null"]}


def table_schemas():
    """Schemas by JSON key."""
    import pyrometer

    trace = pyrometer.trace(ANY_TRACE)
    found = {}
    for name, columns in trace._core.tables().items():
        if name not in OTHERWISE:
            table = getattr(trace, name)
            types = {column: column_schema(table[column]) for column in columns}
            items = {"type": "object", "required": list(columns), "properties": types}
            found[name] = {"type": "array", "items": items}
    return found


def update(path):
    schema = json.loads(path.read_text())
    for name, table in table_schemas().items():
        schema["properties"][name] = table
        if name not in schema["required"] and name not in ON_REQUEST:
            schema["required"].append(name)
    path.write_text(json.dumps(schema, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", required=True)
    parser.parse_args()
    update(SCHEMA)
