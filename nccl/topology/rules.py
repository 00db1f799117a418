"""Every rule of the topology lint: its stable code, how much it costs, what to do, and where that is written.

The table is data, so that the list of rules in SARIF and in the documentation is the list that is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_fabric.nccl.findings import Finding, Level

XML_CC = "NVIDIA/nccl 2.30.7, src/graph/xml.cc"
TOPO_CC = "NVIDIA/nccl 2.30.7, src/graph/topo.cc"
XML_H = "NVIDIA/nccl 2.30.7, src/graph/xml.h"
CATALOG = "the size's row in gpu-fabric's catalog"


@dataclass(frozen=True)
class Rule:
    """One thing that can be wrong with a topology file."""

    code: str
    level: Level
    summary: str
    """What happens, as a sentence that a `:` and the place's own words can follow."""
    remedy: str
    source: str
    rejected: bool = False
    """Whether NCCL refuses the file, so that initialisation returns an error."""

    def finding(self, path: str, line: int | None, detail: str = "", remedy: str = "") -> Finding:
        """The rule as a finding at one place; `remedy` replaces the general one."""
        what = f"{self.summary}: {detail}." if detail else f"{self.summary}."
        return Finding(self.code, self.level, path, line, what, remedy or self.remedy, self.source)


def _rejected(code: str, what: str, remedy: str, source: str = XML_CC) -> Rule:
    return Rule(code, Level.ERROR, f"NCCL rejects the file: {what}", remedy, source, rejected=True)


def _error(code: str, summary: str, remedy: str, source: str = XML_CC) -> Rule:
    return Rule(code, Level.ERROR, summary, remedy, source)


def _warning(code: str, summary: str, remedy: str, source: str = XML_CC) -> Rule:
    return Rule(code, Level.WARNING, summary, remedy, source)


def _note(code: str, summary: str, remedy: str, source: str = XML_CC) -> Rule:
    return Rule(code, Level.NOTE, summary, remedy, source)


_RULES = (
    # Syntax: NCCL's parser is not an XML parser.
    _rejected("topology-declaration", "it begins with an XML declaration", "Delete the `<?xml ...?>` line."),
    _rejected(
        "topology-doctype", "it has a document type", "Delete `<!DOCTYPE ...>`; NCCL knows no entities."
    ),
    _rejected(
        "topology-byte-order-mark", "it begins with a byte order mark", "Save it as UTF-8 without one."
    ),
    _rejected("topology-tab", "it contains a tab", "Write spaces."),
    _error(
        "topology-tab-in-name",
        "NCCL takes the tab for a letter of the next name, which it then does not know",
        "Write spaces.",
    ),
    _rejected("topology-tag-over-lines", "a tag goes over several lines", "Write each tag on one line."),
    _rejected("topology-spaces-around-equals", "an attribute has spaces around `=`", 'Write `name="value"`.'),
    _error(
        "topology-space-before-equals",
        "NCCL ends the name at the space, so that the attribute is empty and its value has no name",
        'Write `name="value"`.',
    ),
    _rejected("topology-unquoted-value", "a value has no quotes", 'Write `name="value"`.'),
    _rejected(
        "topology-attributes-run-together", "no space stands before an attribute", "Write one space between."
    ),
    _rejected("topology-stray-slash", "a `/` is not followed by `>`", "Write `/>`."),
    _rejected("topology-text", "there is text between the elements", "Delete it, or write `<!-- ... -->`."),
    _rejected("topology-space-in-closing-tag", "a closing tag holds more than a name", "Write `</name>`."),
    _rejected("topology-mismatched-tag", "a closing tag does not fit", "Close the elements in their order."),
    _error(
        "topology-mismatched-tag-dropped",
        "NCCL skips an element that it does not know up to any closing tag, whatever its name",
        "Close the elements in their order.",
    ),
    _error(
        "topology-stray-closing-tag",
        "A closing tag closes nothing, and NCCL skips from there to the next closing tag",
        "Delete it.",
    ),
    _rejected("topology-trailing-text", "text follows `</system>`", "Delete it."),
    _rejected("topology-unterminated-comment", "a comment does not end", "Write `-->` at its end."),
    _rejected(
        "topology-comment-equals", "the first word of a comment contains `=`", "Write a space after `<!--`."
    ),
    _rejected("topology-unclosed-element", "an element is not closed", "Write its closing tag."),
    _rejected("topology-unclosed-tag", "a tag has no `>`", "Write `>` or `/>` at its end."),
    _rejected("topology-unexpected-end", "it ends too early", "Complete it, or write it anew."),
    _rejected(
        "topology-string-too-long", "a name or a value has 254 or more characters", "Shorten it.", XML_H
    ),
    _rejected(
        "topology-too-many-elements",
        "it has 256 or more elements",
        "Leave out `gpu`, `nic`, `net` and `nvlink`, which NCCL adds itself; keep `cpu` and `pci`.",
        XML_H,
    ),
    _error(
        "topology-too-large",
        "The text is too long for a topology file and was not looked at",
        "Give a file of at most 1,000,000 characters; NCCL takes at most 255 elements.",
        "the limit of this check",
    ),
    _error(
        "topology-reading-stopped",
        "The rest of the text was not looked at",
        "Mend what is reported and check again.",
        "the limit of this check",
    ),
    _warning(
        "topology-single-quotes",
        "A single-quoted value is read correctly only since NCCL 2.27.3",
        'Write `"`.',
    ),
    _note(
        "topology-stray-space",
        "A stray space uses up an attribute slot of the element",
        "Write one space between attributes and none before `>` and `/>`.",
    ),
    _warning(
        "topology-entity",
        "NCCL does not decode entities; the characters stay as written",
        "Write the character.",
    ),
    # The file as a whole.
    _error(
        "topology-empty",
        "The file holds no element: NCCL takes nothing from it and goes on with autodetection",
        'Write `<system version="1">`, or leave NCCL_TOPO_FILE unset.',
    ),
    _error(
        "topology-root-not-system",
        "The root element is not `system`: NCCL silently takes nothing from the file",
        'Put everything into `<system version="1">`.',
    ),
    _error(
        "topology-unreadable",
        "The file cannot be read: NCCL says so at INFO level only and goes on with autodetection",
        "Give the path of the file where NCCL runs; a container must mount it.",
    ),
    _warning(
        "topology-no-cpu",
        "`system` holds no `cpu`, so the file describes nothing",
        "Describe the CPUs and PCI devices, or leave NCCL_TOPO_FILE unset.",
        TOPO_CC,
    ),
    _rejected("topology-version-missing", "`system` has no version", 'Write `<system version="1">`.'),
    _rejected("topology-version-wrong", "the version of `system` is not 1", 'Write `<system version="1">`.'),
    # Elements.
    _error(
        "topology-element-misplaced",
        "NCCL silently drops the element and all below it, because it does not belong there",
        "Move it.",
    ),
    _warning(
        "topology-element-unknown",
        "NCCL does not know the element and drops it with all below it",
        "Delete it.",
    ),
    _error(
        "topology-attribute-overflow",
        "So many attributes on this element make NCCL write beyond its table and crash",
        "Keep at most 10 attributes an element.",
        XML_H,
    ),
    _error(
        "topology-attributes-dropped",
        "NCCL reads 16 attributes of an element and drops the rest",
        "Keep at most 10 attributes an element.",
        XML_H,
    ),
    _warning(
        "topology-many-attributes",
        "The element has more than 10 attributes, and NCCL adds some of its own to a table of 16",
        "Keep at most 10 attributes an element.",
        XML_H,
    ),
    _warning(
        "topology-element-limit-near",
        "What NCCL adds for its GPU and NICs can reach the limit of 256 elements",
        "Leave out what NCCL finds itself: `gpu`, `nic`, `net`, `nvlink`.",
        XML_H,
    ),
    _warning(
        "topology-attribute-unknown",
        "NCCL does not know the attribute and ignores it",
        "Delete it.",
        TOPO_CC,
    ),
    _error(
        "topology-keep",
        "`keep` is NCCL's own mark; written in a file it makes NCCL count devices twice",
        "Delete `keep`.",
        TOPO_CC,
    ),
    _warning(
        "topology-number",
        "NCCL reads the number at the beginning of the value and ignores the rest",
        "Write a plain number.",
    ),
    # cpu
    _rejected("topology-numaid-missing", "a `cpu` has no numaid", 'Write `numaid="0"`.', TOPO_CC),
    _warning(
        "topology-numaid-duplicate",
        "Two `cpu` elements have the same numaid: NCCL makes two CPU nodes, and paths between them are SYS",
        "Give each NUMA node one `cpu`.",
        TOPO_CC,
    ),
    _rejected(
        "topology-model-missing",
        "a `cpu` has familyid without modelid, which NCCL does not fill in",
        "Write both or neither.",
        TOPO_CC,
    ),
    _warning(
        "topology-arch-unknown",
        "NCCL does not know the architecture and takes the CPU for an unknown one",
        "Write x86_64, arm64 or ppc64.",
        TOPO_CC,
    ),
    _warning(
        "topology-vendor-unknown",
        "NCCL does not know the CPU vendor and takes the CPU for an unknown one",
        "Write GenuineIntel or AuthenticAMD as CPUID gives it, or leave it out.",
        TOPO_CC,
    ),
    _error(
        "topology-affinity-ranges",
        "`affinity` is a hexadecimal mask, and NCCL reads this list of CPUs as one",
        "Write the mask.",
    ),
    _error(
        "topology-affinity-words",
        "`affinity` is a list of 32-bit words with commas between, and NCCL reads other text wrongly",
        "Write words of 8 hexadecimal digits with commas between, most significant first.",
    ),
    _error(
        "topology-affinity-of-another-node",
        "The CPU masks are those of other NUMA nodes: threads run on the socket far from their GPU",
        "Write the mask of this NUMA node.",
        "Azure/azhpc-images pull request 391 for ndv5, 393 for ndv2 and ndv4",
    ),
    # pci
    _rejected("topology-busid-missing", "a `pci` has no busid", "Write its bus id.", TOPO_CC),
    _error(
        "topology-busid-spelling",
        "NCCL compares bus ids as text; this spelling equals no device, which then hangs on an extra CPU: its paths "
        "are SYS and GPUDirect RDMA is off",
        "Write 12 lower-case characters, dddd:bb:dd.f.",
        TOPO_CC,
    ),
    _error(
        "topology-busid-duplicate",
        "The bus id stands in the file twice; each device has its own",
        "Keep one of them.",
        TOPO_CC,
    ),
    _error(
        "topology-busid-unpublished",
        "No device of the size's published layout has this bus id; where the node has none either, NCCL drops it",
        "Write the bus ids that `lspci -D` shows on the node.",
        CATALOG,
    ),
    _error(
        "topology-devices-missing",
        "The file leaves out devices of the size, which NCCL then hangs where sysfs has them",
        "Describe every GPU and NIC of the node.",
        CATALOG,
    ),
    _error(
        "topology-device-moved",
        "The device sits elsewhere in the size's published layout",
        "Put it where the node has it.",
        CATALOG,
    ),
    _warning(
        "topology-device-id",
        "The PCI ids are not those of the size's devices: the file was written for another size",
        "Use the file of this size.",
        CATALOG,
    ),
    _warning(
        "topology-net-speed",
        "The speed is not that of the size's ports, and a value in the file wins over the plugin's",
        "Leave `speed` out.",
        CATALOG,
    ),
    _rejected(
        "topology-class-missing",
        "a switch has no class, and only a device of its bus id in sysfs could give one",
        'Write `class="0x060400"`.',
        TOPO_CC,
    ),
    _warning(
        "topology-class-unknown",
        "NCCL does not know the class and takes the device for a switch",
        "Write 0x060400 for a switch, 0x030200 for a GPU, 0x020700 (InfiniBand) or 0x020000 for a NIC.",
        TOPO_CC,
    ),
    _warning(
        "topology-link-missing",
        "A switch has no link_speed or link_width: sysfs has none for an invented bus id, so its link counts as "
        "generation 3, 12 GB/s at width 16",
        "Write both.",
        TOPO_CC,
    ),
    _warning(
        "topology-link-speed-unknown",
        "NCCL does not know this spelling of link_speed and takes generation 3, 12 GB/s at width 16",
        "Write `16.0 GT/s PCIe` for generation 4, `32.0 GT/s PCIe` for generation 5.",
        TOPO_CC,
    ),
    _warning(
        "topology-link-width",
        "NCCL reads this link_width as 16",
        "Write the number of lanes.",
        TOPO_CC,
    ),
    _warning(
        "topology-host-bridge",
        "Device 00.0 of bus 00 is the host bridge, not a switch: devices below it look close and are not",
        "Put them below the switch they share, or side by side in `cpu`.",
        "PCI Local Bus Specification; NVIDIA/nccl 2.30.7, src/graph/paths.cc",
    ),
    _note(
        "topology-left-to-host",
        "The file leaves attributes out that NCCL takes from the machine it runs on; read without them it is rejected",
        "Nothing, where NCCL runs on the node that the file describes.",
        TOPO_CC,
    ),
    _note(
        "topology-layout-unknown",
        "No PCI layout of the size is published: bus ids and masks were not checked",
        "Compare with the node itself: `gpu-fabric topology --from-host`.",
        CATALOG,
    ),
    # gpu, nvlink, c2c
    _rejected(
        "topology-nvlink-incomplete",
        "an `nvlink` lacks what NCCL needs of it",
        "Write it, or delete `nvlink`.",
        TOPO_CC,
    ),
    _rejected(
        "topology-c2c-incomplete", "a `c2c` has no bw or no count", "Write both, or delete `c2c`.", TOPO_CC
    ),
    # net
    _error(
        "topology-net-gdr-missing",
        "`net` without `gdr` switches GPUDirect RDMA off for this NIC and diverts the path through the CPU (PHB)",
        'Write `gdr="1"`, or delete the `nic` and leave it to NCCL.',
        TOPO_CC,
    ),
    _warning(
        "topology-net-name-missing",
        "NCCL matches `net` with the plugin's device by `name`; without it, it adds its own and drops this one",
        "Write the plugin's device name, or delete the `nic` and leave it to NCCL.",
        TOPO_CC,
    ),
    _note(
        "topology-net-dev-missing",
        "Read without a network plugin, a `net` without `dev` is left out of the graph",
        "Nothing, where NCCL runs on a host; else write `dev`.",
        TOPO_CC,
    ),
)

RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}
"""Code → rule."""

SUMMARIES: Mapping[str, str] = {rule.code: rule.summary for rule in _RULES}
"""Code → one sentence, for SARIF's list of rules."""
