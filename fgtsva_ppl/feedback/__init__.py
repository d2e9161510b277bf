"""Feedback: when the reward of a round is observed, combined with any environment by `WithFeedback`."""

from fgtsva_ppl.feedback.base import Immediate, WithFeedback
from fgtsva_ppl.feedback.schedules import Batched, Delayed
from fgtsva_ppl.types import Feedback
from samplers.registry import Registry

FEEDBACKS: Registry[Feedback] = Registry("feedback", "fgtsva.feedbacks")
FEEDBACKS.register("immediate", Immediate)
FEEDBACKS.register("delayed", Delayed)
FEEDBACKS.register("batched", Batched)

__all__ = ["FEEDBACKS", "Batched", "Delayed", "Feedback", "Immediate", "WithFeedback"]
