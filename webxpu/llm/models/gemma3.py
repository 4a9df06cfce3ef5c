"""Gemma 3: norms over query and key and after attention and feed-forward, GeGLU, a scaled embedding, and of six layers
five that see a window and turn by a rope of their own. GGUF files say neither the six nor that rope's base."""

from webxpu.llm.config import Traits
from webxpu.llm.models._decoder import forward, weights

__all__ = ["TRAITS", "forward", "weights"]
TRAITS = Traits(
    qk_norm=True,
    post_norms=True,
    activation="gelu_tanh",
    scale_embedding=True,
    gain_offset=1.0,
    window_pattern=6,
    local_rope_base=10000.0,
)
