"""Writes files completely or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file completely or not at all: an old file stays until the new one is complete.

    Raises:
        OSError: the file cannot be written; an old file is unchanged.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "a.txt"), b"all of it")
    ...     Path(folder, "a.txt").read_bytes()
    b'all of it'
    """
    target = os.path.realpath(path)
    part = f"{target}.{secrets.token_hex(4)}.part"
    try:
        Path(part).write_bytes(data)
        os.replace(part, target)
    except BaseException as error:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = f"nothing was written ({error.strerror or error})"
            raise OSError(error.errno, reason, os.fspath(path)) from None
        raise
