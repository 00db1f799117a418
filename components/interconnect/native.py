"""AWS Interconnect – multicloud with Azure's preview, in two phases.

Creates nothing. pulumi-aws 7.51.1 has no resource of AWS's connection (2026-11-30). botocore 1.44.8 has its API,
`interconnect`, whose CreateConnection wants the id of an environment that ListEnvironments gives. pulumi-aws-native has
`interconnect.Connection`, and is no dependency here. Azure's half takes an activation key that pulumi-azure-native
3.29.0 has no property for, so the halves would still be joined by hand. So the first `up` makes both gateways and says
what to order at which end, and `provisioned: true` only records that it is done: routes, addresses, VLAN and MACsec are
the clouds'.
"""

from __future__ import annotations

import pulumi

from gpu_fabric.components.interconnect.settings import InterconnectSettings


def native_steps(
    settings: InterconnectSettings,
    direct_connect_gateway: pulumi.Input[str],
    gateway_id: pulumi.Input[str],
    azure: str,
) -> list[pulumi.Input[str]]:
    """What to do at which end, in order."""
    return [
        pulumi.Output.concat(
            "AWS: create an interconnect to Azure ",
            azure,
            f" with {settings.bandwidth_mbps} Mb/s, attached to the Direct Connect gateway ",
            direct_connect_gateway,
            " (`aws interconnect list-environments`, then `aws interconnect create-connection`); keep its activation "
            "key secret",
        ),
        pulumi.Output.concat(
            "Azure: accept it with the activation key and the AWS account, and connect it to the gateway ",
            gateway_id,
        ),
        "then set `provisioned: true`; measure round trip and packet size before training (the MTU is not published)",
    ]
