"""Qwen3: llama with a norm over every head's query and key."""

from webxpu.llm.config import Traits
from webxpu.llm.models._decoder import forward, weights

__all__ = ["TRAITS", "forward", "weights"]
TRAITS = Traits(qk_norm=True)
