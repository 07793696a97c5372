"""Where an export of a fleet lies: a folder, or a prefix of object storage. A file is there whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import parse_qsl, urlsplit

from retro.errors import BusyError, RetroError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ExportPlace", "FolderPlace", "ObjectPlace", "opened_place"]

_PARTS: Final = ".parts"
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+]*)://")
_CREDENTIALS: Final = frozenset({"access_key", "secret_key", "session_token"})
_AT_ONCE: Final = 1 << 20


class ExportPlace(Protocol):
    """What an export needs of a place; every method may raise `OSError`. Names are relative, with `/`."""

    @property
    def spool(self) -> Path:
        """A folder of this machine in which files are written before `put` takes them."""

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none."""

    def names(self, folder: str) -> set[str]:
        """The names of the files in a folder, at any depth."""

    def put(self, name: str, written: Path) -> None:
        """Take a file of the spool in, whole or not at all; it is gone from there."""

    def remove(self, name: str) -> None:
        """Delete a file that is there."""


class FolderPlace:
    """A folder of this machine, for its owner's eyes only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.spool = folder / _PARTS

    def read(self, name: str) -> str | None:
        """As `ExportPlace` says."""
        try:
            return (self._folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> set[str]:
        """As `ExportPlace` says."""
        paths = (self._folder / folder).rglob("*")
        return {path.relative_to(self._folder).as_posix() for path in paths if path.is_file()}

    def put(self, name: str, written: Path) -> None:
        """Renamed into its place after it has reached the disk."""
        with written.open("rb") as file:
            os.fsync(file.fileno())
        place = self._folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        written.replace(place)
        _sync(place.parent)

    def remove(self, name: str) -> None:
        """And the folders that it leaves empty."""
        path = self._folder / name
        path.unlink()
        for folder in path.parents:
            if folder == self._folder:
                return
            try:
                folder.rmdir()
            except OSError:  # others are in it
                return


class ObjectPlace:
    """A prefix of object storage through pyarrow's file systems: an object appears when it is complete."""

    def __init__(self, files: Any, prefix: str, spool: Path) -> None:
        self._files = files
        self._prefix = prefix.rstrip("/")
        self.spool = spool

    def read(self, name: str) -> str | None:
        """As `ExportPlace` says."""
        try:
            with self._files.open_input_stream(f"{self._prefix}/{name}") as stream:
                return bytes(stream.read()).decode()
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> set[str]:
        """As `ExportPlace` says."""
        from pyarrow import fs  # noqa: PLC0415  an extra

        selector = fs.FileSelector(f"{self._prefix}/{folder}", allow_not_found=True, recursive=True)
        listed = self._files.get_file_info(selector)
        start = len(self._prefix) + 1
        return {each.path[start:] for each in listed if each.type == fs.FileType.File}

    def put(self, name: str, written: Path) -> None:
        """As `ExportPlace` says."""
        with written.open("rb") as source, self._files.open_output_stream(f"{self._prefix}/{name}") as target:
            shutil.copyfileobj(source, target, _AT_ONCE)
        written.unlink()

    def remove(self, name: str) -> None:
        """As `ExportPlace` says."""
        self._files.delete_file(f"{self._prefix}/{name}")


@contextmanager
def opened_place(location: str, spool: Path) -> Iterator[ExportPlace]:
    """The place that a path or a URL of S3 names, made where it is not there, and this process alone in it.

    `spool` is a folder of this machine for what goes to object storage. `UsageError` for what is neither, `BusyError`
    where another process exports into the folder; what the place itself refuses is a sentence of `RetroError`.
    """
    try:
        if scheme := _SCHEME.match(location):
            yield _object_place(location, scheme[1], spool)
        else:
            with _folder_place(Path(location).expanduser()) as place:
                yield place
    except OSError as error:
        raise RetroError(f"{_plain(location)} cannot be written: {error.strerror or error}") from error


@contextmanager
def _folder_place(folder: Path) -> Iterator[FolderPlace]:
    mask = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone_in(folder):
            place = FolderPlace(folder)
            shutil.rmtree(place.spool, ignore_errors=True)  # what a killed export had begun
            place.spool.mkdir()
            try:
                yield place
            finally:
                shutil.rmtree(place.spool, ignore_errors=True)
    finally:
        os.umask(mask)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise BusyError(f"another process is exporting to {folder}; one at a time") from None
    finally:
        os.close(descriptor)


def _object_place(location: str, scheme: str, spool: Path) -> ObjectPlace:
    from pyarrow import fs  # noqa: PLC0415  an extra

    if scheme != "s3":
        raise UsageError(f"there is no export to {scheme}://; name a folder or s3://BUCKET/PREFIX")
    url = urlsplit(location)
    if "@" in url.netloc or _CREDENTIALS & {name for name, _ in parse_qsl(url.query)}:
        raise UsageError(
            "no key belongs into the address of an export: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if not url.netloc or not url.path.strip("/"):
        raise UsageError("an export to object storage needs a bucket and a prefix: s3://BUCKET/PREFIX")
    try:
        files, prefix = fs.FileSystem.from_uri(location)
    except ValueError as error:
        raise UsageError(f"{_plain(location)} is no address of object storage: {error}") from error
    return ObjectPlace(files, prefix, spool)


def _plain(location: str) -> str:
    """A location without what may follow its path."""
    return location.partition("?")[0]


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
