"""The exception for models that cannot be read or priced."""

from __future__ import annotations


class Error(Exception):
    """A model could not be read or priced.

    Attributes:
        code: what kind of failure: "io", "format", "unsupported", "limit", "export" or
            "cluster".
        where: the file, and the member of it, that was being read; "" when none.
        offset: the byte in it, or None.
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
