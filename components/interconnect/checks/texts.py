"""Texts that are handed on as they are: neither empty nor with blanks around them, and tags that both clouds take."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.components.interconnect.ends import KnownEnds
from gpu_fabric.components.interconnect.limits import MOST_TAGS, TAG_NAME_CHARACTERS, TAG_VALUE_CHARACTERS
from gpu_fabric.components.interconnect.settings import InterconnectSettings
from gpu_fabric.components.problems import Path, Problem
from gpu_fabric.components.tags import refused_by_aws, refused_by_azure


def whole(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    texts: dict[Path, str | None] = {
        ("exchange",): settings.exchange,
        ("manual", "provider"): settings.manual.provider,
        ("equinix", "purchase_order"): settings.equinix.purchase_order,
    }
    for where, text in texts.items():
        if text is not None and (not text or text != text.strip()):
            what = "is empty" if not text.strip() else f"{text!r} has blanks around it"
            yield Problem(where, what, "give the name alone, or drop the key")


def tags(settings: InterconnectSettings, _: KnownEnds) -> Iterator[Problem]:
    given = settings.tags
    if len(given) > MOST_TAGS:
        yield Problem(
            ("tags",),
            f"{len(given)} tags, and with ours both clouds take {MOST_TAGS} of yours",
            "drop some",
        )
    for key, value in given.items():
        yield from refused_by_azure(key)
        yield from refused_by_aws(key)
        if not key or len(key) > TAG_NAME_CHARACTERS:
            yield Problem(
                ("tags", key[:40]),
                f"a tag's name has 1 to {TAG_NAME_CHARACTERS} characters, not {len(key)}",
                "choose another key",
            )
        if len(value) > TAG_VALUE_CHARACTERS:
            yield Problem(
                ("tags", key),
                f"a tag's value has {TAG_VALUE_CHARACTERS} characters at most, not {len(value)}",
                "give a shorter one",
            )
