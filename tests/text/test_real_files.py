"""The lock of real vocabularies."""

from __future__ import annotations

import re

from tests.text.real_files import LOCK, golden_cases
from webxpu.host import assets

FOUND = assets.read_lock(LOCK)


def test_every_vocabulary_has_a_hash_a_size_a_licence_and_sources() -> None:
    for asset in FOUND.assets.values():
        assert re.fullmatch(r"[0-9a-f]{64}", asset.sha256), asset.name
        assert asset.size_bytes > 0
        assert asset.licence
        assert asset.sources
        for source in asset.sources:
            kinds = r"https://\S+|(pip|sdist):[\w-]+==[\w.]+!\S+|npm:@[\w-]+/[\w.-]+@[\d.]+!\S+"
            assert re.fullmatch(kinds, source), source


def test_archives_with_a_known_size_are_all_those_that_are_sources() -> None:
    sources = {source.partition("!")[0] for asset in FOUND.assets.values() for source in asset.sources}
    assert set(FOUND.archive_bytes) == {source for source in sources if "://" not in source}


def test_users_are_not_given_what_only_tests_need() -> None:
    assert not set(FOUND.assets) & set(assets.read_lock().assets)


def test_the_last_text_counts_with_a_separator_after_it_or_without() -> None:
    assert [len(golden_cases(name)) for name in ("gpt-2", "gemma-4", "qwen35")] == [46, 46, 50]
    assert golden_cases("gemma-4")[-1][0].endswith("We'Ve a'lL")
    assert golden_cases("gpt-2")[-1][0].endswith("We'Ve a'lL")
