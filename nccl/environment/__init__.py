"""A node's environment: the smallest set of variables that is right, each with its reason, in five renderings."""

from gpu_fabric.nccl.environment.build import (
    DEFAULT_NCCL_VERSION,
    FRAMEWORKS,
    EnvironmentInputError,
    environment,
    presets,
    situation_of,
)
from gpu_fabric.nccl.environment.flows import Flows, flows_of
from gpu_fabric.nccl.environment.model import Environment, LeftOut, Origin, Variable
from gpu_fabric.nccl.environment.render import (
    explain,
    to_conf,
    to_json,
    to_kubernetes,
    to_node_shell,
    to_shell,
    to_slurm,
)
from gpu_fabric.nccl.environment.situation import PluginTopology, Role, Situation

__all__ = [
    "DEFAULT_NCCL_VERSION",
    "FRAMEWORKS",
    "Environment",
    "EnvironmentInputError",
    "Flows",
    "LeftOut",
    "Origin",
    "PluginTopology",
    "Role",
    "Situation",
    "Variable",
    "environment",
    "explain",
    "flows_of",
    "presets",
    "situation_of",
    "to_conf",
    "to_json",
    "to_kubernetes",
    "to_node_shell",
    "to_shell",
    "to_slurm",
]
