"""Qwen2 and Qwen2.5: llama with biases of query, key and value."""

from webxpu.llm.config import Traits
from webxpu.llm.models._decoder import forward, weights

__all__ = ["TRAITS", "forward", "weights"]
TRAITS = Traits(qkv_bias=True)
