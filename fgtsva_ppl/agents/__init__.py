"""Who decides."""

from fgtsva_ppl.agents.thompson import Thompson, ThompsonState
from fgtsva_ppl.protocols import Agent
from samplers.registry import Registry

AGENTS: Registry[Agent] = Registry("agent", "fgtsva.agents")
AGENTS.register("thompson", Thompson)

__all__ = ["AGENTS", "Thompson", "ThompsonState"]
