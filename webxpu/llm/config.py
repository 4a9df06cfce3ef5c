"""What a model file says about its architecture, as typed values that have been checked against each other.

Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#llm
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from webxpu.errors import FormatError, Unsupported


@dataclass(frozen=True)
class Config:
    """A decoder-only transformer of the llama family.

    head_dim is its own field: it is not always hidden / heads. context_length is what the model was trained for.
    rope_pairs says which channels rope turns together: "adjacent" where a converter has interleaved the halves of every
    head, as for GGUF files of this family, "half" where the rows are in the order that Hugging Face trains.
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
    rope_pairs: str = "adjacent"

    @property
    def qkv_rows(self) -> int:
        """Rows of the stacked query, key and value projection."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim


def architecture_of(metadata: Mapping[str, Any]) -> str:
    """`general.architecture`. Raises FormatError where it is missing or no text."""
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise FormatError(f"metadata: general.architecture must be a text, got {name!r}")
    return name


def config_from_gguf(metadata: Mapping[str, Any], vocab: int) -> Config:
    """The configuration in a GGUF header; `vocab` is the number of rows of its embedding.

    Raises FormatError, naming the key, where a value is missing or contradicts another; Unsupported where the file
    asks for something that the llama forward does not compute.
    """
    name = architecture_of(metadata)
    read = Keys(metadata, f"metadata: {name}.", f"{name}.")
    hidden = read.count("embedding_length")
    heads = read.count("attention.head_count")
    kv_heads = read.count("attention.head_count_kv", default=heads)
    if heads % kv_heads:
        read.clash("attention.head_count", f"a multiple of attention.head_count_kv {kv_heads}", heads)
    if not read.has("attention.key_length") and hidden % heads:
        read.clash("embedding_length", f"a multiple of attention.head_count {heads}", hidden)
    head_dim = read.count("attention.key_length", default=hidden // heads)
    config = Config(
        architecture=name,
        layers=read.count("block_count"),
        hidden=hidden,
        ffn=read.count("feed_forward_length"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=vocab,
        rope_base=read.positive("rope.freq_base", default=10000.0),
        rms_eps=read.positive("attention.layer_norm_rms_epsilon"),
        context_length=read.count("context_length"),
    )
    read.must_equal("attention.value_length", head_dim)
    read.must_equal("rope.dimension_count", head_dim)
    read.must_equal("expert_count", 0)
    read.must_equal("rope.scaling.type", "none")
    read.must_equal("rope.scale_linear", 1.0)
    if read.count("vocab_size", default=vocab) != vocab:
        read.clash("vocab_size", f"the {vocab} rows of the embedding", read.count("vocab_size"))
    if head_dim % 2:
        read.clash("attention.key_length", "even, since rope turns pairs of channels", head_dim)
    return config


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

    def count(self, key: str, default: int | None = None) -> int:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            if isinstance(value, list | np.ndarray):
                raise Unsupported(f"{self._where}{key} differs between layers, which is not supported")
            self.clash(key, "a whole number of at least 1", value)
        return int(value)

    def positive(self, key: str, default: float | None = None) -> float:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            self.clash(key, "a number above 0", value)
        return float(value)

    def must_equal(self, key: str, expected: object) -> None:
        value = self._values.get(self._prefix + key)
        if isinstance(value, np.ndarray) or (value is not None and value != expected):
            raise Unsupported(f"{self._where}{key} must be {expected!r} for this version of webxpu, got {value!r}")

    def _value(self, key: str, default: Any) -> Any:
        value = self._values.get(self._prefix + key)
        value = default if value is None else value
        if value is None:
            raise FormatError(f"{self._where}{key} is missing")
        return value
