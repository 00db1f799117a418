"""The policy pack: what a GPU fabric must have, tried against the resources of any Pulumi program.

`pulumi preview --policy-pack policy` runs it. docs/policy.md lists the rules; each has a program that fails and one
that passes in `programs/`.
"""
