"""The exception of this package."""

from __future__ import annotations


class Error(Exception):
    """Pyrometer could not read, price, record or run something.

    Attributes:
        code: the kind of failure: "io", "format", "unsupported", "limit", "argument", "export" or
            "cluster".
        where: the file, and the member of it, that was being read; otherwise "".
        offset: the byte offset in it, or None.
    """

    __module__ = "pyrometer"

    def __init__(
        self, message: str, code: str = "unsupported", where: str = "", offset: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.where = where
        self.offset = offset

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, str, int | None]]:
        return type(self), (str(self), self.code, self.where, self.offset)
