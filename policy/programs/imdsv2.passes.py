"""A token for every metadata request."""

import pulumi_aws as aws

aws.ec2.LaunchTemplate(
    "imdsv2-node", instance_type="p5.48xlarge", metadata_options={"http_tokens": "required"}
)
