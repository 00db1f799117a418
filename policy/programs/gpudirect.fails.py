"""A setting copied from a debugging session."""

import base64

import pulumi_aws as aws

script = "#!/bin/bash\necho NCCL_NET_GDR_LEVEL=LOC >> /etc/nccl.conf\nexport FI_PROVIDER=tcp\n"
aws.ec2.LaunchTemplate(
    "gpudirect-node",
    instance_type="p5.48xlarge",
    user_data=base64.b64encode(script.encode()).decode(),
)
