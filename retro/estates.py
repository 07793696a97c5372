"""An operator's hands for Python: agents forgotten, renamed, merged, exported and imported, the database saved."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retro.app.estate.census import Estate
    from retro.app.estate.folders import EstateFolders
    from retro.app.questions.experience import Experience
    from retro.store.database import Store

__all__ = ["Estates"]


class Estates:
    """What `retro agents`, `export`, `import` and `backup` do. Nobody is asked again: what is called is done.

    Files and records lie where the configuration that the mirror was opened with says.
    """

    store: Store
    experience: Experience

    def forget(self, agent: str) -> dict[str, Any]:
        """Delete everything of an agent, files and records included; what there was, as `--json` prints it."""
        from retro.app.estate import removal  # noqa: PLC0415  as is loaded what only operators ask for, here and below

        host = os.uname().nodename
        config = self.experience.config
        estate = removal.forget(self.store, config, self._folders(), agent, clock=_clock, host=host)
        return {**_document(estate), "forgotten": True}

    def undo_forget(self, agent: str) -> str:
        """Let the sources of a forgotten agent tell of it again; what that brings back and what not."""
        from retro.app.estate import removal  # noqa: PLC0415  as above

        return removal.undo_forget(self.store, agent)

    def rename(self, agent: str, new: str) -> dict[str, Any]:
        """Give an agent another name; the old one, and its ids, lead there."""
        from retro.app.estate.rename import rename  # noqa: PLC0415  as above

        estate = rename(self.store, self._folders(), agent, new, clock=_clock)
        return {**_document(estate), "renamed_to": new}

    def merge(self, agent: str, into: str) -> dict[str, Any]:
        """Make one life of two agents: the facts and the memory of the first go to the second."""
        from retro.app.estate.merger import merge  # noqa: PLC0415  as above

        estate = merge(self.store, self._folders(), agent, into, clock=_clock)
        return {**_document(estate), "merged_into": into}

    def export(self, agent: str, folder: str | Path) -> dict[str, Any]:
        """Write an agent into a folder that is not there yet; no secret, no letter and no address goes out."""
        from retro.app.estate.archive import export_agent  # noqa: PLC0415  as above
        from retro.secret import find_secrets  # noqa: PLC0415  as above

        config, secrets = self.experience.config, find_secrets(os.environ)
        manifest = export_agent(self.store, config, self._folders(), agent, Path(folder), secrets)
        files = {name: {"sha256": f.sha256, "lines": f.lines} for name, f in manifest.files.items()}
        return {"agent": agent, "folder": str(folder), "format": manifest.format, "files": files}

    def import_(self, folder: str | Path) -> dict[str, Any]:
        """Take in an exported agent, all of it or nothing; an agent of that name must not be there."""
        from retro.app.estate.arrival import import_agent  # noqa: PLC0415  as above

        arrival = import_agent(self.store, self._folders(), Path(folder))
        return {"agent": arrival.agent, "rows": arrival.rows, "shared_marks": arrival.shared_marks}

    def backup(self, file: str | Path) -> int:
        """Copy a SQLite database into a file that is not there yet, while others work on it; its size in bytes."""
        from retro.store.backup import back_up  # noqa: PLC0415  as above

        return back_up(self.store, Path(file))

    def _folders(self) -> EstateFolders:
        from retro.app.estate.folders import folders_of  # noqa: PLC0415  as above

        return folders_of(self.store, self.experience.config)


def _clock() -> int:
    return time.time_ns() // 1000


def _document(estate: Estate) -> dict[str, Any]:
    document = estate.document()
    return {"agent": estate.name, "rows": document["rows"], "files": document["files"]}
