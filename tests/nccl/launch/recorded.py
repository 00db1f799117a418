"""Answers of EC2's DescribeInstanceTopology as its documentation records them: three layers, and four on P6.

EC2 User Guide, how instance topology works; the ids are of its form `nn-…example`.
"""

from __future__ import annotations

from typing import Any


def instance(number: int, type_: str, *layers: str) -> dict[str, Any]:
    return {
        "InstanceId": f"i-{number:017x}",
        "InstanceType": type_,
        "GroupName": "ML-group",
        "NetworkNodes": [f"nn-{layer}example" for layer in layers],
        "AvailabilityZone": "us-west-2a",
        "ZoneId": "usw2-az2",
    }


#: p5: two leaves under one spine, one leaf under another; the answer is in no order.
THREE_LAYERS = {
    "Instances": [
        instance(1, "p5.48xlarge", "1111111111", "2222222222", "3333333333"),
        instance(2, "p5.48xlarge", "1111111111", "4444444444", "5555555555"),
        instance(3, "p5.48xlarge", "1111111111", "2222222222", "6666666666"),
        instance(4, "p5.48xlarge", "1111111111", "2222222222", "3333333333"),
        instance(5, "p5.48xlarge", "1111111111", "4444444444", "5555555555"),
        instance(6, "p5.48xlarge", "1111111111", "2222222222", "6666666666"),
    ]
}

#: p6-b200: equal in the second and third place and different in the fourth, which a grouping on two places misses.
FOUR_LAYERS = {
    "Instances": [
        instance(1, "p6-b200.48xlarge", "1111111111", "2222222222", "3333333333", "aaaaaaaaaa"),
        instance(2, "p6-b200.48xlarge", "1111111111", "2222222222", "3333333333", "bbbbbbbbbb"),
        instance(3, "p6-b200.48xlarge", "1111111111", "2222222222", "3333333333", "aaaaaaaaaa"),
        instance(4, "p6-b200.48xlarge", "1111111111", "2222222222", "7777777777", "cccccccccc"),
        instance(5, "p6-b200.48xlarge", "1111111111", "2222222222", "3333333333", "bbbbbbbbbb"),
        instance(6, "p6-b200.48xlarge", "1111111111", "2222222222", "7777777777", "cccccccccc"),
    ]
}

#: What `sharp_cmd topology --topology_file` writes on Azure (azhpc-images, torset-tool).
SHARP = """\
SwitchName=ibsw1 Switches=ibsw2,ibsw3
SwitchName=ibsw2 Nodes=0x155dfffd341acb,0x155dfffd341b0b,0x155dfffd341c01
SwitchName=ibsw3 Nodes=0x155dfffd342001,0x155dfffd342002
"""

#: Port GUIDs as ibstat prints them, zero-padded.
GUIDS = """\
node-a 0x00155dfffd341acb,0x00155dfffd341b0b
node-b 0x00155dfffd342001
node-c 0x00155dfffd341c01,0x00155dfffd342002,0x00155dfffd341c01
"""
