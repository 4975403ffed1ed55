"""Uploaded files: tickets, bytes, and the file objects of the Web API."""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from bot.local_slack.host import Host
from bot.local_slack.options import TEAM_ID
from bot.local_slack.shapes import Json

MAX_BYTES = 100_000_000


@dataclass(slots=True)
class StoredFile:
    """One file. ``data`` is None until its bytes have arrived; ``object`` is Slack's form."""

    object: Json
    data: bytes | None = None
    length: int = 0
    shared: bool = False


class Files:
    """All files, by id, and the upload addresses that are still open."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.by_id: dict[str, StoredFile] = {}
        self._tickets: dict[str, str] = {}

    def expect(self, name: str, length: int, user: str, alt_text: str = "") -> tuple[str, str]:
        """Announce a file; its id and the address that its bytes are posted to."""
        file_id = self._host.new_id("F")
        ticket = self._host.new_id("UP")
        self.by_id[file_id] = StoredFile(self._object(file_id, name, length, user), length=length)
        if alt_text:
            self.by_id[file_id].object["alt_txt"] = alt_text
        self._tickets[ticket] = file_id
        return file_id, f"{self._host.base_url}/upload/v1/{ticket}"

    def receive(self, ticket: str, data: bytes) -> bool:
        """Store the bytes for an open ticket; False for an unknown one or a wrong length."""
        file_id = self._tickets.get(ticket)
        if file_id is None or self.by_id[file_id].length != len(data):
            return False
        del self._tickets[ticket]
        self.by_id[file_id].data = data
        return True

    def add(self, name: str, data: bytes, user: str) -> Json:
        """A file that a person uploads in one go."""
        file_id, address = self.expect(name, len(data), user)
        self.receive(address.rpartition("/")[2], data)
        self.by_id[file_id].shared = True
        return self.by_id[file_id].object

    def get(self, file_id: str) -> StoredFile | None:
        """The file with this id whose bytes are here."""
        file = self.by_id.get(file_id)
        return file if file is not None and file.data is not None else None

    def load(self, saved: Mapping[str, tuple[Json, bytes]]) -> None:
        """Put back files of a saved state."""
        for file_id, (described, data) in saved.items():
            self.by_id[file_id] = StoredFile(described, data, len(data), shared=True)

    def _object(self, file_id: str, name: str, length: int, user: str) -> Json:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        suffix = name.rpartition(".")[2].lower() if "." in name else "text"
        address = f"{self._host.base_url}/files-pri/{TEAM_ID}-{file_id}"
        now = int(self._host.clock.now())
        return {
            "id": file_id,
            "created": now,
            "timestamp": now,
            "name": name,
            "title": name,
            "mimetype": kind,
            "filetype": suffix,
            "pretty_type": suffix.upper(),
            "user": user,
            "user_team": TEAM_ID,
            "size": length,
            "mode": "hosted",
            "is_external": False,
            "is_public": True,
            "url_private": f"{address}/{quote(name, safe='')}",
            "url_private_download": f"{address}/download/{quote(name, safe='')}",
            "permalink": f"{self._host.base_url}/files/{user}/{file_id}/{quote(name, safe='')}",
            "file_access": "visible",
        }
