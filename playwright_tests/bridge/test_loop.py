"""The token loop on a toy model, whose step of number p appends the id 100 + 3 p."""

from __future__ import annotations

import re

import pytest


def ids(first: int, count: int) -> list[int]:
    return [100 + 3 * p for p in range(first, first + count)]


OPEN = """
    const toy = await counter(bridge, device, arg?.toy ?? {});
    const open = (options) => bridge.openLoop(device, {
        program: toy.program, ring: toy.ring, first: toy.first, maxTokens: 40, stops: [], ...options});
    const count = {buffer: toy.state, offset: 0, start: toy.first, most: arg?.toy?.gives ?? 1};
"""


@pytest.mark.parametrize("sizes", [[1], [3], [8], [1, 2, 4, 8], [5, 1]])
@pytest.mark.parametrize("batches", [1, 2, 3])
def test_the_ids_are_the_programs_own_at_every_batch_size(lab, sizes, batches):
    got = lab(OPEN + "return drain(bridge, open(arg));", {"sizes": sizes, "batches": batches})
    assert got["ids"] == ids(5, 40)
    assert got["reason"] == "length"
    assert got["closed"] == {"submitted": 40, "kept": 40, "gpuMs": None}


@pytest.mark.parametrize("count", [0, 1, 2, 7, 15, 16, 23])
def test_exactly_as_many_steps_run_as_were_asked_for(lab, count):
    got = lab(
        OPEN + "const out = await drain(bridge, open({maxTokens: arg.count}));"
        "const [position] = new Uint32Array((await bridge.read(toy.state, 0, 4)).buffer); return {...out, position};",
        {"count": count},
    )
    assert got["ids"] == ids(5, count)
    assert got["reason"] == "length"
    assert got["position"] == 5 + count


def test_hand_outs_grow_so_that_the_first_id_is_early(lab):
    got = lab(OPEN + "return drain(bridge, open({maxTokens: 64}));")
    sizes = [len(part) for part in got["handouts"]]
    assert sizes[0] <= 3
    assert all(n >= least for n, least in zip(sizes[:-1], [1, 2, 4] + [8] * 60, strict=False))
    assert len(sizes) <= 64 // 8 + 4


@pytest.mark.parametrize("at", [0, 1, 2, 3, 6, 12, 25])
def test_a_stop_id_ends_the_loop_wherever_it_lies_in_a_batch(lab, at):
    got = lab(OPEN + "return drain(bridge, open({stops: [7, idAt(5 + arg.at), 9]}));", {"at": at})
    assert got["ids"] == ids(5, at)
    assert got["reason"] == "stop"
    assert got["closed"]["kept"] == at
    assert at < got["closed"]["submitted"] <= at + 3 * 8


@pytest.mark.parametrize(("count", "stop"), [(12, None), (1, None), (12, 0), (12, 1)])
def test_an_id_that_a_prompts_program_made_comes_first(lab, count, stop):
    got = lab(
        OPEN
        + """
        bridge.submit(device, [["run", toy.program]]);
        const stops = arg.stop === null ? [] : [idAt(5 + arg.stop)];
        return drain(bridge, open({maxTokens: arg.count, ready: 1, stops}));
    """,
        {"count": count, "stop": stop},
    )
    assert got["ids"] == ids(5, count if stop is None else stop)
    assert got["reason"] == ("length" if stop is None else "stop")
    if stop is None:
        assert got["closed"] == {"submitted": count - 1, "kept": count, "gpuMs": None}


def test_a_finished_loop_answers_at_once_and_a_second_loop_goes_on(lab):
    got = lab(
        OPEN
        + """
        const loop = open({maxTokens: 9});
        while (!(await bridge.nextIds(loop)).done);
        const again = await bridge.nextIds(loop);
        await bridge.closeLoop(loop);
        const closed = await caught(() => bridge.nextIds(loop));
        return [again, closed, await drain(bridge, open({first: toy.first + 9, maxTokens: 12}))];
    """
    )
    assert got[0] == {"ids": [], "done": True, "reason": "length"}
    assert re.match(r"the loop with the handle \d+ was freed", got[1][1])
    assert got[2]["ids"] == ids(14, 12)


def test_an_abort_wakes_the_reader_and_drops_what_ran_ahead(lab):
    got = lab(
        OPEN
        + """
        const loop = open({maxTokens: 200});
        const first = await bridge.nextIds(loop);
        const coming = bridge.nextIds(loop);
        bridge.abortLoop(loop);
        const woken = await coming;
        const later = await bridge.nextIds(loop);
        const closed = await bridge.closeLoop(loop);
        await bridge.sync(device);
        return {first, woken, later, closed};
    """
    )
    assert got["first"]["ids"] == ids(5, len(got["first"]["ids"]))
    assert got["woken"] == got["later"] == {"ids": [], "done": True, "reason": "abort"}
    assert got["closed"]["kept"] == len(got["first"]["ids"])


def test_an_abort_drops_ids_that_nobody_took(lab):
    got = lab(
        OPEN
        + """
        const loop = open({maxTokens: 20});
        while (bridge.stats(device).bytesRead < 80) await wait(5);
        bridge.abortLoop(loop);
        return [await bridge.nextIds(loop), await bridge.closeLoop(loop)];
    """
    )
    assert got[0] == {"ids": [], "done": True, "reason": "abort"}
    assert got[1] == {"submitted": 20, "kept": 0, "gpuMs": None}


def test_a_loop_can_be_closed_while_batches_are_in_flight(lab):
    got = lab(
        OPEN
        + """
        const loop = open({maxTokens: 200});
        const coming = bridge.nextIds(loop);
        const closed = await bridge.closeLoop(loop);
        const woken = await coming;
        await bridge.sync(device);
        const state = new Uint32Array((await bridge.read(toy.state, 0, 4)).buffer);
        return {closed, woken, position: state[0]};
    """
    )
    assert got["woken"]["done"] is True
    assert got["closed"]["kept"] == 0
    assert got["position"] == 5 + got["closed"]["submitted"]


def test_few_bytes_are_read_back_a_token(lab):
    got = lab(OPEN + "await drain(bridge, open({maxTokens: 64})); return bridge.stats(device);")
    assert got["bytesRead"] == 64 * 4


def test_two_or_three_batches_are_in_flight_and_the_next_is_sent_before_ids_are_handed_out(lab):
    got = lab(
        OPEN
        + """
        const map = GPUBuffer.prototype.mapAsync;
        let flying = 0, most = 0;
        const seen = [];
        GPUBuffer.prototype.mapAsync = function (...args) {
            most = Math.max(most, ++flying);
            return map.apply(this, args).finally(() => flying--);
        };
        try {
            const loop = open({maxTokens: 100, sizes: [4]});
            for (;;) {
                const {done} = await bridge.nextIds(loop);
                if (done) break;
                seen.push(flying);
            }
            await bridge.closeLoop(loop);
        } finally { GPUBuffer.prototype.mapAsync = map; }
        return [most, seen];
    """
    )
    most, seen = got
    assert most == 3
    assert all(n >= 2 for n in seen[: len(seen) // 2])


def test_where_runs_are_slow_little_is_submitted_ahead(lab):
    got = lab(
        OPEN + "return drain(bridge, open({maxTokens: 40, stops: [idAt(5 + 9)]}));",
        {"toy": {"work": 30_000_000}},
    )
    assert got["ids"] == ids(5, 9)
    assert got["closed"]["submitted"] <= 9 + 1 + 3 * 4
    sizes = [len(part) for part in got["handouts"]]
    assert all(n >= least for n, least in zip(sizes[:-1], [1, 2, 4], strict=False)), (
        "few calls, however small the batches"
    )


def test_a_loop_sums_the_gpus_own_time(lab):
    got = lab(
        OPEN + "const start = performance.now(); const out = await drain(bridge, open({timestamps: true}));"
        "return {...out, wall: performance.now() - start};",
        {"toy": {"work": 100_000}},
    )
    assert got["ids"] == ids(5, 40)
    assert 0 < got["closed"]["gpuMs"] <= got["wall"] * 1.05


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ("{maxTokens: 252}", r"loop: 252 ids from element 5 do not fit buffer ring of 256 elements"),
        ("{first: -1}", r"loop: 40 ids from element -1 do not fit"),
        ("{batches: 0}", r"loop: batches and sizes must be at least 1, got 0 and \[1,2,4,8\]"),
        ("{sizes: []}", r"loop: batches and sizes must be at least 1, got 3 and \[\]"),
        ("{wraps: true, sizes: [300], maxTokens: 300}", r"loop: 300 ids from element 5 do not fit buffer ring of 256"),
        ("{rows: {buffer: toy.rows, bytes: 12}}", r"loop: 256 rows of 12 bytes do not fit buffer rows of 2048 bytes"),
        ("{rows: {buffer: toy.rows, bytes: 6}}", r"loop: 256 rows of 6 bytes do not fit"),
        (
            "{counter: {...count, offset: 256}}",
            r"loop: a counter at byte 256 .* does not fit buffer state of 256 bytes",
        ),
        ("{counter: {...count, most: 0}}", r"loop: a counter at byte 0 with at most 0 ids a run does not fit"),
        ("{program: toy.ring}", r"a program is needed, but the handle \d+ is a buffer, ring"),
    ],
)
def test_a_loop_that_cannot_run_is_refused(lab, options, rule):
    name, message = lab(OPEN + f"return caught(() => open({options}));")
    assert name == "DeviceError"
    assert re.match(rule, message)


def test_a_loop_has_one_reader(lab):
    got = lab(
        OPEN
        + """
        const loop = open({maxTokens: 200, sizes: [64]});
        const one = bridge.nextIds(loop);
        const two = await caught(() => bridge.nextIds(loop));
        await one; await bridge.closeLoop(loop);
        return two;
    """
    )
    assert got == ["DeviceError", "loop of program counter: somebody waits for its ids already"]


@pytest.mark.parametrize("sizes", [[1], [3], [1, 2, 4, 8]])
@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("gives", [1, 4, 9])
def test_runs_may_give_a_varying_number_of_ids(lab, sizes, batches, gives):
    got = lab(
        OPEN + "return drain(bridge, open({maxTokens: 80, counter: count, sizes: arg.sizes, batches: arg.batches}));",
        {"toy": {"gives": gives}, "sizes": sizes, "batches": batches},
    )
    assert got["ids"] == ids(5, 80)
    assert got["reason"] == "length"
    assert got["closed"]["kept"] == 80
    if gives == 9:
        assert got["closed"]["submitted"] <= 80 / 5 + batches * sizes[-1], "few runs are enough"


@pytest.mark.parametrize("at", [0, 1, 3, 6, 12, 25])
def test_a_stop_id_ends_a_loop_that_counts(lab, at):
    got = lab(
        OPEN + "return drain(bridge, open({counter: count, stops: [idAt(5 + arg.at)]}));",
        {"toy": {"gives": 4}, "at": at},
    )
    assert got["ids"] == ids(5, at)
    assert got["reason"] == "stop"


@pytest.mark.parametrize("count", [1, 12])
def test_a_loop_that_counts_begins_with_the_ids_of_a_prompt(lab, count):
    got = lab(
        OPEN
        + """
        bridge.submit(device, [["run", toy.program]]);
        return drain(bridge, open({maxTokens: arg.count, ready: 1, counter: count}));
    """,
        {"toy": {"gives": 3}, "count": count},
    )
    assert got["ids"] == ids(5, count)
    assert got["handouts"][0]


def test_a_counter_that_stands_still_ends_the_loop_with_an_error(lab):
    got = lab(
        OPEN
        + """
        const loop = open({counter: {...count, offset: 16, start: 0}});
        const thrown = await caught(() => bridge.nextIds(loop));
        await bridge.closeLoop(loop);
        return thrown;
    """
    )
    assert got == ["DeviceError", "loop of program counter: after 1 more runs the counter went from 0 to 0"]


def test_a_ring_may_wrap_and_has_rows_beside_the_ids(lab):
    for gives in (1, 4):
        got = lab(
            OPEN
            + """
            const rows = {buffer: toy.rows, bytes: 8};
            const counted = arg.toy.gives > 1 ? {counter: count} : {};
            return drain(bridge, open({maxTokens: 300, wraps: true, rows, ...counted, stops: [idAt(5 + 290)]}));
        """,
            {"toy": {"gives": gives, "capacity": 100}},
        )
        assert got["ids"] == ids(5, 290)
        assert got["words"] == [n for p in range(5, 295) for n in (p, 2 * p)]


def test_an_error_on_the_gpu_ends_the_loop_with_its_text(lab):
    got = lab(
        OPEN
        + """
        const loop = open({maxTokens: 200});
        await bridge.nextIds(loop);
        bridge.freeBuffer(toy.state);
        const thrown = await caught(async () => { while (!(await bridge.nextIds(loop)).done); });
        await bridge.closeLoop(loop);
        return thrown;
    """
    )
    assert got == ["DeviceError", "program counter: its buffer state was freed"]
