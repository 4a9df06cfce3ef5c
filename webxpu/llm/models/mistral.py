"""Mistral: llama with a sliding window in every layer. GGUF files call it llama."""

from webxpu.llm.config import Traits
from webxpu.llm.models._decoder import forward, weights

__all__ = ["TRAITS", "forward", "weights"]
TRAITS = Traits(pairs="adjacent", window_pattern=0)
