"""Search layouts and the cut of layers between clouds; rank by step time; say what helps, and when not to split."""

from gpu_fabric.planning.planner.advice import Advice
from gpu_fabric.planning.planner.plan import Plan, plan
from gpu_fabric.planning.planner.search import Candidate

__all__ = ["Advice", "Candidate", "Plan", "plan"]
