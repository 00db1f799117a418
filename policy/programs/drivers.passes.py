"""AWS's Deep Learning AMI."""

import pulumi_aws as aws

aws.ec2.LaunchTemplate(
    "drivers-node",
    instance_type="p5.48xlarge",
    image_id="resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id",
)
