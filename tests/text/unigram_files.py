"""tokenizer.json files with a Unigram model, whole ones as real models have them and random ones of all known steps."""

from __future__ import annotations

import base64
import random
from functools import cache
from typing import Any

from tests.text.sentencepiece_files import trained
from webxpu.formats.sentencepiece_model import SentencePieceModel, read_sentencepiece_model

# Parts of texts: what normalisers, clusters, pre-tokenizers and names in a text look at.
PARTS = [
    "a", "b", "e", "▁", "▁", " ", " ", "  ", "\t", "\n", "\r\n", "é", "e\u0301", "が", "か\u3099", "ｶﾞ", "東京", "한",
    "\u1100", "\u1161", "😀", "👨\u200d👩", "\u200d", "\u0301", "\u00a0", "\u3000", "<s>", "</s>", "<unk>", "<x>", ".",
    "1", "２", "½", "ﬁ", "Ａ", "İ", "ß", "\x01", "\u0600", "क\u094dषि", "ｶ", "the", "ing", "\u200b", "\ufeff", "＜s＞",
    ",", "<0x41>", '"', "``",
]  # fmt: skip
_NAMES = ("<s>", "</s>", "<unk>", "<x>", "<0x41>")
_BYTES = [[f"<0x{byte:02X}>", -9.0] for byte in range(256)]


def text(rng: random.Random) -> str:
    return "".join(rng.choices(PARTS, k=rng.randrange(rng.choice((3, 8, 20)))))


def added(index: int, content: str, **flags: bool) -> dict[str, Any]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": index, "content": content, **usual, **flags}


def template(before: list[tuple[str, int]], after: list[tuple[str, int]]) -> dict[str, Any]:
    def token(name: str) -> dict[str, Any]:
        return {"SpecialToken": {"id": name, "type_id": 0}}

    single = [*(token(n) for n, _ in before), {"Sequence": {"id": "A", "type_id": 0}}, *(token(n) for n, _ in after)]
    known = {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in before + after}
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known}


def metaspace(scheme: str = "always", *, split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def sequence(key: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", key: list(steps)}


def described(vocab: list[list[Any]], **parts: Any) -> dict[str, Any]:
    """A file; `unk_id` and `byte_fallback` are the model's."""
    model = {"type": "Unigram", "unk_id": parts.pop("unk_id", 0), "vocab": vocab}
    model["byte_fallback"] = parts.pop("byte_fallback", False)
    none = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"), None)
    return {"version": "1.0", "added_tokens": [], **none, **parts, "model": model}


@cache
def models() -> dict[str, SentencePieceModel]:
    """The trained models of the archive with a charsmap."""
    found = {name: read_sentencepiece_model(data) for name, data in trained().items()}
    return {name: model for name, model in found.items() if model.normalizer.charsmap}


def precompiled(charsmap: bytes | None = None) -> dict[str, Any]:
    blob = next(iter(models().values())).normalizer.charsmap if charsmap is None else charsmap
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}


def replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def whole(vocab: list[list[Any]], charsmap: bytes) -> dict[str, dict[str, Any]]:
    """Files as T5, XLM-R and ALBERT have them, of a vocabulary that begins with <unk>, <s> and </s>."""
    names = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")]
    more = [added(len(vocab), "<x>", lstrip=True, rstrip=True), added(len(vocab) + 1, "<y>", special=False)]
    right = {"type": "Strip", "strip_left": False, "strip_right": True}
    split = {"type": "WhitespaceSplit"}
    rules = precompiled(charsmap)
    lower = [replace('"', String="``"), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, rules]
    return {
        "T5": described(
            vocab, added_tokens=names + more, pre_tokenizer=metaspace(), decoder=metaspace(),
            normalizer=sequence("normalizers", rules, right, replace("▁", Regex=" {2,}")),
            post_processor=template([], [("</s>", 2)]),
        ),
        "XLM-R": described(
            vocab, added_tokens=names, decoder=metaspace(), normalizer=rules,
            pre_tokenizer=sequence("pretokenizers", split, metaspace()),
            post_processor=template([("<s>", 1)], [("</s>", 2)]),
        ),
        "ALBERT": described(
            vocab, added_tokens=names, decoder=metaspace("first"), normalizer=sequence("normalizers", *lower),
            pre_tokenizer=sequence("pretokenizers", split, metaspace("first")),
            post_processor=template([("<s>", 1)], [("</s>", 2), ("</s>", 2)]),
        ),
    }  # fmt: skip


def _normalizers() -> list[dict[str, Any]]:
    return [
        precompiled(), *({"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")),
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Prepend", "prepend": "▁"},
        {"type": "Prepend", "prepend": "ab"}, replace("▁", String=" "), replace("", String="e"),
        replace("b a", String="a"), replace(" ", Regex=r"\p{Zs}+"), replace("x", Regex="b*"),
        replace("", Regex=r"[\u00AD\u200B-\u200D]"), replace(" ", Regex=r"\s{2,}|^a"), replace("b", String=""),
    ]  # fmt: skip


def _pre_tokenizers() -> list[dict[str, Any]]:
    behaviors = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
    patterns = ({"String": "a"}, {"String": "a b"}, {"Regex": r"\s+|\d"}, {"Regex": "b*"}, {"Regex": r"[^\s]+"})
    return [
        *(metaspace(scheme) for scheme in ("always", "first", "never")), metaspace("first", split=False),
        metaspace("always", split=False), {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
        {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False, "prepend_scheme": "never"},
        {"type": "Metaspace", "replacement": "_", "str_rep": "_", "add_prefix_space": True, "prepend_scheme": "first"},
        {"type": "WhitespaceSplit"}, {"type": "Whitespace"}, {"type": "Punctuation"},
        {"type": "Punctuation", "behavior": "MergedWithNext"}, {"type": "Digits", "individual_digits": True},
        {"type": "Digits", "individual_digits": False}, {"type": "CharDelimiterSplit", "delimiter": "b"},
        *({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
          for pattern in patterns for behavior in behaviors for invert in (False, True)),
    ]  # fmt: skip


_DECODERS = [
    *(metaspace(scheme) for scheme in ("always", "first", "never")), {"type": "Fuse"}, {"type": "ByteFallback"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}, {"type": "Strip", "content": "a", "start": 2, "stop": 0},
    replace(" ", String="▁"), replace("c", String="ab"), replace("<>", Regex="[ae]+"), replace("", String="a"),
]  # fmt: skip


def drawn(rng: random.Random) -> dict[str, Any]:
    """A file with a random vocabulary and random steps."""
    chars = rng.sample(PARTS, rng.randrange(5, len(PARTS)))
    vocab: list[list[Any]] = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", -1.0]]
    vocab += [[c, -rng.random() * 9] for c in dict.fromkeys(chars) if c not in _NAMES]
    for _ in range(rng.randrange(60)):
        vocab.append(["".join(rng.choices(chars, k=rng.randrange(2, 4))), rng.choice((-2.0, -3.5, -12 * rng.random()))])
    if rng.random() < 0.3:
        vocab += rng.sample(_BYTES, rng.choice((256, 256, 250)))
    if rng.random() < 0.2:
        vocab.append([*vocab[5]])  # twice
    if rng.random() < 0.1:
        vocab.append(["", 0.0])
    ids = {piece: index for index, (piece, _) in enumerate(vocab)}
    names = [added(ids["<s>"], "<s>", lstrip=rng.random() < 0.3), added(ids["</s>"], "</s>", rstrip=rng.random() < 0.3)]
    if rng.random() < 0.7:
        names.append(added(ids["<unk>"], "<unk>"))
    free = len(vocab)
    for content in ("<x>", "ab", "é"):
        if rng.random() < 0.4:
            flags = {flag: rng.random() < 0.4 for flag in ("special", "normalized", "single_word")}
            names.append(added(ids.get(content, free), content, **flags))
            free += content not in ids

    def some(steps: list[dict[str, Any]], key: str, most: int) -> dict[str, Any] | None:
        picked = rng.sample(steps, rng.randrange(most))
        return None if not picked else picked[0] if len(picked) == 1 else sequence(key, *picked)

    return described(
        vocab,
        unk_id=rng.choice((0, 0, 0, 4)),
        byte_fallback=rng.random() < 0.5,
        added_tokens=names,
        normalizer=some(_normalizers(), "normalizers", 4),
        pre_tokenizer=some(_pre_tokenizers(), "pretokenizers", 3),
        decoder=some(_DECODERS, "decoders", 4),
        post_processor=rng.choice((None, template([("<s>", 1), ("<s>", 1)], [("</s>", 2)]))),
    )
