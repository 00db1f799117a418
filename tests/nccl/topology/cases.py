"""One file for each rule of the lint that breaks it, and files at the border that do not."""

from __future__ import annotations

from typing import NamedTuple

GOOD = """\
<system version="1" name="good">
  <cpu numaid="0" affinity="000000ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:10:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0000:11:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
</system>
"""
NIC = '<pci busid="0000:11:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>'
SPEED = 'link_speed="32.0 GT/s PCIe" link_width="16"'
INTEL = 'vendor="GenuineIntel" familyid="6" modelid="143"'
NET = 'name="mlx5_0" dev="0" gdr="1"'


def changed(old: str, new: str, count: int = 1) -> str:
    """`GOOD` with a passage replaced; the passage must be there."""
    assert old in GOOD, old
    return GOOD.replace(old, new, count)


def with_net(attributes: str, name: str = "net") -> str:
    """`GOOD` whose NIC holds a `nic` with one `net`."""
    opened = NIC.removesuffix("/>")
    return changed(NIC, f"{opened}><nic><{name} {attributes}/></nic></pci>")


def with_gpu(inside: str) -> str:
    """`GOOD` whose GPU holds a `gpu` with this inside."""
    gpu = '<pci busid="0000:10:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>'
    filled = f'><gpu dev="0" sm="90" rank="0" gdr="1" mlopart="-1">{inside}</gpu></pci>'
    return changed(gpu, gpu.removesuffix("/>") + filled)


def with_elements(count: int) -> str:
    """A file of exactly so many elements, which needs NICs without limit."""
    nics = (
        f'      <pci busid="0001:{number:02x}:00.0" class="0x020700" link_speed="8 GT/s" link_width="16"/>\n'
        for number in range(count - 5)
    )
    return changed("    </pci>\n", "".join(nics) + "    </pci>\n")


def with_attributes(count: int) -> str:
    """`GOOD` whose GPU has so many attributes, the last of which NCCL does not know."""
    more = "".join(f' x{number}="1"' for number in range(count - 4))
    return changed('link_width="16"/>', f'link_width="16"{more}/>')


class Case(NamedTuple):
    code: str
    line: int | None
    text: str


BROKEN = (
    Case("topology-declaration", 1, f'<?xml version="1.0" encoding="UTF-8"?>\n{GOOD}'),
    Case("topology-doctype", 1, f"<!DOCTYPE system>\n{GOOD}"),
    Case("topology-byte-order-mark", 1, f"\ufeff{GOOD}"),
    Case("topology-tab", 2, changed("  <cpu", "\t<cpu")),
    Case("topology-tab-in-name", 2, changed('"0" affinity', '"0" \taffinity')),
    Case("topology-tag-over-lines", 2, changed('numaid="0" ', 'numaid="0"\n    ')),
    Case("topology-spaces-around-equals", 2, changed('numaid="0"', 'numaid = "0"')),
    Case("topology-space-before-equals", 1, changed('name="good"', 'name ="good"')),
    Case("topology-unquoted-value", 2, changed('numaid="0"', "numaid=0")),
    Case("topology-attributes-run-together", 2, changed('"0" affinity', '"0"affinity')),
    Case("topology-stray-slash", 4, changed('link_width="16"/>', 'link_width="16"/ >')),
    Case("topology-text", 3, changed('    <pci busid="ffff', '    switch <pci busid="ffff')),
    Case("topology-space-in-closing-tag", 7, changed("</cpu>", "</cpu >")),
    Case("topology-mismatched-tag", 7, changed("</cpu>", "</cpus>")),
    Case("topology-mismatched-tag-dropped", 6, GOOD.replace('<pci busid="ffff', '<switch busid="ffff')),
    Case("topology-stray-closing-tag", 1, f"</nic>\n</nic>\n{GOOD}"),
    Case("topology-no-cpu", 1, '<system version="1">\n</system>\n'),
    Case("topology-trailing-text", 9, f"{GOOD}made by hand\n"),
    Case("topology-unterminated-comment", 9, f"{GOOD}<!-- made by hand\n"),
    Case("topology-comment-equals", 1, f"<!--by=hand -->\n{GOOD}"),
    Case("topology-unclosed-element", 7, changed("</system>\n", "")),
    Case("topology-unclosed-tag", 2, changed('modelid="143">', 'modelid="143"')),
    Case("topology-unexpected-end", 2, GOOD[: GOOD.index('arch="x86') + 8]),
    Case("topology-string-too-long", 1, changed('"good"', f'"{"g" * 254}"')),
    Case("topology-too-many-elements", 256, with_elements(256)),
    Case("topology-too-large", 1, GOOD + " " * 1_000_000),
    Case("topology-reading-stopped", 2, GOOD.replace("  <cpu", "</x>" * 501 + "<cpu", 1)),
    Case("topology-single-quotes", 2, changed('arch="x86_64"', "arch='x86_64'")),
    Case("topology-stray-space", 4, changed('"16"/>', '"16" />')),
    Case("topology-entity", 1, changed('"good"', '"A &amp; B"')),
    Case("topology-empty", None, "<!-- nothing -->\n"),
    Case("topology-root-not-system", 2, GOOD.replace("system", "topology").replace("<", "\n<", 1)),
    Case("topology-version-missing", 1, changed(' version="1"', "")),
    Case("topology-version-wrong", 1, changed('version="1"', 'version="2"')),
    Case("topology-element-misplaced", 5, changed(NIC, NIC.removesuffix("/>") + f"><net {NET}/></pci>")),
    Case("topology-element-unknown", 5, changed(NIC, f"<bridge>{NIC}</bridge>")),
    Case(
        "topology-attribute-overflow",
        5,
        with_net(
            NET + ' speed="1" port="1" latency="0" guid="0x1" maxconn="1" coll="0" net="1" gin="0" rma="0" '
            'rail="0" plane="0" asic="0" x="1"'
        ),
    ),
    Case(
        "topology-attributes-dropped",
        4,
        with_attributes(17),
    ),
    Case(
        "topology-many-attributes",
        4,
        with_attributes(11),
    ),
    Case("topology-element-limit-near", 1, with_elements(82)),
    Case("topology-attribute-unknown", 3, changed('class="0x060400"', 'class="0x060400" subsys="0x0000"')),
    Case("topology-keep", 4, changed('class="0x030200"', 'class="0x030200" keep="1"')),
    Case("topology-number", 5, with_net(f'{NET} speed="400 Gbps"')),
    Case("topology-numaid-missing", 2, changed(' numaid="0"', "")),
    Case("topology-numaid-duplicate", 8, changed("</system>", '<cpu numaid="0" arch="arm64"/></system>')),
    Case("topology-model-missing", 2, changed(' modelid="143"', "")),
    Case("topology-arch-unknown", 2, changed('"x86_64"', '"aarch64"')),
    Case("topology-vendor-unknown", 2, changed('"GenuineIntel"', '"Intel"')),
    Case("topology-affinity-ranges", 2, changed('"000000ff"', '"0-23,48-71"')),
    Case("topology-affinity-words", 2, changed('"000000ff"', '"ffffffffffffffff"')),
    Case("topology-busid-missing", 4, changed(' busid="0000:10:00.0"', "")),
    Case("topology-busid-spelling", 4, changed("0000:10:00.0", "00000000:1B:00.0")),
    Case("topology-busid-duplicate", 5, changed("0000:11:00.0", "0000:10:00.0")),
    Case("topology-class-missing", 3, changed(' class="0x060400"', "")),
    Case("topology-class-unknown", 3, changed("0x060400", "0x060300")),
    Case("topology-link-missing", 3, changed(' link_speed="32.0 GT/s PCIe"', "")),
    Case(
        "topology-link-speed-unknown",
        4,
        changed(SPEED + "/>", 'link_speed="32.0 GT/s" link_width="16"/>'),
    ),
    Case("topology-link-width", 3, changed('link_width="16"', 'link_width="x8"')),
    Case("topology-host-bridge", 3, changed("ffff:ff:01.0", "0000:00:00.0")),
    Case("topology-left-to-host", 5, changed(NIC, '<pci busid="0000:11:00.0" class="0x020700"/>')),
    Case("topology-nvlink-incomplete", 4, with_gpu('<nvlink target="0000:12:00.0" tclass="0x030200"/>')),
    Case("topology-c2c-incomplete", 4, with_gpu('<c2c count="1"/>')),
    Case("topology-net-gdr-missing", 5, with_net('name="mlx5_0" dev="0"')),
    Case("topology-net-name-missing", 5, with_net('dev="0" gdr="1"')),
    Case("topology-net-dev-missing", 5, with_net('name="mlx5_0" gdr="1"')),
)

#: Files that keep the rule, if only just.
AT_THE_BORDER = (
    Case("topology-tab", None, GOOD.replace("  ", "    ")),
    Case("topology-tag-over-lines", None, GOOD.replace("\n", "\r\n")),
    Case("topology-text", None, changed("    <pci", "    <!-- switch --> <pci")),
    Case("topology-trailing-text", None, f"{GOOD}\n  \r\n<!-- made by hand -->\n"),
    Case("topology-comment-equals", None, f"<!-- by=hand -->\n{GOOD}"),
    Case("topology-string-too-long", None, changed('"good"', f'"{"g" * 253}"')),
    Case("topology-too-many-elements", None, with_elements(255)),
    Case("topology-too-large", None, GOOD + " " * (1_000_000 - len(GOOD))),
    Case("topology-stray-space", None, changed('"16"/>', '"16"/>')),
    Case("topology-entity", None, changed('"good"', '"A & B"')),
    Case("topology-version-wrong", None, changed('version="1"', 'version="0x1"')),
    Case("topology-element-misplaced", None, with_net(NET)),
    Case(
        "topology-attribute-overflow",
        None,
        with_net(
            NET + ' speed="1" port="1" latency="0" guid="0x1" maxconn="1" coll="0" net="1" gin="0" rma="0" '
            'rail="0" plane="0" x="1"'
        ),
    ),
    Case(
        "topology-attributes-dropped",
        None,
        with_attributes(16),
    ),
    Case(
        "topology-many-attributes",
        None,
        with_attributes(10),
    ),
    Case("topology-element-limit-near", None, with_elements(81)),
    Case("topology-number", None, with_net(f'{NET} speed="0x61a80" latency="0.8"')),
    Case("topology-numaid-duplicate", None, changed("</system>", '<cpu numaid="1" arch="arm64"/></system>')),
    Case(
        "topology-model-missing",
        None,
        changed(INTEL, 'vendor="AuthenticAMD"'),
    ),
    Case("topology-vendor-unknown", None, changed('"x86_64" vendor="GenuineIntel"', '"arm64" vendor="ARM"')),
    Case("topology-affinity-words", None, changed('"000000ff"', '"ff,00000000"')),
    Case("topology-busid-spelling", None, changed("0000:10:00.0", "abcd:ef:1f.7")),
    Case("topology-class-unknown", None, changed("0x060400", "0x080100")),
    Case("topology-link-speed-unknown", None, GOOD.replace("32.0 GT/s PCIe", "32 GT/s PCIe/s")),
    Case("topology-link-width", None, changed('link_width="16"', 'link_width="4"')),
    Case("topology-host-bridge", None, changed("0000:10:00.0", "0001:00:00.0")),
    Case("topology-nvlink-incomplete", None, with_gpu('<nvlink tclass="0x068000" count="18"/>')),
    Case("topology-c2c-incomplete", None, with_gpu('<c2c bw="450000" count="1"/>')),
)
