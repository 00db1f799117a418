"""SSH from everywhere."""

import pulumi_aws as aws

group = aws.ec2.SecurityGroup("no-open-ingress-group", vpc_id="vpc-0123456789abcdef0")
aws.vpc.SecurityGroupIngressRule(
    "no-open-ingress-ssh",
    security_group_id=group.id,
    ip_protocol="tcp",
    from_port=22,
    to_port=22,
    cidr_ipv4="0.0.0.0/0",
)
