"""Transformer shapes: parameters and FLOPs, dense and mixture-of-experts, from layers and widths.

FLOPs follow the usual counting: two per multiply-add; the backward pass is twice the forward pass. `causal` attention
counts the half of the score matrix that is not masked, which is what a flash kernel computes; MFU as published by
NVIDIA counts the whole matrix, so both are offered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpu_fabric.planning.errors import unknown_name
from gpu_fabric.planning.tables import read_toml


@dataclass(frozen=True)
class Experts:
    """The mixture of a layer: `top_k` of `experts` per token, plus `shared` ones that every token passes."""

    experts: int
    top_k: int
    ffn: int
    shared: int = 0
    dense_layers: int = 0
    """Layers at the start that have a dense feed-forward instead."""


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (arXiv 2405.04434): low-rank queries, keys and values."""

    query_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int


@dataclass(frozen=True)
class Transformer:
    """A decoder-only transformer. Widths in elements; `source` says where the shape is published."""

    name: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocab: int
    source: str
    gated: bool = True
    tied_embeddings: bool = False
    positions: int = 0
    """Learned positions; 0 for rotary or none."""
    moe: Experts | None = None
    latent_attention: LatentAttention | None = None
    parameters_b: float | None = None
    """10^9 parameters as the publisher states them."""

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def attention_parameters(self) -> int:
        """Weights of one layer's attention."""
        latent = self.latent_attention
        if latent is None:
            kv = self.kv_heads * self.head_dim
            return self.hidden * (2 * self.hidden + 2 * kv)
        query = self.hidden * latent.query_rank + latent.query_rank * self.heads * (
            latent.nope_dim + latent.rope_dim
        )
        down = self.hidden * (latent.kv_rank + latent.rope_dim)
        up = latent.kv_rank * self.heads * (latent.nope_dim + latent.value_dim)
        return query + down + up + self.heads * latent.value_dim * self.hidden

    def _feed_forward(self, width: int) -> int:
        return (3 if self.gated else 2) * self.hidden * width

    def is_moe_layer(self, layer: int) -> bool:
        return self.moe is not None and layer >= self.moe.dense_layers

    @property
    def moe_layers(self) -> int:
        return self.layers - self.moe.dense_layers if self.moe else 0

    def expert_parameters(self) -> int:
        """Weights of the routed experts of one mixture layer: what expert parallelism spreads."""
        return self.moe.experts * self._feed_forward(self.moe.ffn) if self.moe else 0

    def layer_parameters(self, layer: int) -> int:
        """Weights of one layer, norms included."""
        norms = 2 * self.hidden
        if not self.is_moe_layer(layer) or self.moe is None:
            return self.attention_parameters() + self._feed_forward(self.ffn) + norms
        router = self.hidden * self.moe.experts
        shared = self.moe.shared * self._feed_forward(self.moe.ffn)
        return self.attention_parameters() + self.expert_parameters() + shared + router + norms

    def active_layer_parameters(self, layer: int) -> int:
        """Weights of one layer that a token is multiplied with."""
        if not self.is_moe_layer(layer) or self.moe is None:
            return self.layer_parameters(layer)
        idle = (self.moe.experts - self.moe.top_k) * self._feed_forward(self.moe.ffn)
        return self.layer_parameters(layer) - idle

    @property
    def embedding_parameters(self) -> int:
        """The input embedding with learned positions."""
        return (self.vocab + self.positions) * self.hidden

    @property
    def head_parameters(self) -> int:
        """The output projection; its weights are the embedding's when tied."""
        return self.vocab * self.hidden

    @property
    def parameters(self) -> int:
        head = 0 if self.tied_embeddings else self.head_parameters
        dense = self.layers - self.moe_layers
        layers = dense * self.layer_parameters(0) + self.moe_layers * self.layer_parameters(self.layers - 1)
        return layers + self.embedding_parameters + head + self.hidden

    @property
    def active_parameters(self) -> int:
        """Weights that a token is multiplied with, the output projection included, the look-up not."""
        dense = (self.layers - self.moe_layers) * self.active_layer_parameters(0)
        return dense + self.moe_layers * self.active_layer_parameters(self.layers - 1) + self.head_parameters

    def attention_flops(self, sequence: int, *, causal: bool) -> float:
        """Forward FLOPs a token and layer of scores and their product with the values."""
        latent = self.latent_attention
        width = (
            2 * self.hidden
            if latent is None
            else self.heads * (latent.nope_dim + latent.rope_dim + latent.value_dim)
        )
        return 2.0 * sequence * width * (0.5 if causal else 1.0)

    def linear_flops(self, layer: int) -> float:
        """Forward FLOPs a token of the matrix products of one layer."""
        return 2.0 * self.active_layer_parameters(layer)

    @property
    def head_flops(self) -> float:
        """Forward FLOPs a token of the output projection."""
        return 2.0 * self.head_parameters

    def model_flops(self, sequence: int) -> float:
        """Forward and backward FLOPs a token in the convention of published MFU: attention in full."""
        attention = self.layers * self.attention_flops(sequence, causal=False)
        return 3.0 * (2.0 * self.active_parameters + attention)


def transformer_from_row(name: str, row: Mapping[str, Any]) -> Transformer:
    """A shape from a table of `models.toml` or of a stack file; unknown keys raise `TypeError`."""
    fields = dict(row)
    if moe := fields.pop("moe", None):
        fields["moe"] = Experts(**moe)
    if latent := fields.pop("latent_attention", None):
        fields["latent_attention"] = LatentAttention(**latent)
    return Transformer(name=name, **fields)


@cache
def load_models() -> Mapping[str, Transformer]:
    """Every shape of the library by name."""
    rows = {name: row for name, row in read_toml("models.toml").items() if isinstance(row, dict)}
    return {name: transformer_from_row(name, row) for name, row in rows.items()}


def get_model(name: str, *, where: str = "") -> Transformer:
    """The shape of that name; raises `UnknownNameError` with the nearest."""
    models = load_models()
    if name not in models:
        raise unknown_name("model", name, tuple(models), where=where)
    return models[name]
