"""Programs: compile errors with their place, pipelines cached, steps in order, profiles."""

from __future__ import annotations

import re

import pytest

AB = 'const a = bridge.createBuffer(device, 64, "a"), b = bridge.createBuffer(device, 64, "b");'
BROKEN = 'scale.code.replace("x[id.x] *", "x[id.x] * nothing *")'


@pytest.mark.parametrize("how", ["compile", "runNow"])
def test_a_compile_error_names_file_line_and_column(lab, how):
    got = lab(f"""{AB}
        const thrown = await caught(async () => {{
            await bridge.{how}(device, scale(a, b, 64, 3, {BROKEN}));
            await bridge.sync(device);
        }});
        return [thrown, await caught(() => bridge.sync(device))];
    """)
    name, message = got[0]
    assert name == "KernelError"
    first, source = message.split("\n")
    assert re.fullmatch(r"scale/kernel\.wgsl:4:53 unresolved value 'nothing'", first)
    assert source == "  if (id.x < arrayLength(&y)) { y[id.x] = x[id.x] * nothing * BY; }"
    assert got[1] is None


def test_an_error_in_a_shared_part_names_the_part(lab):
    name, message = lab(f"""{AB}
        return caught(() => bridge.compile(device, scale(a, b, 64, 3, scale.code.replace("f32;", "f33;"))));
    """)
    assert name == "KernelError"
    assert message.startswith("_with/part.wgsl:1:14 unresolved type 'f33'\noverride BY: f33;")


@pytest.mark.parametrize("how", ["compile", "runNow"])
def test_a_pipeline_without_its_constant_is_a_kernel_error(lab, how):
    name, message = lab(f"""{AB}
        const program = scale(a, b);
        program.pipelines[0].constants = {{}};
        return caught(async () => {{ await bridge.{how}(device, program); await bridge.sync(device); }});
    """)
    assert name == "KernelError"
    assert re.match(r"scale/kernel\.wgsl:1:1 with \{\}: .*BY", message)


@pytest.mark.parametrize("how", ["compile", "runNow"])
def test_a_refused_pipeline_is_refused_again(lab, how):
    got = lab(f"""{AB}
        const bad = async () => {{
            await bridge.{how}(device, scale(a, b, 64, 3, {BROKEN}));
            await bridge.sync(device);
        }};
        return [await caught(bad), await caught(bad)];
    """)
    assert got[0] == got[1]
    assert got[0][0] == "KernelError"


def test_a_binding_that_does_not_fit_is_a_device_error(lab):
    name, message = lab(f"{AB} return caught(() => bridge.compile(device, scale(a, b, 128)));")
    assert name == "DeviceError"
    assert message.startswith("program scale: ")


def test_pipelines_are_made_once_for_equal_code_constants_and_access(lab):
    got = lab(f"""{AB}
        const made = [];
        const count = () => made.push(bridge.stats(device).pipelines);
        await bridge.compile(device, scale(a, b)); count();
        await bridge.compile(device, scale(b, a)); count();
        bridge.runNow(device, JSON.stringify(scale(a, b))); count();
        await bridge.compile(device, scale(a, b, 64, 4)); count();
        bridge.runNow(device, scale(a, b, 64, 5)); count();
        await bridge.compile(device, scale(a, b, 64, 5)); count();
        await Promise.all([scale(a, b, 64, 6), scale(b, a, 64, 6)].map((p) => bridge.compile(device, p))); count();
        const other = scale(a, b, 64, 7);
        other.pipelines.push({{...other.pipelines[0], constants: {{BY: 8}}}});
        await bridge.compile(device, other); count();
        await bridge.sync(device);
        return made;
    """)
    assert got == [1, 1, 1, 2, 3, 3, 4, 6]


def test_a_program_runs_as_often_as_asked_and_an_eager_run_at_once(lab):
    got = lab(f"""{AB}
        bridge.submit(device, [["write", a, 0, bytesOf([...Array(16).keys()])]]);
        const forward = await bridge.compile(device, scale(a, b, 64, 3));
        const back = await bridge.compile(device, scale(b, a, 64, 2));
        bridge.submit(device, [["run", forward], ["run", back], ["run", forward]]);
        const after = bridge.stats(device).submits;
        const one = new Float32Array((await bridge.read(b, 0, 64)).buffer);
        bridge.runNow(device, scale(b, a, 64, 0.5));
        const two = new Float32Array((await bridge.read(a, 0, 64)).buffer);
        return [[...one], [...two], after];
    """)
    assert got == [[18.0 * i for i in range(16)], [9.0 * i for i in range(16)], 1]


def test_steps_happen_in_the_order_given(lab):
    got = lab(f"""{AB}
        const c = bridge.createBuffer(device, 64, "c");
        const program = await bridge.compile(device, scale(a, b, 64, 10));
        const before = bridge.stats(device).submits;
        const one = bytesOf(Array(16).fill(1)), two = bytesOf(Array(16).fill(2));
        bridge.submit(device, [
            ["write", a, 0, one], ["run", program], ["copy", b, 0, c, 0, 32],
            ["write", a, 0, 0], ["run", program], ["copy", b, 32, c, 32, 32], ["copy", a, 0, b, 0, 4],
        ], two);
        const submits = bridge.stats(device).submits - before;
        const values = async (x) => [...new Float32Array((await bridge.read(x, 0, 64)).buffer)];
        return [await values(c), (await values(b)).slice(0, 2), submits];
    """)
    assert got == [[10] * 8 + [20] * 8, [2, 20], 2]


def test_a_program_whose_buffer_was_freed_says_which(lab):
    got = lab(f"""{AB}
        const c = bridge.createBuffer(device, 64, "c");
        const program = await bridge.compile(device, scale(a, b));
        bridge.freeBuffer(c);
        bridge.submit(device, [["run", program]]);
        bridge.freeBuffer(b);
        const thrown = await caught(() => bridge.submit(device, [["run", program]]));
        bridge.freeProgram(program);
        return [thrown, await caught(() => bridge.submit(device, [["run", program]]))];
    """)
    assert got[0] == ["DeviceError", "program scale: its buffer b was freed"]
    assert re.match(r"the program with the handle \d+ was freed", got[1][1])


@pytest.mark.parametrize(("features", "split"), [('"all"', False), ('["timestamp-query"]', True)])
def test_a_profile_times_every_dispatch(lab, features, split):
    got = lab(
        f"""{AB}
        const program = scale(a, b);
        program.commands = [0, 0, 1, 1, 1, 0, 0, 60000, 1, 1, 0, 0, 1, 1, 1];
        return bridge.profile(await bridge.compile(device, program), 2);
    """,
        options=f"{{features: {features}}}",
    )
    assert got["split"] is split
    assert len(got["ms"]) == 3
    assert all(ms >= 0 for ms in got["ms"])
    assert got["ms"][1] > got["ms"][0]
    assert got["ms"][1] > got["ms"][2]


def test_a_profile_without_timestamps_says_what_is_missing(lab):
    name, message = lab(
        f"{AB} const p = await bridge.compile(device, scale(a, b)); return caught(() => bridge.profile(p, 1));",
        options="{features: []}",
    )
    assert name == "Unsupported"
    assert message.startswith("profile needs the WebGPU feature timestamp-query")
