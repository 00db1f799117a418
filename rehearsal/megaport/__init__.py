"""A simulated Megaport: cloud routers and virtual cross connects to AWS and Azure.

It stands for the Terraform provider megaport/megaport behind Pulumi's bridge (``pulumi package add terraform-provider
megaport/megaport``): its plugin answers under the name ``terraform-provider`` as well, and to Parameterize. There is no
SDK to write ``schema.json`` from: it is written by hand from the provider's own documentation
(megaport/terraform-provider-megaport docs/resources/mcr.md and vxc.md at 00e5da5f, docs/data-sources/location.md and
partner.md), in the names that the bridge gives. Only the parts that a private link needs are in it.

One thing differs: here a resource's ``id`` is its ``productUid``. Behind the real bridge the id of a resource without
an attribute ``id`` says nothing (from memory, unverified); a program reads ``productUid``.
"""
