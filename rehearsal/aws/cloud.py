"""The simulated AWS as one piece: what it knows, and the manners of pulumi-aws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import Problem
from ..core.resource import Call, Cloud
from ..core.values import is_unknown
from . import (
    auto_scaling,
    capacity,
    direct_connect,
    direct_connect_gateway,
    eks,
    eks_node_group,
    endpoints,
    gateways,
    iam,
    instance,
    key_pair,
    kinds,
    launch_template,
    lookups,
    network_acl,
    network_interface,
    placement,
    routes,
    security_group,
    ssm,
    subnet,
    transit_gateway,
    virtual_interface,
    vpc,
    vpn_gateway,
)
from .account import ACCOUNT, all_tags, configured_region, region_of, regions
from .errors import refusal_text

_SUBJECTS = (
    vpc,
    subnet,
    security_group,
    routes,
    gateways,
    endpoints,
    network_acl,
    network_interface,
    placement,
    capacity,
    launch_template,
    instance,
    auto_scaling,
    eks,
    eks_node_group,
    key_pair,
    iam,
    ssm,
    vpn_gateway,
    transit_gateway,
    direct_connect,
    direct_connect_gateway,
    virtual_interface,
    lookups,
)


def check_config(config: Mapping[str, Any]) -> Iterator[Problem]:
    """What pulumi-aws refuses of its own settings (provider/resources.go, validateRegion)."""
    region = configured_region(config)
    if is_unknown(config.get("region")):
        return
    if not region:
        yield Problem(
            "region",
            "Missing region information\nThe AWS region isn't set in the Pulumi configuration nor the environment. "
            "Set it with `pulumi config set aws:region us-west-2` or the AWS_REGION environment variable",
        )
    elif region not in regions():
        yield Problem("region", f"Invalid AWS Region: {region}")


def common_outputs(call: Call) -> dict[str, Any]:
    """The outputs that nearly every AWS resource has: its region, and all its tags."""
    names = CLOUD.type_schema(call.type.token).outputs
    outputs: dict[str, Any] = {}
    if "region" in names:
        outputs["region"] = region_of(call)
    if "tagsAll" in names:
        outputs["tagsAll"] = all_tags(call)
    return outputs


def moves(old: Mapping[str, Any], news: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Another region of the provider makes new what lies in the first; the provider itself is updated in place.

    terraform-provider-aws v6 internal/provider: defaultRegion plans the provider's region for a resource that names
    none, and forceNewIfRegionChanges (region.go) replaces it where its state has another. pulumi-aws v7 no longer
    replaces the provider for it (pulumi-aws#5656).
    """
    region = news.get("region") or config.get("region")
    if is_unknown(region):
        return
    if old.get("region") and old["region"] != (region or configured_region(config)):
        yield "region"


CLOUD = Cloud(
    name="aws",
    folder=Path(__file__).parent,
    types=tuple(each for subject in _SUBJECTS for each in subject.TYPES),
    functions=tuple(each for subject in _SUBJECTS for each in getattr(subject, "FUNCTIONS", ())),
    notice=f"simulated aws: no account is touched (every ARN carries the account {ACCOUNT})",
    refusal=refusal_text,
    check_config=check_config,
    common_outputs=common_outputs,
    moves=moves,
    # EC2 API Reference, error codes; terraform-provider-aws tries max_retries times, 25 if not set.
    throttling=("RequestLimitExceeded", "Request limit exceeded."),
    retries=lambda config: int(config.get("maxRetries") or 25),
    remember={
        kinds.HOSTED_VIF: "a partner's virtual interface",
        kinds.TRANSIT_DX_ATTACHMENT: "attachment of a Direct Connect gateway",
    },
)
