"""A job starts as soon as the machine does."""

import base64

import pulumi_aws as aws

script = "#!/bin/bash\nsystemctl start slurmd\n"
aws.ec2.LaunchTemplate(
    "preflight-gate-node",
    instance_type="p5.48xlarge",
    user_data=base64.b64encode(script.encode()).decode(),
)
