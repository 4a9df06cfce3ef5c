"""Which ids the cache holds and where: prompts that go on, share pages, roll out of the window, or do not fit."""

from __future__ import annotations

import gc

import pytest

from webxpu.errors import ContextOverflow, ShapeError
from webxpu.llm.ledger import Ledger
from webxpu.llm.pages import PagePool, page_keys


def ledger(pool: PagePool | None = None, *, capacity: int = 256, sinks: int = 0) -> Ledger:
    return Ledger(pool or PagePool(capacity // 64), capacity, sinks)


def fed(held: Ledger, ids: list[int], new_tokens: int = 8) -> int:
    """A prompt is begun and its ids are in the cache then; how many of them needed no work."""
    kept = held.begin(ids, new_tokens)
    held.commit(ids)
    return kept


def ids_of(count: int, start: int = 0) -> list[int]:
    return [(start + 7 * i) % 311 for i in range(count)]


@pytest.mark.parametrize(
    ("held", "prompt", "expected"),
    [
        ([], [1, 2, 3], 0),
        ([1, 2, 3], [1, 2, 3, 4, 5], 3),
        ([1, 2, 3], [1, 2, 9, 4], 2),
        ([1, 2, 3], [9, 2, 3], 0),
        ([1, 2, 3, 4], [1, 2], 1),
        ([1, 2, 3], [1, 2, 3], 2),
        ([7], [7], 0),
    ],
)
def test_the_common_prefix_is_reused_but_the_last_token_always_runs(
    held: list[int], prompt: list[int], expected: int
) -> None:
    before = ledger()
    if held:
        fed(before, held)
    assert before.reusable(prompt) == (expected, 0)
    assert before.begin(prompt, 1) == expected


def test_while_a_prompt_is_written_only_its_reused_part_counts() -> None:
    held = ledger()
    fed(held, [1, 2, 3, 4])
    assert held.begin([1, 2, 9, 9], 4) == 2
    assert held.ids == [1, 2]
    held.commit([1, 2, 9, 9, 5])
    assert held.ids == [1, 2, 9, 9, 5]
    held.clear()
    assert (held.ids, held.table, held.pool.free) == ([], [], 4)


def test_a_ledger_does_not_change_with_the_callers_list() -> None:
    prompt = [1, 2, 3]
    held = ledger()
    fed(held, prompt)
    prompt.append(4)
    assert held.ids == [1, 2, 3]


@pytest.mark.parametrize(("tokens", "new", "pages"), [(1, 1, 1), (60, 4, 1), (60, 5, 2), (64, 1, 2), (200, 500, 4)])
def test_a_prompt_takes_the_pages_that_it_and_its_reply_may_need(tokens: int, new: int, pages: int) -> None:
    held = ledger()
    held.begin(ids_of(tokens), new)
    assert len(held.table) == len(set(held.table)) == pages
    held.commit(ids_of(tokens))
    assert len(held.table) == -(-tokens // 64)


def test_another_sequence_shares_whole_pages_of_a_prompt_and_runs_the_rest() -> None:
    pool = PagePool(8)
    one, two = ledger(pool), ledger(pool)
    fed(one, ids_of(150))
    assert fed(two, [*ids_of(140), 5, 6]) == 128
    assert two.table[:2] == one.table[:2]
    assert two.table[2] != one.table[2]
    assert two.copies == []


def test_the_page_of_a_prompts_last_token_is_never_a_shared_one() -> None:
    pool = PagePool(8)
    one, two = ledger(pool), ledger(pool)
    fed(one, ids_of(128))
    assert fed(two, ids_of(128)) == 64
    assert two.table[1] != one.table[1]


def test_pages_that_nobody_holds_serve_a_later_prompt_until_they_are_needed() -> None:
    pool = PagePool(4)
    held = ledger(pool)
    fed(held, ids_of(130))
    fed(held, ids_of(70, start=1))
    assert (pool.held, pool.kept, pool.free) == (2, 2, 0)
    assert fed(held, ids_of(130)) == 128
    fed(held, ids_of(250, start=2))
    assert fed(held, ids_of(130)) == 0


def test_a_sequence_copies_a_shared_page_before_it_writes_into_it() -> None:
    pool = PagePool(8)
    one, two = ledger(pool), ledger(pool)
    fed(one, ids_of(130))
    fed(two, ids_of(130))
    shared = one.table[1]
    assert two.table[1] == shared
    assert one.begin([*ids_of(100), 1, 2, 3], 8) == 100
    assert one.table[0] == two.table[0]
    assert one.copies == [(shared, one.table[1])]
    assert two.table[1] == shared
    assert pool.holds(shared) == 1


def test_a_page_that_is_written_into_is_no_longer_what_it_was() -> None:
    held = ledger()
    fed(held, ids_of(64))
    assert held.begin([*ids_of(20), 1, 2], 8) == 20
    held.commit([*ids_of(20), 1, 2])
    assert held.begin([*ids_of(64), 3], 8) == 20
    assert held.copies == []


def test_where_the_pool_is_too_small_the_sequence_used_least_recently_loses_its_pages() -> None:
    pool = PagePool(4)
    one, two, three = (ledger(pool) for _ in range(3))
    fed(one, ids_of(60, start=1))
    fed(two, ids_of(60, start=2))
    fed(one, ids_of(61, start=1))
    fed(three, ids_of(150, start=3))
    assert (one.ids, two.ids) == (ids_of(61, start=1), [])
    assert len({*one.table, *three.table}) == 4


def test_a_shared_page_becomes_a_sequences_own_where_there_is_no_room_for_a_copy() -> None:
    pool = PagePool(4)
    one, two = ledger(pool), ledger(pool)
    fed(one, ids_of(130), new_tokens=120)
    fed(two, ids_of(130), new_tokens=1)
    assert one.begin([*ids_of(100), 1], 150) == 100
    assert two.ids == [] or one.copies
    assert len(set(one.table)) == 4


def test_a_sequence_that_is_gone_leaves_no_trace() -> None:
    pool = PagePool(4)
    one = ledger(pool)
    fed(one, ids_of(60))
    assert (pool.free, pool.held) == (3, 1)
    del one
    gc.collect()
    assert pool.free == 4


def test_a_window_that_rolled_keeps_its_sinks_and_its_newest_ids() -> None:
    held = ledger(capacity=256, sinks=64)
    ids = ids_of(300)
    held.begin(ids[:100], 500)
    before = list(held.table)
    assert len(before) == 4
    held.commit(ids, evicted=64)
    assert held.table == [before[0], before[2], before[3], before[1]]
    assert held.reusable([*ids, 1]) == (300, 64)
    assert held.reusable([*ids[:200], 1]) == (200, 64)
    assert held.reusable([*ids[:128], 1]) == (128, 64)
    assert held.reusable([*ids[:127], 1, 2]) == (64, 0)  # what followed the sinks was dropped
    assert held.reusable([*ids[:10], 1, 2]) == (10, 0)


def test_pages_of_a_window_that_rolled_are_not_for_other_sequences() -> None:
    pool = PagePool(8)
    one, two = ledger(pool, sinks=64), ledger(pool, sinks=64)
    fed(one, ids_of(200))
    one.begin([*ids_of(200), 1], 200)
    one.commit([*ids_of(200), *range(100)], evicted=64)
    assert two.begin(ids_of(200), 8) == 64


def test_a_rolling_window_writes_over_no_page_of_another_sequence() -> None:
    pool = PagePool(8)
    one, two = ledger(pool, sinks=64), ledger(pool, sinks=64)
    fed(one, ids_of(200))
    fed(two, ids_of(200))
    shared = two.table[:3]
    one.begin([*ids_of(200), 1], 200)
    assert one.table[0] == shared[0]
    assert set(one.table[1:]).isdisjoint(shared)
    assert one.copies == list(zip(shared[1:3], one.table[1:3], strict=True))


def test_a_prompt_that_is_too_long_for_the_window_drops_whole_pages_behind_the_sinks() -> None:
    held = ledger(capacity=256, sinks=64)
    ids = ids_of(250)
    fed(held, ids)
    before = list(held.table)
    assert held.begin([*ids, *range(30)], 8) == 250
    assert held.evicted == 64
    assert held.table[:3] == [before[0], *before[2:4]]
    assert held.ids == ids


def test_where_pages_do_not_do_all_behind_the_sinks_is_dropped() -> None:
    held = ledger(capacity=256, sinks=64)
    ids = ids_of(100)
    fed(held, ids)
    assert held.begin([*ids, *range(180)], 8) == 100
    assert (held.evicted, len(held.ids) - held.evicted) == (36, 64)


def test_a_window_that_rolled_past_what_was_kept_still_has_its_sinks() -> None:
    held = ledger(capacity=128, sinks=64)
    held.begin(ids_of(120), 50)
    held.commit(ids_of(125), evicted=64)
    assert (held.evicted, len(held.ids) - held.evicted) == (61, 64)


@pytest.mark.parametrize(("sinks", "held", "prompt"), [(0, 0, 256), (0, 200, 256), (64, 0, 256), (64, 100, 292)])
def test_a_prompt_that_can_not_fit_is_a_typed_error_and_changes_nothing(sinks: int, held: int, prompt: int) -> None:
    before = ledger(sinks=sinks)
    if held:
        fed(before, ids_of(held))
    table = list(before.table)
    with pytest.raises(ContextOverflow, match=rf"^generate: ids must leave room .* 256 tokens, got {prompt}\. Load"):
        before.begin(ids_of(prompt), 8)
    with pytest.raises(ShapeError) as found:
        before.check(ids_of(prompt))
    assert (found.value.tokens, found.value.capacity) == (prompt, 256)  # type: ignore[attr-defined]
    assert (before.ids, before.table) == (ids_of(held), table)
    assert before.begin(ids_of(prompt - 1), 8) == held


def test_keys_of_pages_depend_on_all_ids_before_them() -> None:
    first, second = page_keys(ids_of(130))
    assert list(page_keys(ids_of(128))) == [first, second]
    assert list(page_keys([1, *ids_of(130)[1:]]))[1] != second
    assert list(page_keys(ids_of(63))) == []
