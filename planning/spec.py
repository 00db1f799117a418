"""What the planner is asked: clusters, the link between them and the training, read from a stack file.

The stack file's own model (`components/config.py`) rules over the whole file; here only what a plan needs is read,
and keys of other subjects are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from gpu_fabric.nccl.hardware import Cloud, NodeSize, UnknownSizeError, load_sizes
from gpu_fabric.planning.errors import PlanningError, UnknownNameError
from gpu_fabric.planning.layout import Layout, Precision, Training
from gpu_fabric.planning.link import DEFAULT_FLOWS, LinkModel
from gpu_fabric.planning.regions import region_pair
from gpu_fabric.planning.transformer import Transformer, get_model, transformer_from_row

FABRIC_KEY = "gpu-fabric:fabric"


class _Spec(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


class CapacitySpec(_Spec):
    kind: Literal["onDemand", "spot", "reservation", "capacityBlock"] = "onDemand"
    """How the nodes are bought: decides their price."""


class _ClusterSpec(_Spec):
    nodes: int = Field(ge=1)
    capacity: CapacitySpec = CapacitySpec()
    region: str | None = None


class AwsClusterSpec(_ClusterSpec):
    """`aws:` of the stack file."""

    instance_type: str
    zone: str | None = None

    @field_validator("instance_type")
    @classmethod
    def _known(cls, value: str, info: ValidationInfo) -> str:
        return _known_size(value, Cloud.AWS, info)


class AzureClusterSpec(_ClusterSpec):
    """`azure:` of the stack file."""

    vm_size: str

    @field_validator("vm_size")
    @classmethod
    def _known(cls, value: str, info: ValidationInfo) -> str:
        return _known_size(value, Cloud.AZURE, info)


def _sizes(info: ValidationInfo) -> Mapping[str, NodeSize]:
    """The catalog, and over it the sizes that the stack file describes itself."""
    return {**load_sizes(), **(info.context or {}).get("sizes", {})}


def _known_size(value: str, cloud: Cloud, info: ValidationInfo) -> str:
    sizes = _sizes(info)
    if value not in sizes:
        raise ValueError(str(UnknownSizeError(value, tuple(sizes))))
    if sizes[value].cloud is not cloud:
        raise ValueError(
            f"{value} is a size of {sizes[value].cloud.value}, not of {cloud.value}; move it there"
        )
    return value


class LinkSpec(_Spec):
    """`interconnect:` of the stack file."""

    partner: Literal["equinix", "megaport", "manual", "native"] = "equinix"
    bandwidth_mbps: int = Field(ge=50)
    rtt_ms: float | None = Field(default=None, gt=0)
    """Measured round-trip time; without it the region pair's estimate is used."""
    loss: float = Field(default=0.0, ge=0, lt=1)
    flows: int = Field(default=DEFAULT_FLOWS, ge=1)


class LayoutHints(_Spec):
    """`training.layout`: sizes that the user fixes; the planner searches the rest."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    tensor: int | None = Field(default=None, ge=1)
    """GPUs of a tensor-parallel group. Without it, and so for each key here: the planner searches."""
    pipeline: int | None = Field(default=None, ge=1)
    """Pipeline stages."""
    context: int | None = Field(default=None, ge=1)
    """GPUs that share one sequence."""
    expert: int | None = Field(default=None, ge=1)
    """GPUs that share the experts of a mixture-of-experts layer."""
    zero: int | None = Field(default=None, ge=0, le=3)
    """ZeRO stage, 0 to 3; 3 is FSDP."""
    microbatch: int | None = Field(default=None, ge=1)
    """Sequences of one microbatch."""
    virtual: int | None = Field(default=None, ge=1)
    """Virtual stages of a pipeline stage (interleaving)."""

    def allows(self, layout: Layout) -> bool:
        """Whether a layout has every size that the user fixed."""
        fixed = self.model_dump(exclude_none=True)
        return all(getattr(layout, name) == value for name, value in fixed.items())


class TrainingSpec(_Spec):
    """`training:` of the stack file. `model` is a name of the library or a table of its own with a shape."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    model: str | dict[str, Any] = "llama-3-70b"
    """A model of the library (docs/planning.md), or a table with the shape of your own."""
    sequence: int = Field(default=8192, ge=1)
    """Tokens of one sequence."""
    global_batch: int = Field(default=1024, ge=1)
    """Sequences of one step, over all GPUs."""
    precision: Precision = Precision.BF16
    """Of the matrix products."""
    layout: LayoutHints = LayoutHints()

    @field_validator("model")
    @classmethod
    def _known(cls, value: str | dict[str, Any]) -> str | dict[str, Any]:
        try:
            shape_of(value)
        except UnknownNameError as error:
            raise ValueError(str(error)) from None
        except TypeError as error:
            raise ValueError(
                f"a custom model needs layers, hidden, ffn, heads, kv_heads, vocab and source: {error}"
            ) from None
        return value

    def to_training(self) -> Training:
        return Training(shape_of(self.model), self.sequence, self.global_batch, self.precision)


def shape_of(model: str | dict[str, Any]) -> Transformer:
    """A library model by name, or a custom shape."""
    if isinstance(model, str):
        return get_model(model)
    fields = dict(model)
    return transformer_from_row(fields.pop("name", "custom"), fields)


@dataclass(frozen=True)
class Cluster:
    """One cloud's nodes."""

    size: NodeSize
    nodes: int
    region: str | None = None
    capacity: str = "onDemand"

    @property
    def cloud(self) -> Cloud:
        return self.size.cloud

    @property
    def gpus(self) -> int:
        return self.nodes * self.size.gpu.count

    @property
    def label(self) -> str:
        return f"{self.nodes} x {self.size.name}"


class FabricSpec(_Spec):
    """The part of a stack that a plan is made of; at least one cluster."""

    aws: AwsClusterSpec | None = None
    azure: AzureClusterSpec | None = None
    interconnect: LinkSpec | None = None
    training: TrainingSpec = TrainingSpec()
    name: str = "fabric"
    _found: tuple[Cluster, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _some_cluster(self) -> FabricSpec:
        if self.aws is None and self.azure is None:
            raise ValueError("neither aws nor azure is given: there is nothing to plan; add one")
        if self.interconnect is not None and (self.aws is None or self.azure is None):
            raise ValueError("interconnect needs both aws and azure; add the other cloud or remove it")
        return self

    @model_validator(mode="after")
    def _clusters(self, info: ValidationInfo) -> FabricSpec:
        sizes = _sizes(info)
        given = (
            (self.aws, self.aws.instance_type if self.aws else ""),
            (self.azure, self.azure.vm_size if self.azure else ""),
        )
        self._found = tuple(
            Cluster(sizes[name], part.nodes, part.region, part.capacity.kind)
            for part, name in given
            if part is not None
        )
        return self

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters, AWS first."""
        return self._found

    def link_model(self) -> LinkModel | None:
        """The link between the clouds; None without one. Latency: measured, the region pair's, or a cautious 10 ms."""
        if self.interconnect is None:
            return None
        link = self.interconnect
        pair = region_pair(self.aws.region if self.aws else None, self.azure.region if self.azure else None)
        if link.rtt_ms is not None:
            rtt, basis = link.rtt_ms, "round-trip time given in the stack file"
        elif pair is not None:
            rtt, basis = pair.rtt_ms, pair.basis
        else:
            rtt, basis = UNKNOWN_RTT_MS, "no estimate for this region pair; counted with 10 ms, measure it"
        return LinkModel(link.bandwidth_mbps / 1000, rtt, link.loss, link.flows, basis=basis)


UNKNOWN_RTT_MS = 10.0


def _path(location: tuple[int | str, ...], root: str) -> str:
    names = [root, *(str(part) for part in location)]
    return ".".join(name for name in names if name)


def problems_of(error: ValidationError, root: str = "fabric") -> list[str]:
    """One line a problem, with its path in the stack file."""
    lines = []
    for item in error.errors():
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "missing":
            message = "is required; add it"
        elif item["type"] not in {"value_error"}:
            message = f"{message}; got {item['input']!r}"
        lines.append(f"{_path(item['loc'], root)}: {message}")
    return lines


def fabric_spec(
    data: Mapping[str, Any],
    *,
    aws_region: str | None = None,
    azure_location: str | None = None,
    name: str = "fabric",
    sizes: Mapping[str, NodeSize] | None = None,
) -> FabricSpec:
    """A spec from the `gpu-fabric:fabric` mapping; `sizes` are those that the stack file describes itself.

    Raises `PlanningError` with every problem at once.
    """
    document = {**data, "name": name}
    for cloud, region in (("aws", aws_region), ("azure", azure_location)):
        section = document.get(cloud)
        if isinstance(section, Mapping):
            zone = section.get("zone")
            own = section.get("region") or section.get("location")
            from_zone = zone.rstrip("abcdef") if cloud == "aws" and isinstance(zone, str) else None
            document[cloud] = {**section, "region": own or from_zone or region}
    try:
        return FabricSpec.model_validate(document, context={"sizes": sizes or {}})
    except ValidationError as error:
        raise PlanningError(problems_of(error)) from None


def read_stack_file(
    path: Path, *, own_sizes: Callable[[Any], Mapping[str, NodeSize]] = lambda _: {}
) -> FabricSpec:
    """The spec of a Pulumi stack file; `own_sizes` reads its `sizes` mapping.

    Raises `PlanningError` for a file that is missing, no YAML, or incomplete.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanningError([f"{path}: cannot be read ({error.strerror}); give a stack file"]) from None
    except yaml.YAMLError as error:
        raise PlanningError([f"{path}: is no YAML ({' '.join(str(error).split())}); correct it"]) from None
    config = document.get("config") if isinstance(document, Mapping) else None
    if not isinstance(config, Mapping) or not isinstance(config.get(FABRIC_KEY), Mapping):
        raise PlanningError([f"{path}: config has no mapping {FABRIC_KEY!r}; describe the fabric there"])
    stem = path.name.removeprefix("Pulumi.").removesuffix(".yaml").removesuffix(".yml")
    return fabric_spec(
        config[FABRIC_KEY],
        aws_region=config.get("aws:region"),
        azure_location=config.get("azure-native:location") or config.get("azure:location"),
        name=stem,
        sizes=own_sizes(config[FABRIC_KEY]["sizes"]) if "sizes" in config[FABRIC_KEY] else None,
    )
