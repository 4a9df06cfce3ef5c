"""What a model file says about its architecture, as typed values that have been checked against each other.

Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#llm
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from webxpu.errors import FormatError, Unsupported
from webxpu.llm import models
from webxpu.ops.rope import Pairs, YarnScaling, rope_table

# llama.cpp knows Gemma 3 27B, whose scores are scaled by hidden / heads, by its layers: no key says it.
_SCALED_BY_HIDDEN = ("gemma3", 62)
# Keys of other models of these names whose forward has a step more; each with the value that changes nothing.
_NEUTRAL = {
    "attn_logit_softcapping": None, "final_logit_softcapping": None, "logit_scale": None, "residual_scale": None,
    "embedding_scale": None, "attention.clamp_kqv": None, "attention.causal": True, "attention.max_alibi_bias": None,
    "rope.scale_linear": 1.0, "rope.scaling.attn_factor": 1.0, "rope.scaling.yarn_attn_factor": 1.0,
    "rope.scaling.yarn_ext_factor": 1.0, "rope.scaling.yarn_log_multiplier": None, "expert_shared_count": 0,
    "expert_weights_scale": 1.0, "leading_dense_block_count": 0,
}  # fmt: skip
# Layers, channels of a head or experts that a model may have: the most has a few hundred.
MAX_COUNT = 4096


@dataclass(frozen=True)
class Traits:
    """What all models of an architecture have in common: `TRAITS` in `models/<architecture>.py`.

    pairs            the channels that rope turns together in its GGUF files; in Hugging Face's it is always "half"
    qkv_bias         query, key and value have biases
    qk_norm          every head's query and key pass an RMSNorm before rope
    post_norms       attention and feed-forward end with an RMSNorm before the residual is added
    activation       of the feed-forward's gate, see `webxpu.ops.activation`
    scale_embedding  the embedding is multiplied by sqrt(hidden)
    gain_offset      what Hugging Face's files leave out of every norm's gain; GGUF files have it added
    experts          the feed-forward is a mixture of experts
    window_pattern   of so many layers the last attends to everything where a file has a sliding window; 0: none does,
                     None: a window is refused
    local_rope_base  rope's base in layers of a sliding window; None: as in the others
    """

    pairs: Pairs = "half"
    qkv_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False
    activation: str = "silu"
    scale_embedding: bool = False
    gain_offset: float = 0.0
    experts: bool = False
    window_pattern: int | None = None
    local_rope_base: float | None = None


@dataclass(frozen=True)
class Config:
    """A decoder-only transformer of the llama family.

    head_dim is its own field: it is not always hidden / heads. context_length is what the model was trained for. ffn is
    the width of one expert where there are experts.
    rope_pairs says which channels rope turns together: "adjacent" where a converter has interleaved the halves of every
    head, as llama's does for GGUF files, "half" where the rows are in the order that Hugging Face trains.

    rope_factors     divisors of rope's frequencies, one a pair, or none; not in layers with a local_rope_base
    rope_scaling     likewise
    local_rope_base  rope's base in layers with a window; None: as in the others
    windows          one a layer: how many tokens a row sees, with itself; 0: all. Empty: all, in every layer
    attention_scale  None is 1 / sqrt(head_dim)
    gain_offset      what the file leaves out of every norm's gain

    The others are as in `Traits`.
    """

    architecture: str
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    rope_base: float
    rms_eps: float
    context_length: int
    rope_pairs: Pairs = "adjacent"
    rope_factors: tuple[float, ...] = ()
    rope_scaling: YarnScaling | None = None
    local_rope_base: float | None = None
    windows: tuple[int, ...] = ()
    qkv_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False
    activation: str = "silu"
    embedding_scale: float = 1.0
    attention_scale: float | None = None
    gain_offset: float = 0.0
    experts: int = 0
    experts_used: int = 0
    normalize_gates: bool = True

    def window(self, layer: int) -> int:
        """How many tokens a row of a layer sees, with itself; 0: all."""
        return self.windows[layer] if self.windows else 0

    def rope_is_local(self, layer: int) -> bool:
        """Whether a layer turns by local_rope_base."""
        return self.local_rope_base is not None and self.window(layer) > 0

    def rope_table(self, layer: int, positions: int) -> NDArray[np.float32]:
        """(positions, D / 2, 2) float32: a layer's cosines and sines, see `webxpu.ops.rope_table`. Layers of which
        `rope_is_local` says the same have the same table."""
        if self.local_rope_base is not None and self.rope_is_local(layer):
            return rope_table(positions, self.head_dim, base=self.local_rope_base)
        factors = self.rope_factors or None
        return rope_table(
            positions, self.head_dim, base=self.rope_base, freq_factors=factors, scaling=self.rope_scaling
        )

    def with_rope_factors(self, factors: ArrayLike) -> Config:
        """The same with frequencies that `rope_freqs.weight` of a GGUF file, (D / 2,), divides further.

        Raises FormatError where they are not so many positive numbers.
        """
        found = np.asarray(factors, np.float64)
        if found.shape != (self.head_dim // 2,) or not (np.isfinite(found) & (found > 0)).all():
            raise FormatError(
                f"weights: rope_freqs.weight must be {self.head_dim // 2} positive numbers, got {found.shape}"
            )
        return replace(self, rope_factors=tuple((found * np.array(self.rope_factors or 1.0)).tolist()))


def architecture_of(metadata: Mapping[str, Any]) -> str:
    """`general.architecture`. Raises FormatError where it is missing or no text."""
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise FormatError(f"metadata: general.architecture must be a text, got {name!r}")
    return name


def config_from_gguf(metadata: Mapping[str, Any], vocab: int) -> Config:
    """The configuration in a GGUF header; `vocab` is the number of rows of its embedding.

    Raises FormatError, naming the key, where a value is missing or contradicts another; Unsupported where the file
    asks for something that the forward does not compute, or for another architecture.
    """
    name = architecture_of(metadata)
    traits: Traits = models.find(name).TRAITS
    read = Keys(metadata, f"metadata: {name}.", f"{name}.")
    hidden = read.count("embedding_length")
    heads = read.count("attention.head_count")
    kv_heads = read.count("attention.head_count_kv", default=heads)
    if heads % kv_heads:
        read.clash("attention.head_count", f"a multiple of attention.head_count_kv {kv_heads}", heads)
    if not read.has("attention.key_length") and hidden % heads:
        read.clash("embedding_length", f"a multiple of attention.head_count {heads}", hidden)
    head_dim = read.count("attention.key_length", default=hidden // heads, most=MAX_COUNT)
    layers, context = read.count("block_count", most=MAX_COUNT), read.count("context_length")
    by_hidden = (name, layers) == _SCALED_BY_HIDDEN
    config = Config(
        architecture=name,
        layers=layers,
        hidden=hidden,
        ffn=read.count("expert_feed_forward_length" if traits.experts else "feed_forward_length"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=vocab,
        rope_base=read.positive("rope.freq_base", default=10000.0),
        rms_eps=read.positive("attention.layer_norm_rms_epsilon"),
        context_length=context,
        rope_pairs=traits.pairs,
        rope_factors=_linear_factors(read, head_dim),
        rope_scaling=_yarn(read, context),
        local_rope_base=_local_base(read, traits),
        windows=_windows(read, traits, layers),
        attention_scale=(hidden / heads) ** -0.5 if by_hidden else read.optional("attention.scale"),
        **experts_of(read, traits, "expert_count", "expert_used_count"),
        **common(traits, hidden),
    )
    read.must_equal("attention.value_length", head_dim)
    read.must_equal("rope.dimension_count", head_dim)
    for key, value in _NEUTRAL.items():
        read.must_equal(key, value)
    if read.count("vocab_size", default=vocab) != vocab:
        read.clash("vocab_size", f"the {vocab} rows of the embedding", read.count("vocab_size"))
    if head_dim % 2:
        read.clash("attention.key_length", "even, since rope turns pairs of channels", head_dim)
    return config


def common(traits: Traits, hidden: int) -> dict[str, Any]:
    """The fields of a Config that no key of a file says."""
    return {
        "qkv_bias": traits.qkv_bias,
        "qk_norm": traits.qk_norm,
        "post_norms": traits.post_norms,
        "activation": traits.activation,
        "embedding_scale": math.sqrt(hidden) if traits.scale_embedding else 1.0,
    }


def experts_of(read: Keys, traits: Traits, all_key: str, used_key: str) -> dict[str, Any]:
    """The number of experts and of those that a token goes to, as fields of a Config."""
    if not traits.experts:
        read.must_equal(all_key, 0)
        return {}
    found = {"experts": read.count(all_key, most=MAX_COUNT), "experts_used": read.count(used_key)}
    if found["experts_used"] > found["experts"]:
        read.clash(used_key, f"at most {all_key} {found['experts']}", found["experts_used"])
    return found


def windows_by_pattern(window: int, pattern: int, layers: int) -> tuple[int, ...]:
    """One window a layer; of every `pattern` layers the last sees everything (0: none does). One of the whole context
    hides nothing, but may have a rope of its own."""
    return tuple(0 if pattern and i % pattern == pattern - 1 else window for i in range(layers))


def _windows(read: Keys, traits: Traits, layers: int) -> tuple[int, ...]:
    if traits.window_pattern is None:
        read.must_equal("attention.sliding_window", None)
        return ()
    if not read.has("attention.sliding_window"):
        return ()
    key = "attention.sliding_window_pattern"
    pattern = read.count(key) if read.has(key) else traits.window_pattern
    return windows_by_pattern(read.count("attention.sliding_window"), pattern, layers)


def _local_base(read: Keys, traits: Traits) -> float | None:
    return None if traits.local_rope_base is None else read.positive("rope.freq_base_swa", traits.local_rope_base)


def _linear_factors(read: Keys, head_dim: int) -> tuple[float, ...]:
    if read.text("rope.scaling.type", ("none", "linear", "yarn")) != "linear":
        return ()
    return (read.positive("rope.scaling.factor"),) * (head_dim // 2)


def _yarn(read: Keys, context: int) -> YarnScaling | None:
    if read.text("rope.scaling.type", ("none", "linear", "yarn")) != "yarn":
        return None
    factor = read.positive("rope.scaling.factor")
    if factor < 1:
        read.clash("rope.scaling.factor", "at least 1", factor)
    return YarnScaling(
        factor,
        read.count("rope.scaling.original_context_length", default=context),
        read.positive("rope.scaling.yarn_beta_fast", default=32.0),
        read.positive("rope.scaling.yarn_beta_slow", default=1.0),
    )


class Keys:
    """Typed reads of `values[prefix + key]`; `where` stands before the key in messages. None is as good as missing."""

    def __init__(self, values: Mapping[str, Any], where: str, prefix: str = "") -> None:
        self._values = values
        self._where = where
        self._prefix = prefix

    def has(self, key: str) -> bool:
        return self._values.get(self._prefix + key) is not None

    def clash(self, key: str, rule: str, got: object) -> NoReturn:
        raise FormatError(f"{self._where}{key} must be {rule}, got {got!r}")

    def refuse(self, key: str, rule: str, got: object) -> NoReturn:
        raise Unsupported(f"{self._where}{key} must be {rule} for this version of webxpu, got {str(got)[:80]!r}")

    def count(self, key: str, default: int | None = None, most: int | None = None) -> int:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            if isinstance(value, list | np.ndarray):
                raise Unsupported(f"{self._where}{key} differs between layers, which is not supported")
            self.clash(key, "a whole number of at least 1", value)
        if most is not None and value > most:
            self.clash(key, f"at most {most}", value)
        return int(value)

    def positive(self, key: str, default: float | None = None) -> float:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            self.clash(key, "a number above 0", value)
        return float(value)

    def optional(self, key: str) -> float | None:
        """A positive number, or None where the key is missing."""
        return self.positive(key) if self.has(key) else None

    def flag(self, key: str, default: bool) -> bool:
        value = self._value(key, default)
        if not isinstance(value, bool):
            self.clash(key, "true or false", value)
        return value

    def text(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of some texts, the first where the key is missing. Raises Unsupported for another one."""
        value = self._value(key, allowed[0])
        if not isinstance(value, str) or value not in allowed:
            raise Unsupported(
                f"{self._where}{key} must be one of {', '.join(allowed)} for this version of webxpu, got {value!r}"
            )
        return value

    def must_equal(self, key: str, expected: object) -> None:
        value = self._values.get(self._prefix + key)
        if isinstance(value, np.ndarray) or (value is not None and value != expected):
            rule = "missing" if expected is None else repr(expected)
            raise Unsupported(f"{self._where}{key} must be {rule} for this version of webxpu, got {value!r}")

    def _value(self, key: str, default: Any) -> Any:
        value = self._values.get(self._prefix + key)
        value = default if value is None else value
        if value is None:
            raise FormatError(f"{self._where}{key} is missing")
        return value
