"""The job waits for a gate that failed nodes do not pass."""

import base64

import pulumi_aws as aws

script = "#!/bin/bash\nNCCL_TESTS_MIN_BW=300 all_reduce_perf -b 1G -e 1G -g 8 && systemctl start slurmd\n"
aws.ec2.LaunchTemplate(
    "preflight-gate-node",
    instance_type="p5.48xlarge",
    user_data=base64.b64encode(script.encode()).decode(),
)
