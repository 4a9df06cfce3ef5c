"""sample: the random numbers, the filters against transformers, and the whole against a sampler that sorts.

The GPU's cases are webxpu/cases/sample.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from webxpu import ops
from webxpu.cases.case import uniform
from webxpu.cases.sample import CASES, is_settled
from webxpu.errors import ShapeError
from webxpu.gpu.plan import Spec
from webxpu.llm.state import State
from webxpu.ops.sample import candidates, gumbel, lowest_in_sigma, order_bits, philox, scores, threshold

# kat_vectors of Random123 1.14, philox4x32 10 rounds: counter, key, result.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return tuple(int(word, 16) for word in text.split())


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_philox_gives_the_known_answers(counter, key, result):
    assert tuple(int(w) for w in philox(words(counter), words(key))) == words(result)


def test_philox_takes_arrays_word_by_word():
    ids = np.arange(5)
    assert [int(w) for w in philox((ids, 3, 0, 0), (1, 2))[0]] == [int(philox((i, 3, 0, 0), (1, 2))[0]) for i in ids]


def test_gumbel_noise_is_finite_at_both_ends_and_has_its_mean_and_variance():
    ends = gumbel(np.array([0, 0xFFFFFFFF], np.uint32))
    np.testing.assert_allclose(ends, [-np.log(np.log(2.0**24)), 24 * np.log(2)], rtol=1e-7)
    noise = gumbel(philox((np.arange(200_000), 0, 0, 0), (5, 0))[0])
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=0.01)
    assert noise.var() == pytest.approx(np.pi**2 / 6, abs=0.03)


def test_the_uniform_behind_the_noise_is_exact_in_float32():
    n = np.array([0, 1, 2**22, 2**23 - 1])
    u = (n + 0.5) / 2**23
    assert (u.astype(np.float32) == u).all()


def test_bits_have_the_order_of_the_floats():
    values = np.array([-np.inf, -3e38, -1.5, -1e-40, -0.0, 0.0, 1e-40, 1.5, 3e38, np.inf], np.float32)
    assert (np.diff(order_bits(values).astype(np.int64)) > 0).all()


@pytest.mark.parametrize("k", [1, 2, 37, 100])
def test_the_threshold_is_the_kth_largest(k):
    values = uniform((100,), 4)
    bits = order_bits(values)
    assert threshold(bits, np.ones(100, np.uint64), k) == np.sort(bits)[-k]


def test_the_threshold_keeps_everything_where_the_sum_falls_short():
    assert threshold(order_bits(uniform((9,))), np.ones(9, np.uint64), 10) == 0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("top_k_1", {"top_k": 1}), ("top_k_7", {"top_k": 7}),
        ("top_p_0.1", {"top_p": 0.1}), ("top_p_0.9", {"top_p": 0.9}),
        ("min_p_0.05", {"min_p": 0.05}), ("min_p_1.0", {"min_p": 1.0}),
        ("top_k_20_top_p_0.8", {"top_k": 20, "top_p": 0.8}),
    ],
)  # fmt: skip
def test_the_filters_keep_what_transformers_keeps(golden, name, options):
    kept, _ = candidates(golden("filters.logits"), State(temperature=1.3, **options))
    np.testing.assert_array_equal(kept, golden(f"filters.{name}"))
    assert 0 < kept.sum() < 500


def philox_scalar(counter, key):
    """Philox4x32-10 once more, on Python's integers, a round at a time."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second & 0xFFFFFFFF, first >> 32 ^ c[3] ^ k[1], first & 0xFFFFFFFF]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


def sorting_sampler(logits, state):
    """The same contract by sorting, in float64, one token after the other."""
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    if state.temperature == 0:
        return order[0]
    spread = np.std([float(v) for v in logits]) if state.top_n_sigma else 0
    if state.top_n_sigma:
        order = [i for i in order if logits[i] >= logits[order[0]] - state.top_n_sigma * spread]
    if state.top_k:
        order = [i for i in order if logits[i] >= logits[order[min(state.top_k, len(order)) - 1]]]
    likely = {i: np.exp((float(logits[i]) - float(logits[order[0]])) / state.temperature) for i in order}
    total, reached, kept = sum(likely.values()), 0.0, []
    for i in order:
        if reached < state.top_p * total and likely[i] >= state.min_p:
            kept.append(i)
        reached += likely[i]
    key = state.seed % 2**32, state.seed // 2**32
    best, winner = -np.inf, None
    for i in sorted(kept):
        u = ((philox_scalar((i, state.step, 0, 0), key)[0] >> 9) + 0.5) / 2**23
        score = (float(logits[i]) - float(logits[order[0]])) / state.temperature - np.log(-np.log(u))
        if score > best:
            best, winner = score, i
    return winner


def drawn(logits, state):
    history, raw = np.full(4, -1, np.int32), replace(state, position=0, capacity=4).to_words()
    assert ops.sample(logits, history, raw) is None
    after = State.from_words(raw)
    assert (after.position, after.step) == (1, state.step + 1)
    return int(history[1])


OPTIONS = [
    {"temperature": 1.0}, {"temperature": 0.7, "top_k": 12}, {"temperature": 1.5, "top_p": 0.8},
    {"temperature": 2.0, "min_p": 0.1}, {"temperature": 1.2, "top_k": 30, "top_p": 0.9, "min_p": 0.02},
    {"temperature": 2.0, "top_n_sigma": 0.7}, {"temperature": 0.0, "top_n_sigma": 0.7},
    {"temperature": 3.0, "top_n_sigma": 1.2, "top_k": 15, "top_p": 0.9, "min_p": 0.2}, {"temperature": 0.0},
]  # fmt: skip


def test_it_draws_what_a_sampler_that_sorts_draws_but_for_float_ties():
    """Draws whose outcome rounding could change are left out and counted."""
    excluded = total = 0
    seen = set()
    for number in range(50):
        logits = uniform((60,), number, amp=4)
        for options in OPTIONS:
            state = State(step=number, seed=number * 2**31 + 5, **options)
            total += 1
            if not is_settled(logits, state):
                excluded += 1
                continue
            token = drawn(logits, state)
            seen.add(token)
            assert token == sorting_sampler(logits, state), (number, options)
    assert total == 450
    assert excluded <= 5
    assert len(seen) > 30


def test_no_case_depends_on_rounding_and_few_seeds_were_passed_over():
    passed_over = 0
    for case in CASES:
        logits, _, raw, *_ = case.make()
        state = State.from_words(raw)
        if case.name in ("equal-logits", "ties-at-the-threshold"):  # the noise alone decides
            best = np.sort(scores(logits, state))[-2:]
            assert best[1] - best[0] > 1e-3
        else:
            assert is_settled(logits, state), case
        if case.name.endswith("-tokens"):
            passed_over += state.seed - (2**63 + len(logits))
    assert passed_over <= 3


def test_the_draws_follow_the_distribution():
    logits = np.array([2, 1, 0, -1, 1.5, -3], np.float32)
    state = State(temperature=1.3, seed=2024)
    draws = [int(np.argmax(scores(logits, replace(state, step=step)))) for step in range(6000)]
    expected = np.exp(logits / 1.3) / np.exp(logits / 1.3).sum()
    counts = np.bincount(draws, minlength=6)
    chi_square = ((counts - 6000 * expected) ** 2 / (6000 * expected)).sum()
    assert chi_square < 15.09  # one run in a hundred of a right sampler with five degrees of freedom lies above


def test_the_seed_and_the_step_both_change_the_draw():
    logits = np.zeros(1000, np.float32)
    states = [State(temperature=1.0, seed=s, step=t) for s in (0, 1, 2**32) for t in (0, 1)]
    assert len({drawn(logits, s) for s in states}) == 6
    assert drawn(logits, states[0]) == drawn(logits, states[0])


def test_ties_at_a_threshold_are_kept():
    kept, _ = candidates(np.array([1, 3, 2, 2, 2, 0], np.float32), State(temperature=1.0, top_k=2))
    assert kept.tolist() == [False, True, True, True, True, False]
    kept, _ = candidates(np.array([5, 1, 5, 1], np.float32), State(temperature=1.0, top_p=0.4))
    assert kept.tolist() == [True, False, True, False]


@pytest.mark.parametrize("n", [0.1, 0.5, 1.0, 3.0])
def test_sigma_is_numpys_standard_deviation_of_what_is_not_banned(n):
    logits = uniform((400,), 8, amp=5)
    allowed = logits.copy()
    logits[::4], logits[1::8] = -(2.0**127), np.finfo(np.float32).min
    left = allowed[logits > -(2.0**127)].astype(np.float64)
    assert lowest_in_sigma(logits, n) == pytest.approx(logits.max() - n * left.std(), rel=1e-6)


def test_sigma_does_not_look_at_the_temperature_nor_a_greedy_choice_at_sigma():
    logits = uniform((200,), 5, amp=6)
    kept = [candidates(logits, State(temperature=t, top_n_sigma=0.5))[0] for t in (0.5, 1.0, 30.0)]
    assert 1 < kept[0].sum() < 100
    assert (kept[0] == kept[1]).all()
    assert (kept[0] == kept[2]).all()
    assert drawn(logits, State(temperature=0.0, top_n_sigma=1e-3)) == logits.argmax()


def test_where_everything_is_banned_sigma_is_zero():
    assert lowest_in_sigma(np.full(3, -(2.0**127), np.float32), 2.0) == -(2.0**127)


def test_min_p_and_top_p_both_look_at_what_top_k_and_sigma_left():
    """After top-k 4: 0.4, 0.3, 0.2, 0.1. top_p 0.65 keeps two of them; min_p 0.4 keeps three."""
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1, 0.09, 0.08, 0.07, 0.06], np.float32))
    for options, wanted in (
        ({"top_p": 0.65}, 2),
        ({"min_p": 0.4}, 3),
        ({"top_p": 0.65, "min_p": 0.4}, 2),
        ({"top_p": 0.65, "min_p": 0.8}, 1),
        ({"top_p": 0.85, "min_p": 0.4}, 3),
    ):
        assert candidates(logits, State(temperature=1.0, top_k=4, **options))[0].sum() == wanted
    sigma = 1.55 / logits.std()  # just above ln(0.4 / 0.09) = 1.49, where five are left, whose sum is 1.09
    assert candidates(logits, State(temperature=1.0, top_n_sigma=sigma))[0].sum() == 5
    assert candidates(logits, State(temperature=1.0, top_n_sigma=sigma, top_p=0.65))[0].sum() == 3


def test_the_most_likely_token_is_always_kept():
    logits = uniform((50,), 3)
    for options in ({"top_p": 1e-9}, {"top_p": 0.0}, {"min_p": 1.0}, {"top_k": 1}, {"temperature": 1e-6}):
        assert drawn(logits, State(**{"temperature": 1.0, **options})) == logits.argmax()


def test_greedy_takes_the_first_of_equal_logits_whatever_the_filters():
    logits = np.array([1, 4, 4, 2], np.float32)
    assert drawn(logits, State(temperature=0.0, top_k=1, top_p=0.1, min_p=0.9, seed=3)) == 1


def test_a_full_window_drops_the_page_behind_the_sinks():
    history, pages = np.full(192, -1, np.int32), np.array([5, 9, 7], np.int32)
    raw = State(position=191, capacity=192, sinks=64, evicted=128).to_words()
    ops.sample(np.array([1, 9, 2], np.float32), history, raw, pages)
    after = State.from_words(raw)
    assert (after.position, after.evicted, after.done) == (128, 192, False)
    assert pages.tolist() == [5, 7, 9]
    assert history[(192 + 128) % 192] == 1


def test_a_finished_sequence_changes_nothing():
    history, raw = np.full(4, -1, np.int32), State(capacity=4, temperature=1.0, done=True).to_words()
    before = raw.copy()
    ops.sample(np.zeros(9, np.float32), history, raw)
    np.testing.assert_array_equal(raw, before)
    assert (history == -1).all()


@pytest.mark.parametrize(("shape", "text"), [((0,), "at least one token, got"), ((2, 3), r"float32\[V\], got")])
def test_what_does_not_fit_is_named(shape, text):
    with pytest.raises(ShapeError, match=f"^sample: logits must be {text}"):
        ops.sample(np.zeros(shape, np.float32), np.zeros(4, np.int32), State().to_words())


def test_a_large_vocabulary_takes_many_workgroups_and_a_cpu_adapter_few(wide_gpu, cpu_gpu):
    specs = Spec((262_144,), "float32"), Spec((4096,), "int32"), Spec((64,), "uint32")
    for gpu, groups in ((wide_gpu, 256), (cpu_gpu, 16)):
        _, plan = ops.sample.plan_of(gpu, *specs)
        assert [d.kernel.label for d in plan.dispatches] == [
            "sample/begin", *["sample/count"] * 4, *["sample/weigh"] * 4, "sample/draw", "advance/kernel",
        ]  # fmt: skip
        assert {d.grid for d in plan.dispatches[1:-1]} == {(groups, 1, 1)}
        assert [d.constants["LEVEL"] for d in plan.dispatches[1:9]] == [0, 1, 2, 3, 0, 1, 2, 3]
