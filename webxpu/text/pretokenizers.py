"""How byte-level BPE vocabularies cut text into words before merging, by the name that a GGUF file gives the rule.

https://github.com/ggml-org/llama.cpp/blob/ef035f779276d5f5636a0fd8cbeff6a83d646d2b/src/llama-vocab.cpp
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PreTokenizer:
    """Patterns applied in turn: what one matches and what lies between are words for the next.

    patterns       regular expressions with Unicode classes, for Oniguruma and (rewritten) for JavaScript
    nfc            text is normalised first, as the models' own tokenizer.json does
    ignore_merges  a word that is a token is taken whole, whatever the merges would make of it
    add_bos        a beginning-of-text token comes first unless the file says otherwise
    """

    patterns: tuple[str, ...]
    nfc: bool = False
    ignore_merges: bool = False
    add_bos: bool = False


_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Every letter case is written out: (?i:) would also match U+017F for s, which one of the two engines does not do.
_CONTRACTION = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SYMBOLS_AND_SPACE = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_SYMBOLS_AND_SPACE}"
_QWEN2 = rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_SYMBOLS_AND_SPACE}"
_QWEN35 = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_GPT2_RULE = PreTokenizer((_GPT2,))
_DIGITS_RULE = PreTokenizer((r"\p{N}", _GPT2))
_LLAMA3_RULE = PreTokenizer((_LLAMA3,), ignore_merges=True, add_bos=True)
_QWEN2_RULE = PreTokenizer((_QWEN2,), nfc=True)

PRE_TOKENIZERS = {
    "default": PreTokenizer((r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    "falcon": PreTokenizer((r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]")),
    "qwen35": PreTokenizer((_QWEN35,), nfc=True),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo"), _GPT2_RULE),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r"), _DIGITS_RULE),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "lfm2"), _LLAMA3_RULE),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), _QWEN2_RULE),
}
