"""All traffic within the VPC by address block, which EFA does not match."""

import pulumi_aws as aws

group = aws.ec2.SecurityGroup("efa-self-rules-group", vpc_id="vpc-0123456789abcdef0")
for direction, make in (
    ("in", aws.vpc.SecurityGroupIngressRule),
    ("out", aws.vpc.SecurityGroupEgressRule),
):
    make(
        f"efa-self-rules-{direction}",
        security_group_id=group.id,
        ip_protocol="-1",
        cidr_ipv4="10.0.0.0/16",
    )
aws.ec2.LaunchTemplate("efa-self-rules-node", instance_type="p5.48xlarge", vpc_security_group_ids=[group.id])
