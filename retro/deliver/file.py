"""Reviews as files: the same review, the same path and bytes, whole or not at all, and for nobody else's eyes."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import quote

from retro.deliver.channel import Retry, Sent
from retro.kinds import DAILY, KINDS
from retro.present.formats import render
from retro.report import RetrospectiveReport

if TYPE_CHECKING:
    from retro.config import Config
    from retro.deliver.channel import Message, Outcome
    from retro.kinds import FileFormat

__all__ = ["Files", "file_channel", "reviews_directory", "safe_name"]

_LONGEST: Final = 120


def reviews_directory(config: Config) -> Path:
    """Where the files go: as configured, else `reviews/` beside the database, or the configuration for a server's."""
    return config.home / "reviews" if config.store.reviews is None else config.store.reviews


def file_channel(config: Config) -> Files:
    """The channel as configured."""
    return Files(reviews_directory(config))


class Files:
    """The channel `file`: AGENT/KIND/KEY.json, .md and, of a period, .html; a later revision stands as KEY.r2.json.

    A day on which nothing happened is its .json alone: a bot at rest would fill the folder with empty pages.
    """

    name: Final = "file"

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def recipients(self, config: Config) -> tuple[str, ...]:  # noqa: ARG002  the folder is where it is
        """The one folder, by a name that is the same on every machine."""
        return ("reviews",)

    def send(self, message: Message) -> Outcome:
        """Write the files; `Retry` when the disk does not take them."""
        try:
            for path, text in self.files_of(message).items():
                _write_whole(path, text.encode())
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            return Retry(f"{os.strerror(error.errno or errno.EIO)}{where}")
        return Sent()

    def files_of(self, message: Message) -> dict[Path, str]:
        """Path -> content of a message's files."""
        key = safe_name(message.period_key or message.kind)
        stem = key if message.revision == 1 else f"{key}.r{message.revision}"
        folder = self.directory / safe_name(message.agent) / safe_name(message.kind)
        currency = message.currencies.get(message.agent, "")
        return {
            folder / f"{stem}.{form}": render(message.document, form, currency=currency)
            for form in _forms(message)
        }


def _forms(message: Message) -> tuple[FileFormat, ...]:
    """In which forms a review is written: those of its kind, an uneventful day for programs alone."""
    document = message.document
    if message.kind == DAILY.name and isinstance(document, RetrospectiveReport) and document.is_uneventful:
        return ("json",)
    return KINDS[message.kind].formats


def safe_name(text: str) -> str:
    """A foreign name as the name of one file: nothing in it leads elsewhere, and different names stay different."""
    plain = quote(text, safe=" ()+,;=@")
    plain = re.sub(r"^\.", "%2E", plain)
    if plain == text and len(plain) <= _LONGEST:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{plain[:_LONGEST]}~{digest}"


def _write_whole(path: Path, content: bytes) -> None:
    """Down to the disk, then into its place; not at all when it is there already."""
    _make(path.parent)
    try:
        if path.read_bytes() == content:
            return
    except FileNotFoundError:
        pass
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _appear(folder, path.name, content):
            _take_its_place(path, content)
        os.fsync(folder)  # a new name is a change of the directory
    finally:
        os.close(folder)


def _appear(folder: int, name: str, content: bytes) -> bool:
    """Give a name to a file that has none until it is whole, so that a death leaves no torn leftovers.

    False where the file system cannot, or where the name is taken.
    """
    try:
        handle = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o600, dir_fd=folder)
    except (AttributeError, OSError):
        return False
    with os.fdopen(handle, "wb") as file:
        _write_down(file, content)
        try:
            os.link(f"/proc/self/fd/{handle}", name, dst_dir_fd=folder, follow_symlinks=True)
        except OSError:
            return False
    return True


def _take_its_place(path: Path, content: bytes) -> None:
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            _write_down(file, content)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _write_down(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _make(directory: Path) -> None:
    """The folder and those above it, each for its owner alone where it is new."""
    if not directory.is_dir():
        _make(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
