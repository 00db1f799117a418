"""A plain Ubuntu image."""

import pulumi_aws as aws

aws.ec2.LaunchTemplate(
    "drivers-node",
    instance_type="p5.48xlarge",
    image_id="resolve:ssm:/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
)
