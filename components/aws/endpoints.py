"""The VPC endpoints of a network without internet."""

from __future__ import annotations

#: What Session Manager (`ssm`, `ssmmessages`), the hostfile and the instance topology (`ec2`, `autoscaling`) call.
#: The agent takes `ssmmessages` for all messages where it is allowed, so `ec2messages` is left out (Systems Manager
#: User Guide, "Reference: ec2messages, ssmmessages, and other API operations"; read 2026-11-29).
INTERFACE_ENDPOINTS = ("ssm", "ssmmessages", "ec2", "autoscaling")

#: Package repositories and Systems Manager's own buckets; a gateway endpoint takes no address and costs nothing.
GATEWAY_ENDPOINTS = ("s3",)
