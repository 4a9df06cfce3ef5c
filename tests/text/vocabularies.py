"""Small vocabularies for tests, as GGUF metadata."""

from __future__ import annotations

import numpy as np

from webxpu.text.pieces import BYTE_OF_CHARACTER

CHARACTERS = {byte: character for character, byte in BYTE_OF_CHARACTER.items()}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5


def made(extra: list[tuple[str, int]] = (), merges: list[str] = (), **keys) -> dict:
    """Metadata of a vocabulary of the 256 bytes, what the merges make, and extra tokens with their types."""
    tokens = [CHARACTERS[byte] for byte in range(256)]
    tokens += [token for token in dict.fromkeys(m.replace(" ", "") for m in merges) if token not in tokens]
    kinds = [NORMAL] * len(tokens) + [kind for _, kind in extra]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens + [token for token, _ in extra],
        "tokenizer.ggml.token_type": np.array(kinds, np.int32),
        "tokenizer.ggml.merges": list(merges),
        **{f"tokenizer.ggml.{key}": value for key, value in keys.items()},
    }
