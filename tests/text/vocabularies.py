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


# A small tokenizer.json with a Unigram model.
UNIGRAM = {
    "version": "1.0", "normalizer": {"type": "NFKC"}, "post_processor": None,
    "added_tokens": [
        {
            "id": 0, "content": "<unk>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True,
        },
        {
            "id": 6, "content": "<tool>", "single_word": False, "lstrip": True, "rstrip": False, "normalized": True,
            "special": False,
        },
    ],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    "model": {
        "type": "Unigram", "unk_id": 0, "byte_fallback": False,
        "vocab": [["<unk>", 0.0], ["\u2581", -3.0], ["\u2581he", -2.0], ["l", -2.5], ["lo", -2.2], ["\u6771", -4.0]],
    },
}  # fmt: skip
