"""Uploads that wait for their owner's word: files in the store, found again only by who uploaded them, for an hour."""

import json
import re
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.models import Project, User

FOLDER = "imports"
KEPT = timedelta(hours=1)
PER_USER = 5
# Whose, since when (seconds of the epoch), and 128 random bits.
ID = re.compile(r"(?P<user>\d{1,19})-(?P<since>\d{1,12})-[0-9a-f]{32}", re.ASCII)


class UploadGone(UserError):
    status = 410

    def __init__(self) -> None:
        super().__init__(
            _("This upload has expired: uploads are kept for an hour, and only your last five. Upload it again.")
        )


@dataclass(frozen=True)
class Upload:
    """details: what this kind of upload needs to know beside its files."""

    id: str
    project: str
    kind: str  # "table" or "images"
    name: str
    details: dict[str, Any]

    def open(self, file_name: str) -> File:
        return default_storage.open(path(self.id, file_name))

    def read(self, file_name: str) -> bytes:
        with self.open(file_name) as file:
            return bytes(file.read())


def path(upload_id: str, file_name: str) -> str:
    return f"{FOLDER}/{upload_id}/{file_name}"


def keep(
    *,
    user: User,
    project: Project,
    kind: str,
    name: str,
    details: dict[str, Any],
    files: dict[str, bytes | File],
    now: datetime,
) -> Upload:
    """Store the files until they are imported or an hour has passed; discard what others have left behind."""
    discard_expired(user, now)
    upload_id = f"{user.pk}-{int(now.timestamp())}-{secrets.token_hex(16)}"
    upload = Upload(upload_id, str(project.pk), kind, name, details)
    for file_name, content in files.items():
        file = ContentFile(content) if isinstance(content, bytes) else content
        default_storage.save(path(upload_id, file_name), file)
    default_storage.save(path(upload_id, "upload.json"), ContentFile(json.dumps(asdict(upload)).encode()))
    return upload


def load(*, upload_id: str, user: User, project: Project, now: datetime) -> Upload:
    """Return the user's own upload to this project; raises UploadGone for every other id."""
    match = ID.fullmatch(upload_id)
    if not match or int(match["user"]) != user.pk or expired(upload_id, now):
        raise UploadGone
    if not default_storage.exists(path(upload_id, "upload.json")):
        raise UploadGone
    with default_storage.open(path(upload_id, "upload.json")) as file:
        upload = Upload(**json.load(file))
    if upload.project != str(project.pk):
        raise UploadGone
    return upload


def discard(upload_id: str) -> None:
    folder = f"{FOLDER}/{upload_id}"
    for name in inside(folder)[1]:
        default_storage.delete(f"{folder}/{name}")
    default_storage.delete(folder)


def inside(folder: str) -> tuple[list[str], list[str]]:
    """Return the folders and files in a folder, none if it isn't there: object stores know no empty ones."""
    try:
        return default_storage.listdir(folder)
    except FileNotFoundError:
        return [], []


def discard_expired(user: User, now: datetime) -> None:
    """Discards everybody's expired uploads and, of this user's, all but as many as leave room for one more."""
    waiting = [name for name in inside(FOLDER)[0] if ID.fullmatch(name)]
    own = sorted((name for name in waiting if name.startswith(f"{user.pk}-")), key=since, reverse=True)
    for upload_id in waiting:
        if expired(upload_id, now) or upload_id in own[PER_USER - 1 :]:
            discard(upload_id)


def discard_all_of(user_id: int) -> None:
    """Whatever of the user's still waits."""
    for name in inside(FOLDER)[0]:
        match = ID.fullmatch(name)
        if match and int(match["user"]) == user_id:
            discard(name)


def since(upload_id: str) -> int:
    return int(upload_id.split("-")[1])


def expired(upload_id: str, now: datetime) -> bool:
    return since(upload_id) < (now - KEPT).timestamp()
