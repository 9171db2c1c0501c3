"""Configures where items' files are kept: a folder, or a bucket that STORAGE_URL names (`django-storages[s3]`)."""

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

FOLDER_STORAGE = {"BACKEND": "django.core.files.storage.FileSystemStorage"}


def parse_storage_url(url: str) -> dict[str, Any]:
    """Return the entry of STORAGES for `s3://bucket/folder?endpoint=https://host&region=name`; a folder's for an empty
    one.

    Keys come from the environment in boto's own way (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or the machine's role).
    """
    if not url:
        return FOLDER_STORAGE
    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.hostname:
        raise ImproperlyConfigured(
            f"STORAGE_URL is “{parts.scheme}://…”, which is no bucket. Write s3://bucket, with ?endpoint=https://host "
            "for a service other than Amazon's, or leave it empty for a folder."
        )
    if parts.username or parts.password:
        raise ImproperlyConfigured("STORAGE_URL holds a key. Put it in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
    query = parse_qs(parts.query)
    options: dict[str, Any] = {
        "bucket_name": unquote(parts.netloc),
        "location": parts.path.strip("/"),
        "default_acl": None,
        "file_overwrite": False,
        "querystring_auth": True,
    }
    for name, option in (("endpoint", "endpoint_url"), ("region", "region_name")):
        if name in query:
            options[option] = query[name][0]
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
