"""A simulated Azure: the Resource Manager types and look-ups that a GPU fabric needs, behind pulumi-azure-native.

It states Azure's published rules on its own and imports nothing of the library it rehearses. Each file holds one
subject: the resource types, what the cloud fills in, and what it refuses, with the source of every rule. Where a
rule is published and the sentence of the refusal is not, the message says so (:func:`.errors.rule`).

Where replacements come from: pulumi-azure-native replaces a resource when a part of its path changes (names, the
resource group) or a property that the API's specification calls create-only (``x-ms-mutability``), or that its own
table lists (provider/pkg/gen/replacement.go). Everything else is sent as an update, and it is Azure that refuses.
"""
