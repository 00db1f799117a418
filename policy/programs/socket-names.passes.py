"""Every interface but those that no other node reaches."""

import base64

import pulumi_aws as aws

script = "#!/bin/bash\nexport NCCL_SOCKET_IFNAME=^docker,lo,veth\n"
aws.ec2.LaunchTemplate(
    "socket-names-node",
    instance_type="p5.48xlarge",
    user_data=base64.b64encode(script.encode()).decode(),
)
