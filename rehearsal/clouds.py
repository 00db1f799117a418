"""The simulated clouds there are. A cloud is loaded when it is asked for: a provider process needs only its own."""

from __future__ import annotations

from importlib import import_module

from .core.resource import Cloud

CLOUDS = {
    "aws": "aws",
    "azure-native": "azure",
    "equinix": "equinix",
    "megaport": "megaport",
    "tls": "tls",
}
"""The Pulumi package of each simulated cloud, and the folder here that holds it."""

PLUGINS = {**{name: name for name in CLOUDS}, "terraform-provider": "megaport"}
"""The cloud behind each plugin's name. Pulumi's bridge for any Terraform provider is one plugin: Megaport, here."""


def load(name: str) -> Cloud:
    """The cloud that answers for a Pulumi package. Raises KeyError for one that is not simulated."""
    return import_module(f".{CLOUDS[name]}.cloud", __package__).CLOUD
