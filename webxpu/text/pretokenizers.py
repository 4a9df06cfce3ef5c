"""How BPE vocabularies cut text into words before merging, by the name that a GGUF file gives the rule.

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
    byte_level     pieces are bytes, each as a character of its own; else they are text with U+2581 for a space, and
                   what has no piece becomes its bytes' pieces
    """

    patterns: tuple[str, ...]
    nfc: bool = False
    ignore_merges: bool = False
    add_bos: bool = False
    byte_level: bool = True


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

# Words that end in small letters, and those of capitals; with marks, and letters of one case in both.
_CAPITALS, _SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASES = tuple(rf"[^\r\n\p{{L}}\p{{N}}]?{word}" for word in (f"{_CAPITALS}*{_SMALL}+", f"{_CAPITALS}+{_SMALL}*"))
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TEKKEN = rf"{_CASES[0]}|{_CASES[1]}|\p{{N}}|{_REST}"
_GPT4O = rf"{_CASES[0]}{_CONTRACTION}?|{_CASES[1]}{_CONTRACTION}?|\p{{N}}{{1,3}}|{_REST}"
# DeepSeek's letters, in hexadecimal: those of two cases that Unicode had when the vocabulary was made. A class would
# have what came later too, in each library another part of it.
_CASED = """
41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376-377 37B-37D 37F 386 388-38A 38C 38E-3A1 3A3-3F5
3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15
1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3
1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139
213C-213F 2145-2149 214E 2183-2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2-2CF3 A640-A66D A680-A69B A722-A76F A771-A787
A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3 104D8-104FB 10C80-10CB2 10CC0-10CF2
118A0-118DF 1E900-1E943
"""
_LETTERS = "".join("-".join(chr(int(end, 16)) for end in ends.split("-")) for ends in _CASED.split())
_MARKS = "!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002"
_HAN_AND_OTHERS = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"  # as the models have it: from U+0800 on
_DEEPSEEK_LLM = (
    r"[\r\n]", rf"\s?[{_LETTERS}]+", rf"\s?[{_MARKS}]+", r"\s+$", _HAN_AND_OTHERS, r"\p{N}+",
)  # fmt: skip
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _HAN_AND_OTHERS, r"\p{N}")
_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)

_GPT2_RULE = PreTokenizer((_GPT2,))
_DIGITS_RULE = PreTokenizer((r"\p{N}", _GPT2))
_LLAMA3_RULE = PreTokenizer((_LLAMA3,), ignore_merges=True, add_bos=True)
_QWEN2_RULE = PreTokenizer((_QWEN2,), nfc=True)

PRE_TOKENIZERS = {
    "default": PreTokenizer((r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    "falcon": PreTokenizer((r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]")),
    "deepseek-llm": PreTokenizer(_DEEPSEEK_LLM),
    "deepseek-coder": PreTokenizer(_DEEPSEEK_CODER),
    "deepseek-v3": PreTokenizer(_DEEPSEEK_V3),
    # Runs of newlines are words, all between them is one.
    "gemma4": PreTokenizer((r"\n+",), byte_level=False),
    "qwen35": PreTokenizer((_QWEN35,), nfc=True),
    "tekken": PreTokenizer((_TEKKEN,), ignore_merges=True, add_bos=True),
    **dict.fromkeys(("gpt-4o", "llama4"), PreTokenizer((_GPT4O,))),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling"), _GPT2_RULE),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), _DIGITS_RULE),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "lfm2"), _LLAMA3_RULE),
    **dict.fromkeys(("dbrx", "smaug-bpe"), PreTokenizer((_LLAMA3,))),
    **dict.fromkeys(("glm4", "glm5"), PreTokenizer((_LLAMA3,), ignore_merges=True)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), _QWEN2_RULE),
}
