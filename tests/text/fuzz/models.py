"""The models of the fuzz by name: those of the archive, some of other normalisers, and real ones."""

from __future__ import annotations

import functools
import io
import random
from pathlib import Path

import sentencepiece

from tests.text.fuzz.compare import Pair
from tests.text.fuzz.texts import POOLS, WORDS
from tests.text.real_files import gguf_metadata, real_file
from tests.text.sentencepiece_files import trained
from webxpu.formats.sentencepiece_writer import write_sentencepiece_model
from webxpu.text.sentencepiece import SentencePiece
from webxpu.text.tokenizers import tokenizer_from_gguf

ARCHIVED = tuple(sorted(trained()))
NORMALISERS = tuple(f"{kind}_{rules}" for kind in ("unigram", "char") for rules in ("nfkc", "nfkc_cf", "nmt_nfkc_cf"))
FILES: tuple[str, ...] = (
    "botchan_en_unigram_1000", "botchan_en_bpe_1000", "kyoto_ja_unigram_8000", "seqio",
    "mistral-v1", "mistral-v2", "mistral-v3",
)  # fmt: skip
VOCABULARIES = ("llama-spm", "phi-3", "nomic-bert-moe")  # of GGUF files: Llama-2, Phi-3, XLM-R
NAMES = (*ARCHIVED, *NORMALISERS, *FILES, *VOCABULARIES)


@functools.lru_cache(maxsize=2)
def load(name: str) -> Pair:
    """The model of a name, or of a file's path, in both packages."""
    if name in VOCABULARIES:
        ours = tokenizer_from_gguf(gguf_metadata(name))
        assert isinstance(ours, SentencePiece)
        return Pair(name, write_sentencepiece_model(ours.model), ours)
    if name in NORMALISERS:
        data = with_normaliser(*name.split("_", 1))
    elif name in ARCHIVED:
        data = _archive()[name]
    else:
        data = (real_file(name) if name in FILES else Path(name)).read_bytes()
    return Pair(name, data, SentencePiece.from_bytes(data, name))


@functools.lru_cache(maxsize=1)
def _archive() -> dict[str, bytes]:
    return trained()


def with_normaliser(kind: str, rules: str) -> bytes:
    """A small model of random lines, with one of the normalisers that sentencepiece has."""
    rng = random.Random(3)
    characters = "".join(POOLS).replace("\0", "")
    lines = ["".join(rng.choices(characters, k=30)) + " ".join(rng.choices(WORDS, k=4)) for _ in range(300)]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=out,
        model_type=kind,
        vocab_size=600,
        normalization_rule_name=rules,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    return out.getvalue()
