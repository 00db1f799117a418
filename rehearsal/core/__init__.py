"""What every simulated cloud stands on: the provider protocol, values, storage, faults.

A simulated cloud is a package beside this one (``rehearsal/aws`` is the model). It needs four things:

1. ``types``: one :class:`~.resource.ResourceType` for each resource it knows, in one file a subject. A type
   says which outputs the cloud fills in, which property changes replace the resource (and where that rule
   comes from), and has functions that make, read, change and remove the object in a
   :class:`~.store.Transaction`. A function refuses with :class:`~.errors.Refusal`.
2. ``functions``: one :class:`~.resource.Function` for each look-up.
3. ``schema.json``: the property names and types of those resources, written from the vendor's installed Python
   SDK by ``python -m gpu_fabric.rehearsal schema CLOUD``. A property that is not in it is refused.
4. A :class:`~.resource.Cloud` that ties them together, and a ``__main__.py`` that calls
   :func:`~.serve.serve` with it.

A vendor's provider is one of pulumi-terraform-bridge unless its cloud says otherwise (``Cloud.bridged``): one that is
not names its resources, words its refusals, compares inputs and fills previews in its own way (``rehearsal/azure``).

The clouds share one database, so that a partner can act in its customer's account: ``rehearsal/partner.py`` does that
(``Transaction.beside``), and ``rehearsal/sessions.py`` compares the two ends of a private link.

Then add the cloud to ``rehearsal/clouds.py``: the command line and the plugin scripts follow from there.

Nothing here knows a cloud by name, and nothing here imports a vendor's SDK: a provider process has to start in
a fraction of a second, because the engine starts one for every command.
"""
