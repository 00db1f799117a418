"""The text as the clouds take it: compressed without a time in it, and held to their limits."""

from __future__ import annotations

import gzip
from functools import lru_cache
from typing import Final

EC2_USER_DATA_LIMIT: Final = 16_384
"""Bytes before base64, after gzip. EC2 User Guide, instancedata-add-user-data.html."""

AZURE_CUSTOM_DATA_LIMIT: Final = 65_535
"""Bytes before base64. azure-compute-docs, virtual-machines/custom-data.md."""


class UserDataTooLargeError(ValueError):
    """The compressed text exceeds what the cloud takes. `size` and `limit` are bytes before base64."""

    def __init__(self, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__(
            f"the node's start-up data is {size:,} bytes after gzip and the limit is {limit:,}: "
            f"shorten the extra commands by {size - limit:,} bytes, or fetch a script from storage in one of them"
        )


def user_data(text: str, *, limit: int | None = None) -> bytes:
    """The text as gzip, without a time in it; cloud-init unpacks it on both clouds. base64 is the caller's.

    With `limit`, raises `UserDataTooLargeError` beyond that many bytes. Source: cloud-init docs, format.rst.
    """
    data = _gzip(text)
    if limit is not None and len(data) > limit:
        raise UserDataTooLargeError(len(data), limit)
    return data


def fits(text: str, limit: int) -> bool:
    """Whether `user_data(text)` takes at most `limit` bytes. A hundred times as fast where zlib's answer is enough."""
    return len(gzip.compress(text.encode(), mtime=0)) <= limit or len(user_data(text)) <= limit


@lru_cache(maxsize=32)
def _gzip(text: str) -> bytes:
    """By zopfli, which finds 3 % that zlib leaves, and is the same code everywhere.

    zlib is not: CPython 3.14 for Windows and several systems have zlib-ng in its place, whose bytes differ. The same
    program would then plan other start-up data on a colleague's machine, and with `updates: replace` other nodes.
    """
    import zopfli.gzip

    return zopfli.gzip.compress(text.encode())
