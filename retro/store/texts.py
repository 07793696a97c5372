"""Long texts as a column keeps them: packed on SQLite, as written on PostgreSQL, which packs long values itself."""

from __future__ import annotations

import zlib
from typing import Any, Final

from sqlalchemy import Dialect, Text, TypeDecorator

from retro.errors import StoreError

__all__ = ["PackedText"]

_WHOLE: Final = 1024
"""Characters up to which a text stays as it is: it lies within one page of the file, packed or not."""


class PackedText(TypeDecorator[str]):
    """A text that comes back as it was written, in a sixth of the room: bytes of zlib on SQLite.

    A value that is text was written so: a short one, or one from before texts were packed. Nothing rewrites those.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """Packed where the database does not do it."""
        if value is None or dialect.name != "sqlite" or len(value) <= _WHOLE:
            return value
        return zlib.compress(value.encode())

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002  the base class names it
        """The text, from either form; `StoreError` where its bytes were changed."""
        if value is None or isinstance(value, str):
            return value
        try:
            return zlib.decompress(value).decode()
        except (zlib.error, UnicodeDecodeError) as error:
            raise StoreError(
                f"a stored text is damaged ({error}); restore the database from a backup"
            ) from error
