"""What a refused gRPC call answered."""

from __future__ import annotations

import grpc
import pytest


def answered(failed: pytest.ExceptionInfo[grpc.RpcError]) -> grpc.Call:
    """The call behind the error: its code, details and trailing metadata."""
    assert isinstance(failed.value, grpc.Call)
    return failed.value
