"""The shape of a model that the library lacks, as a stack file gives it: strict, bounded, and consistent in itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from gpu_fabric.planning.transformer import Experts, LatentAttention, Transformer

STATED_SIZE_TOLERANCE = 0.05
"""Share by which the shape's parameters may differ from those that the publisher states."""


# The bounds lie far above every published model; they keep a slip of the hand from being planned.
Layers = Annotated[int, Field(strict=True, ge=1, le=4_096)]
Width = Annotated[int, Field(strict=True, ge=1, le=1 << 22)]
Count = Annotated[int, Field(strict=True, ge=1, le=1 << 16)]
Vocabulary = Annotated[int, Field(strict=True, ge=1, le=1 << 24)]


class _Shape(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


class CustomExperts(_Shape):
    """`moe`: a mixture of experts."""

    experts: Count
    """Routed experts of a layer."""
    top_k: Count
    """Experts that a token passes; at most `experts`."""
    ffn: Width
    """Width of one expert's feed-forward."""
    shared: Annotated[int, Field(strict=True, ge=0, le=1 << 16)] = 0
    """Experts that every token passes."""
    dense_layers: Annotated[int, Field(strict=True, ge=0, le=4_096)] = 0
    """Layers at the start with a dense feed-forward instead."""

    @model_validator(mode="after")
    def _chosen_of_those_there_are(self) -> CustomExperts:
        if self.top_k > self.experts:
            raise ValueError(f"a token passes {self.top_k} of {self.experts} experts; lower topK")
        return self


class CustomLatentAttention(_Shape):
    """`latentAttention`: multi-head latent attention (arXiv 2405.04434)."""

    query_rank: Width
    """Rank of the queries."""
    kv_rank: Width
    """Rank of keys and values."""
    nope_dim: Width
    """Width of a head's part without positions."""
    rope_dim: Width
    """Width of a head's part with rotary positions."""
    value_dim: Width
    """Width of a head's values."""


class CustomModel(_Shape):
    """A decoder-only transformer, in the stack file under `training.model`."""

    name: Annotated[str, Field(strict=True, min_length=1, max_length=80)] = "custom"
    """What reports call it."""
    layers: Layers
    """Transformer layers."""
    hidden: Width
    """Width of the residual stream; a multiple of `heads`."""
    ffn: Width
    """Width of a dense layer's feed-forward."""
    heads: Count
    """Attention heads; a multiple of `kvHeads`."""
    kv_heads: Count
    """Heads of keys and values: as many as `heads`, or fewer with grouped queries."""
    vocab: Vocabulary
    """Entries of the vocabulary."""
    source: Annotated[str, Field(strict=True, min_length=1, max_length=400)]
    """Where the shape is written down."""
    gated: Annotated[bool, Field(strict=True)] = True
    """Whether the feed-forward has three matrices (SwiGLU) instead of two."""
    tied_embeddings: Annotated[bool, Field(strict=True)] = False
    """Whether the output projection is the embedding."""
    positions: Annotated[int, Field(strict=True, ge=0, le=1 << 27)] = 0
    """Learned positions; 0 for rotary or none."""
    moe: CustomExperts | None = None
    latent_attention: CustomLatentAttention | None = None
    parameters_b: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """10^9 parameters as the publisher states them: the shape is then checked against it."""

    @model_validator(mode="after")
    def _consistent(self) -> CustomModel:
        wrong = []
        if self.latent_attention is None and self.hidden % self.heads:
            wrong.append(f"hidden {self.hidden} is no multiple of heads {self.heads}")
        if self.heads % self.kv_heads:
            wrong.append(f"heads {self.heads} is no multiple of kvHeads {self.kv_heads}")
        if self.moe is not None and self.moe.dense_layers >= self.layers:
            wrong.append(
                f"moe.denseLayers {self.moe.dense_layers} leaves no layer of {self.layers} for the mixture"
            )
        if not wrong and self.parameters_b is not None:
            shape = self.to_transformer().parameters / 1e9
            if abs(shape / self.parameters_b - 1) > STATED_SIZE_TOLERANCE:
                wrong.append(
                    f"the shape has {shape:.4g} billion parameters, and parametersB says {self.parameters_b:g}"
                )
        if wrong:
            raise ValueError(f"{', and '.join(wrong)}; correct the shape")
        return self

    def to_transformer(self) -> Transformer:
        """The shape as the planner counts with it."""
        fields = self.model_dump(exclude={"moe", "latent_attention"})
        return Transformer(
            **fields,
            moe=None if self.moe is None else Experts(**self.moe.model_dump()),
            latent_attention=(
                None
                if self.latent_attention is None
                else LatentAttention(**self.latent_attention.model_dump())
            ),
        )
