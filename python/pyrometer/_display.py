"""Renders results: pages and tables for notebooks, rows as pandas DataFrames."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyrometer import _core

if TYPE_CHECKING:
    import pandas

MOST_ROWS = 50
# Events of a timeline in a notebook, which stores the page with its cell.
MOST_EVENTS = 50_000
_FRAME = "width: 100%; height: 760px; border: 1px solid #8884; border-radius: 6px"


def notebook(title: str, page: Callable[[], str], otherwise: Callable[[], str]) -> str:
    """The page of a result in a frame; in a build without the page, what `otherwise` returns."""
    if not _core.page_is_available():
        return otherwise()
    text = html.escape(page(), quote=True)
    return f'<iframe title="{_cell(title)}" style="{_FRAME}" srcdoc="{text}"></iframe>'


def clean(text: str) -> str:
    """Text from a file without terminal control, bidirectional and invisible characters."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)


def table(title: str, columns: Mapping[str, Callable[[Any], Any]], rows: Sequence[Any]) -> str:
    """An HTML table with a title; each column has a heading and a function of a row. Numbers are
    right-aligned, None is empty, everything is escaped."""
    heads = "".join(f"<th>{_cell(name)}</th>" for name in columns)
    body = "".join(_row(columns.values(), row) for row in rows[:MOST_ROWS])
    more = len(rows) - MOST_ROWS
    rest = f"<p>{more:,} more rows</p>" if more > 0 else ""
    return (
        f"<p>{_cell(title)}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{rest}"
    )


def _row(getters: Iterable[Callable[[Any], Any]], row: Any) -> str:
    cells = []
    for get in getters:
        value = get(row)
        side = "left" if isinstance(value, str) else "right"
        cells.append(f'<td style="text-align:{side}">{_cell(value)}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return html.escape(clean(str(value)))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def ms(name: str) -> Callable[[Any], float | None]:
    """A getter that converts a column from nanoseconds to milliseconds."""

    def get(row: Any) -> float | None:
        value = row[name]
        return None if value is None else value / 1e6

    return get


def import_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas() requires pandas: pip install pandas") from None
    return pandas


def frame(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """A DataFrame of rows with NA for None; numbers stay numbers."""
    pandas = import_pandas()
    names = dict.fromkeys(name for row in rows for name in row)
    return pandas.DataFrame(
        {name: _column(pandas, [row.get(name) for row in rows]) for name in names}
    )


def _column(pandas: Any, values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    if len(known) == len(values):
        return values
    if known and all(isinstance(value, bool) for value in known):
        return pandas.array(values, dtype="boolean")
    if known and all(type(value) is int for value in known):
        return pandas.array(values, dtype="Int64")
    if known and all(type(value) in (int, float) for value in known):
        return pandas.array(values, dtype="Float64")
    return [pandas.NA if value is None else value for value in values]


def column(values: Any, unknown: int | None) -> Any:
    """A column of numbers for a DataFrame; `unknown` (None: no such value) becomes NA. The type
    supports NA even if no value is unknown."""
    import numpy

    pandas = import_pandas()
    numbers = numpy.asarray(values)
    if unknown is None:
        return numbers
    missing = numbers == unknown
    if numbers.dtype.kind == "f":
        missing |= numpy.isnan(numbers)
        return pandas.arrays.FloatingArray(numbers.astype("float64"), missing)
    return pandas.arrays.IntegerArray(numbers.astype("int64"), missing)
