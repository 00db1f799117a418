"""The text as the clouds take it: compressed without a time in it, and held to their limits."""

from __future__ import annotations

import struct
import zlib
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
    raw = text.encode()
    # Written out, because Python's gzip module puts a different byte for the system in different releases.
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    body = compressor.compress(raw) + compressor.flush()
    data = header + body + struct.pack("<II", zlib.crc32(raw), len(raw) & 0xFFFFFFFF)
    if limit is not None and len(data) > limit:
        raise UserDataTooLargeError(len(data), limit)
    return data
