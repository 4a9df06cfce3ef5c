"""Oniguruma's patterns against Oniguruma, which is in `tokenizers`."""

from __future__ import annotations

import random

import pytest
from tokenizers import Regex
from tokenizers.normalizers import Replace

from webxpu.errors import Unsupported
from webxpu.text.oniguruma import Pattern, literal

ATOMS = [
    "a", "b", " ", r"\s", r"\w", r"[\w]", r"[\W]", r"[^\W]", r"\d", r"\S", r"\W", ".", "[ab]", "[^a]", r"[a-c\s]",
    r"[^\w ]", r"\u3000", r"\n", r"\p{L}", r"\P{L}", r"\p{^Zs}", r"\p{Lu}", r"\.", "é", "{", "}", "]", "-", "^", "$",
    r"\A", r"\z", r"(?!\S)", "(?=a)", "(?<=a)", "(?<! )", r"\x41", r"\x{3000}", r"\h", r"[\-a]", "[a-]", "[.]", r"\/",
    "#", ":", '"', r"\-", "[$^]", "(?>a|ab)", r"\ ", r"[\n\r]", r"\t",
]  # fmt: skip
TIMES = [*[""] * 3, "*", "+", "?", "{2}", "{2,}", "{1,2}", "{,2}", "*?", "+?", "??", "++", "*+", "?+", "{2,3}?", "{1}?"]
CHARACTERS = "aab  \n\r\u3000éA.1_-b½²\u2028\t\u200b\x1c"
SEED = 7


def pattern(rng: random.Random, depth: int = 0) -> str:
    out = ""
    for _ in range(rng.randrange(1, 4)):
        atom = rng.choice(ATOMS)
        if depth < 2 and rng.random() < 0.2:
            atom = rng.choice(("(", "(?:")) + pattern(rng, depth + 1) + ")"
        out += atom + rng.choice(TIMES) + ("|" if rng.random() < 0.1 else "")
    return out


def test_random_patterns_match_what_oniguruma_matches() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    compared = 0
    while compared < 400:
        source = pattern(rng)
        try:
            ours, theirs = Pattern(source), Replace(Regex(source), "<>")
        except Unsupported:
            continue
        except Exception as e:  # the library raises nothing more specific
            if "target of repeat operator is invalid" not in str(e):  # Python allows it
                raise
            continue
        compared += 1
        for _ in range(12):
            text = "".join(rng.choices(CHARACTERS, k=rng.randrange(1, 8)))
            out, at = "", 0
            for begin, end in ours.matches(text):
                out += text[at:begin] + "<>"
                at = end
            assert out + text[at:] == theirs.normalize_str(text), (source, text)


@pytest.mark.parametrize("text", ["a.b*c[d]", "  ", "▁", '"', "``", "-#é", "a\nb", r"\d", "^$|(){}?+"])
def test_a_text_stands_for_itself(text: str) -> None:
    assert literal(text).matches(f"x{text}y{text}") == [(1, 1 + len(text)), (2 + len(text), 2 + 2 * len(text))]


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("(?i:a)", "the group '(?i:'"),
        ("(?<n>a)", "the group '(?<n'"),
        (r"\p{Han}", "the property Han"),
        (r"\bx", r"the escape '\\b'"),
        (r"(a)\1", r"the escape '\\1'"),
        (r"\x{110000}", r"the escape '\\x{110000}'"),
        ("[[:alpha:]]", "'[:' inside brackets"),
        ("[a&&b]", "'&&' inside brackets"),
        ("[]", "'\\]' inside brackets"),
        ("[z-a]", "the range 'z-a'"),
        ("[a", r"a [ without its ]"),
        ("(a", r"a ( without its )"),
        ("a)", r"a ) without its ("),
        ("a**", "a repetition that is repeated"),
        ("^*", "a place that is repeated"),
        ("*", "'*' with nothing before it"),
    ],
)
def test_what_is_not_known_is_named(source: str, what: str) -> None:
    with pytest.raises(Unsupported) as e:
        Pattern(source)
    assert str(e.value).startswith("tokenizer: " + what.replace("\\]", "]"))
    assert str(e.value).endswith(f" in the pattern {source!r} is not supported")


def test_a_pattern_that_python_refuses_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"^tokenizer: the pattern '\(\?<=a\+\)' is not supported: look-behind"):
        Pattern("(?<=a+)")
