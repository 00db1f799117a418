"""Transformer shapes: parameters as published, FLOPs, and messages for unknown models."""

from __future__ import annotations

import pytest

from gpu_fabric.planning.errors import UnknownNameError
from gpu_fabric.planning.transformer import get_model, load_models, transformer_from_row

NAMED = ("llama-3-8b", "llama-3-70b", "llama-3-405b", "mixtral-8x22b", "deepseek-v2", "gpt-3-175b")


@pytest.mark.parametrize("name", sorted(load_models()))
def test_every_shape_has_the_parameters_that_its_publisher_states(name):
    model = get_model(name)
    assert model.parameters_b is not None
    assert model.parameters / 1e9 == pytest.approx(model.parameters_b, rel=0.012)


def test_the_library_has_the_models_that_users_name():
    assert set(NAMED) <= set(load_models())


@pytest.mark.parametrize(
    ("name", "active"), [("mixtral-8x22b", 39.0), ("deepseek-v2", 21.0), ("deepseek-v3", 37.0)]
)
def test_a_mixture_multiplies_a_token_with_its_active_parameters_only(name, active):
    assert get_model(name).active_parameters / 1e9 == pytest.approx(active, rel=0.02)


def test_model_flops_follow_the_published_mfu_convention():
    llama = get_model("llama-3-8b")
    measured = 10682 * llama.model_flops(8192) / 989.5e12
    assert measured == pytest.approx(0.625, abs=0.002), "DGXC prints 62.5 % for 10682 tokens/s and GPU"


def test_causal_attention_is_half_of_the_whole_matrix():
    llama = get_model("llama-3-70b")
    assert llama.attention_flops(8192, causal=True) * 2 == llama.attention_flops(8192, causal=False)
    assert llama.attention_flops(8192, causal=False) == 4 * 8192 * 8192


def test_an_unknown_model_names_the_nearest_and_all():
    with pytest.raises(
        UnknownNameError, match=r"unknown model 'llama3-70b': did you mean llama-3-70b\?"
    ) as error:
        get_model("llama3-70b")
    assert "deepseek-v2" in str(error.value)


def test_a_custom_shape_is_described_with_the_fields_of_the_table():
    row = {
        "layers": 4,
        "hidden": 256,
        "ffn": 1024,
        "heads": 8,
        "kv_heads": 8,
        "vocab": 1000,
        "source": "ours",
    }
    model = transformer_from_row("small", {**row, "moe": {"experts": 4, "top_k": 1, "ffn": 512}})
    assert model.moe_layers == 4
    assert model.active_parameters < model.parameters
    with pytest.raises(TypeError):
        transformer_from_row("small", {**row, "layrs": 4})
