"""Key pair: a public key that EC2 puts on an instance."""

from __future__ import annotations

import hashlib

from ..core.errors import Refusal
from ..core.resource import Call, Made, ResourceType
from . import kinds
from .account import arn, new_id, region_of


def create(call: Call) -> Made:
    name = (
        call.inputs.get("keyName")
        or f"{call.inputs.get('keyNamePrefix', 'terraform-')}{call.tx.next('name'):026d}"
    )
    if call.tx.get(kinds.KEY_PAIR, name) is not None:
        raise Refusal("InvalidKeyPair.Duplicate", f"The keypair already exists: {name}")
    key = call.inputs["publicKey"]
    if not key.startswith(("ssh-rsa ", "ssh-ed25519 ")):
        raise Refusal("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
    digest = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
    return Made(
        name,
        {
            "arn": arn("ec2", region_of(call), f"key-pair/{name}"),
            "keyName": name,
            "keyNamePrefix": call.inputs.get("keyNamePrefix", ""),
            "keyPairId": new_id(call.tx, "key"),
            "keyType": "rsa" if key.startswith("ssh-rsa") else "ed25519",
            "fingerprint": ":".join(digest[each : each + 2] for each in range(0, 32, 2)),
        },
    )


KEY_PAIR = ResourceType(
    token=kinds.KEY_PAIR,
    title="EC2 Key Pair",
    service="EC2",
    calls={"create": "ImportKeyPair", "delete": "DeleteKeyPair"},
    doing={"create": "importing EC2 Key Pair ({id})"},
    create=create,
    autoname="keyName",
    filled=frozenset({"keyNamePrefix"}),
    same={"publicKey": lambda one, other: str(one).strip() == str(other).strip()},
    replaces=frozenset({"keyName", "keyNamePrefix", "publicKey", "region"}),
    replaces_source="terraform-provider-aws service/ec2/ec2_key_pair.go at 05bc9541, ForceNew",
)

TYPES = (KEY_PAIR,)
