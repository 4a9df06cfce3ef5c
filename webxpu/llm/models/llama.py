"""The llama family: RMSNorm, grouped-query attention with rope, SwiGLU, no biases."""

from webxpu.llm.config import Traits
from webxpu.llm.models._decoder import forward, weights

__all__ = ["TRAITS", "forward", "weights"]
# llama.cpp's converter interleaves the halves of every head of this family alone.
TRAITS = Traits(pairs="adjacent")
