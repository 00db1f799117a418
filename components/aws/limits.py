"""AWS's published limits that the checks use: each with its source and the date it was read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gp3Limits:
    """EBS User Guide, "Amazon EBS General Purpose SSD volumes", since September 2025; read 2026-11-29."""

    max_size_gib: int = 65_536
    min_iops: int = 3_000
    max_iops: int = 80_000
    iops_per_gib: int = 500
    min_throughput_mibps: int = 125
    max_throughput_mibps: int = 2_000
    throughput_mibps_per_iops: float = 0.25


GP3 = Gp3Limits()

SUBNET_PREFIXES = range(16, 29)
"""A VPC or subnet is /16 to /28. VPC User Guide, "VPC CIDR blocks" and "Subnet CIDR blocks"; read 2026-11-29."""

CAPACITY_BLOCK_NODES = 64
"""Instances in one capacity block. EC2 User Guide, "Capacity Blocks for ML"; read 2026-11-29."""

USER_DATA_BYTES = 16_384
"""Raw bytes, before base64. EC2 User Guide, "Run commands when you launch an instance"; read 2026-11-29."""

ROLE_NAME_CHARACTERS = 64
"""IAM User Guide, "IAM and AWS STS quotas"; read 2026-11-29."""
