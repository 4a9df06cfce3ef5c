"""Qwen3-MoE: Qwen3 whose feed-forward is a mixture of experts."""

from webxpu.llm.config import Traits
from webxpu.llm.models._decoder import forward, weights

__all__ = ["TRAITS", "forward", "weights"]
TRAITS = Traits(qk_norm=True, experts=True)
