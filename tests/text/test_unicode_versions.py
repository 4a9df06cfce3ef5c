"""Unicode's tables in `tokenizers`, over all code points, whatever version Python has."""

from __future__ import annotations

import base64
import random
import unicodedata
from collections.abc import Callable

import pytest
from tokenizers import Regex, normalizers, pre_tokenizers

from tests.text.sentencepiece_files import charsmap
from tests.text.test_charsmap import trie
from tests.text.unigram_files import models
from webxpu.errors import Unsupported
from webxpu.text import unicode_versions as unicode
from webxpu.text.hf_normalizer import Normal, Precompiled

ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
# Without two long ranges of letters, and where next to nothing is assigned.
ASSIGNED = [c for c in ALL if not ("\u3500" < c < "\ud700" or "\U00017200" < c < "\U00018900" or c > "\U0001fc00")]
# By a character that no step touches, so that one call does for all.
JOINED = "\0".join(ASSIGNED)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normal_forms_are_those_of_9(form: unicode.Form) -> None:
    theirs = getattr(normalizers, form)()
    assert unicode.normalized(form, JOINED) == theirs.normalize_str(JOINED)
    rng = random.Random(form)
    special = [c for c in ALL if unicodedata.decomposition(c) or unicodedata.combining(c)]
    marks = [c for c in special if unicodedata.combining(c)]
    later = sorted(unicode.characters("7fd 11930 11935 11938 1133b 32ff 10efd 1e08f"))
    for _ in range(3000):
        text = "".join(rng.choice(rng.choice((special, marks, marks, later, "aA가각"))) for _ in range(6))
        assert unicode.normalized(form, text) == theirs.normalize_str(text), ascii(text)


def test_characters_are_lowered_alone_and_as_17_does() -> None:
    assert "".join(map(unicode.lower, JOINED)) == normalizers.Lowercase().normalize_str(JOINED)


def test_marks_are_those_of_9() -> None:
    kept = normalizers.StripAccents().normalize_str(JOINED).replace("\0", "")
    assert "".join(c for c in ASSIGNED[1:] if not unicode.is_mark(c)) == kept


@pytest.mark.parametrize(
    ("step", "chosen"),
    [
        (pre_tokenizers.Punctuation("removed"), unicode.is_punctuation),
        (pre_tokenizers.WhitespaceSplit(), unicode.WHITE_SPACE.__contains__),
        (pre_tokenizers.Sequence([pre_tokenizers.Digits()]), unicode.is_number),
    ],
    ids=["punctuation of 8", "white space", "numbers of 17"],
)
def test_what_divides_words(step: pre_tokenizers.PreTokenizer, chosen: Callable[[str], bool]) -> None:
    text = "".join(ASSIGNED)
    parts = step.pre_tokenize_str(text)
    if chosen is unicode.is_number:
        found = {c for part, _ in parts for c in part if unicode.is_number(part[0])}
        assert found == {c for c in ASSIGNED if chosen(c)}
        return
    left = {c for part, _ in parts for c in part}
    assert set(ASSIGNED) - left == {c for c in ASSIGNED if chosen(c)}


@pytest.mark.parametrize(
    "name",
    [
        "L",
        "M",
        "N",
        "P",
        "S",
        "Z",
        "C",
        "Ll",
        "Lm",
        "Lo",
        "Mn",
        "Mc",
        "Nd",
        "No",
        "Pd",
        "Po",
        "Sm",
        "So",
        "Zs",
        "Zl",
        "Zp",
        "Cc",
        "Cf",
        "Co",
        "Cn",
    ],
)
def test_categories_of_patterns_are_those_of_16(name: str) -> None:
    left = set(normalizers.Replace(Regex(rf"\p{{{name}}}"), "").normalize_str("".join(ASSIGNED)))
    found = {chr(c) for first, last in unicode.ranges_of(name) or () for c in range(first, last + 1)}
    assert set(ASSIGNED) - left == found.intersection(ASSIGNED)


def test_other_names_have_no_category() -> None:
    assert unicode.ranges_of("Han") is None


# Rules for one character of each kind that there is in clusters.
KEYS = ["a", "\r", "\n", "\x01", "é", "क", "\u0840", "ᄀ", "가", "각", "ᅡ", "ᆨ", "\u0600", "Ａ", "❤", "\u0301", "क़", "ก"]
BASES = [*KEYS, "\u0890", "\U000110bd", "ﾊ", "क्", "\u200d", "\U0001f44d", "か", "अ", "\u0e33"]
FORMS: list[Callable[[str, str], str]] = [
    lambda base, c: base + c,
    lambda base, c: c + base,
    lambda base, c: base + c + "\u0301",
    lambda base, c: c + base + "\u0301",
    lambda base, c: f"क्{c}{base}\u0301",
]
BLOBS = {
    "one of each kind": charsmap(trie(*[(key.encode(), 1) for key in KEYS]), b"\0X\0"),
    "SentencePiece's": next(iter(models().values())).normalizer.charsmap,
}


@pytest.mark.parametrize("name", BLOBS)
def test_precompiled_rules_apply_to_the_clusters_of_17(name: str) -> None:
    """A sample of all code points beside each base; the whole was compared once."""
    theirs = normalizers.Precompiled(BLOBS[name])
    ours = Precompiled({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(BLOBS[name]).decode()})
    rng = random.Random(name)
    few = [c for c in ALL[:0x20000] if unicode.category(c)[0] in "MC" and unicode.category(c) not in ("Cn", "Co")]
    for base in BASES:
        for form in FORMS:
            for c in rng.sample(ALL, 40) + rng.sample(few, 60):
                text = form(base, c)
                assert ours(Normal(text, 1)).text == theirs.normalize_str(text), ascii(text)


def test_rules_for_signs_whose_clusters_are_not_told_are_refused() -> None:
    blob = base64.b64encode(charsmap(trie(("©".encode(), 1)), b"\0X\0")).decode()
    with pytest.raises(Unsupported, match=r"^tokenizer: a precompiled_charsmap with a rule for © is not supported$"):
        Precompiled({"type": "Precompiled", "precompiled_charsmap": blob})
