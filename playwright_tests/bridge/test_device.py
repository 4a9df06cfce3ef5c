"""Devices, buffers and programs of the bridge, and what it says when they are used wrongly."""

from __future__ import annotations

import re

import pytest


def test_a_device_opens_with_the_adapters_limits_and_says_what_it_is(lab):
    opened = lab("return opened;")
    assert opened["limits"]["maxBufferSize"] > 268_435_456
    assert isinstance(opened["info"]["isFallbackAdapter"], bool)
    assert "swiftshader" not in opened["info"]["architecture"] or opened["info"]["isFallbackAdapter"]
    assert "timestamp-query" in opened["features"]
    assert opened["info"]["subgroupMinSize"] >= 4
    assert "packed_4x8_integer_dot_product" in opened["wgslFeatures"]


@pytest.mark.parametrize(
    ("description", "computes_on_cpu"),
    [
        ("llvmpipe (LLVM 15.0.7, 256 bits)", True),
        ("SwiftShader Device (Subzero)", True),
        ("Microsoft Basic Render Driver", True),
        ("Warped Reality 3000", False),
        ("NVIDIA H200", False),
    ],
)
def test_an_adapter_that_computes_on_the_cpu_is_known_by_its_name(lab, description, computes_on_cpu):
    info = lab(
        """
        const adapters = (await import("/adapter.mjs")).create({handles: {}});
        return adapters.describe({vendor: "v", description: arg, isFallbackAdapter: false});
    """,
        description,
    )
    assert info["isFallbackAdapter"] is computes_on_cpu
    assert (info["vendor"], info["device"], info["subgroupMaxSize"]) == ("v", "", 0)


def test_a_device_opens_with_webgpus_floor(lab):
    opened = lab("return opened;", options='{limits: "default", features: []}')
    limits = opened["limits"]
    assert (limits["maxStorageBuffersPerShaderStage"], limits["maxStorageBufferBindingSize"]) == (8, 134_217_728)
    assert [f for f in opened["features"] if f != "core-features-and-limits"] == []


def test_a_feature_that_the_adapter_lacks_is_named(lab):
    name, message = lab('return caught(() => bridge.openDevice({features: ["timestamp-query", "no-such"]}));')
    assert name == "Unsupported"
    assert re.match(r"open_device: the adapter lacks no-such; it has .*timestamp-query", message)


@pytest.mark.parametrize(
    ("gpu", "rule"),
    [
        ("undefined", r"open_device: navigator\.gpu is missing\. This browser has no WebGPU"),
        ("{requestAdapter: async () => null}", r"open_device: the browser offers no WebGPU adapter"),
    ],
)
def test_a_page_without_webgpu_is_told_why(lab, gpu, rule):
    name, message = lab(f"const b = await make({{gpu: {gpu}}}); return caught(() => b.openDevice({{}}));")
    assert name == "Unsupported"
    assert re.match(rule, message)


def test_a_buffer_begins_with_zeros_and_keeps_what_is_written(lab):
    got = lab("""
        const a = bridge.createBuffer(device, 18, "a");
        bridge.submit(device, [["write", a, 8, Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])]]);
        const into = new Uint8Array(3);
        await bridge.read(a, 14, 3, into);
        return [[...await bridge.read(a, 0, 18)], [...await bridge.read(a, 9, 2)], [...into],
                (await bridge.read(a, 0, 0)).length];
    """)
    assert got == [[0] * 8 + list(range(1, 11)), [2, 3], [7, 8, 9], 0]


def test_bytes_may_be_a_view_of_pythons_memory_that_is_released_at_once(lab):
    got = lab("""
        const heap = new Uint8Array(64).map((_, i) => i);
        let views = 0;
        const proxy = (start, end, c_contiguous = true) => ({getBuffer: (type) => {
            if (type !== "u8") throw new TypeError(type);
            views += 1;
            return {data: heap.subarray(start, end), c_contiguous, release: () => (views -= 1)};
        }});
        const a = bridge.createBuffer(device, 16, "a");
        bridge.submit(device, `[["write", ${a}, 0, 1], ["write", ${a}, 8, 0]]`, proxy(8, 16), proxy(20, 28));
        await bridge.read(a, 4, 8, proxy(40, 48));
        const bad = await caught(() => bridge.submit(device, [["write", a, 0, proxy(0, 8, false)]]));
        const no = await caught(() => bridge.submit(device, [["write", a, 0, "text"]]));
        return [[...await bridge.read(a, 0, 16)], [...heap.subarray(38, 50)], views, bad, no];
    """)
    assert got[0] == [*range(20, 28), *range(8, 16)]
    assert got[1] == [38, 39, *range(24, 28), *range(8, 12), 48, 49]
    assert got[2] == 0
    assert got[3] == ["DeviceError", "bytes must be a contiguous array"]
    assert got[4] == ["DeviceError", "bytes must be a Uint8Array or a Python buffer"]


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("bridge.read(a, 12, 8)", r"read: bytes 12 to 20 are outside of buffer a of 16 bytes"),
        ("bridge.submit(device, [['write', a, 12, new Uint8Array(8)]])", r"write: bytes 12 to 20 are outside"),
        ("bridge.submit(device, [['write', a, 2, new Uint8Array(4)]])", r"write: 4 bytes at 2 of buffer a must be"),
        ("bridge.submit(device, [['write', a, 0, new Uint8Array(3)]])", r"write: 3 bytes at 0 of buffer a must be"),
        ("bridge.submit(device, [['jump', a]])", r"submit: a step must be write, copy or run, got jump"),
        ("(bridge.freeBuffer(a), bridge.read(a, 0, 4))", r"the buffer with the handle \d+ was freed"),
        ("(bridge.freeBuffer(a), bridge.freeBuffer(a))", r"the buffer with the handle \d+ was freed"),
        ("(bridge.freeBuffer(a), bridge.createBuffer(device, 4, 'b'), bridge.read(a, 0, 4))", r"the buffer with"),
        ("bridge.read(a + 2 ** 20, 0, 4)", r"no buffer has the handle \d+; it is not from this bridge"),
        ("bridge.read(12345, 0, 4)", r"no buffer has the handle 12345"),
        ("bridge.read(-1, 0, 4)", r"a buffer handle must be an integer, got -1"),
        ("bridge.read('a', 0, 4)", r"a buffer handle must be an integer, got a"),
        ("bridge.read(device, 0, 4)", r"a buffer is needed, but the handle \d+ is a device"),
        ("bridge.freeProgram(a)", r"a program is needed, but the handle \d+ is a buffer, a"),
    ],
)
def test_a_wrong_use_of_a_buffer_is_refused(lab, call, rule):
    name, message = lab(f"const a = bridge.createBuffer(device, 16, 'a'); return caught(() => {call});")
    assert name == "DeviceError"
    assert re.match(rule, message)


def test_buffers_and_programs_of_another_device_are_refused(lab):
    got = lab("""
        const other = (await bridge.openDevice({})).device;
        const a = bridge.createBuffer(device, 64, "mine"), b = bridge.createBuffer(device, 64, "too");
        const program = await bridge.compile(device, scale(a, b));
        const errors = [
            await caught(() => bridge.submit(other, [["write", a, 0, new Uint8Array(4)]])),
            await caught(() => bridge.submit(other, [["run", program]])),
            await caught(() => bridge.compile(other, scale(a, b))),
        ];
        bridge.closeDevice(other);
        const late = [() => bridge.createBuffer(other, 4, "x"), () => bridge.stats(other)];
        return [...errors, ...await Promise.all(late.map(caught))];
    """)
    assert got[:3] == [
        ["DeviceError", "write: buffer mine belongs to another device"],
        ["DeviceError", "program scale belongs to another device"],
        ["DeviceError", "program scale: buffer mine belongs to another device"],
    ]
    for name, message in got[3:]:
        assert name == "DeviceError"
        assert re.match(r"the device with the handle \d+ was freed", message)


def test_closing_a_device_frees_what_it_holds(lab):
    got = lab("""
        const other = (await bridge.openDevice({})).device;
        const a = bridge.createBuffer(other, 64, "a"), b = bridge.createBuffer(other, 64, "b");
        const program = await bridge.compile(other, scale(a, b));
        bridge.closeDevice(other);
        return [await caught(() => bridge.read(a, 0, 4)), await caught(() => bridge.freeProgram(program))];
    """)
    assert [name for name, _ in got] == ["DeviceError", "DeviceError"]
    assert all("was freed" in message for _, message in got)


def test_an_allocation_over_the_limit_is_out_of_memory(lab):
    name, message = lab("return caught(() => bridge.createBuffer(device, 2 ** 40, 'huge'));")
    assert name == "OutOfMemory"
    assert re.match(r"buffer huge: 1099511627776 bytes are over the device's maxBufferSize of \d+", message)


def test_an_allocation_that_the_gpu_refuses_is_thrown_by_the_next_awaited_call(lab):
    got = lab("""
        const refuse = new GPUOutOfMemoryError("no room");
        const pop = GPUDevice.prototype.popErrorScope;
        GPUDevice.prototype.popErrorScope = async function () { await pop.call(this); return refuse; };
        let a;
        try { a = bridge.createBuffer(device, 400, "big"); } finally { GPUDevice.prototype.popErrorScope = pop; }
        const thrown = await caught(() => bridge.sync(device));
        return [thrown, await caught(() => bridge.sync(device))];
    """)
    assert got == [["OutOfMemory", "buffer big of 400 bytes: no room; 400 bytes are allocated"], None]


def test_a_refused_submit_is_thrown_once_by_the_next_awaited_call(lab):
    got = lab("""
        const a = bridge.createBuffer(device, 64, "a"), b = bridge.createBuffer(device, 64, "b");
        bridge.submit(device, [["copy", a, 0, b, 1, 8]]);
        const first = await caught(() => bridge.read(a, 0, 4));
        return [first, await caught(() => bridge.read(a, 0, 4))];
    """)
    assert got[0][0] == "DeviceError"
    assert "(1) is not a multiple of 4 bytes" in got[0][1]
    assert got[1] is None


def test_an_uncaptured_error_is_thrown_once_by_a_later_awaited_call(lab):
    got = lab("""
        const open = GPUAdapter.prototype.requestDevice;
        let raw;
        GPUAdapter.prototype.requestDevice = async function (...args) { return (raw = await open.apply(this, args)); };
        const other = await bridge.openDevice({}).finally(() => (GPUAdapter.prototype.requestDevice = open));
        raw.createBuffer({label: "stray", size: 4, usage: 0});
        await wait(100);
        const first = await caught(() => bridge.sync(other.device));
        return [first, await caught(() => bridge.sync(other.device)), await caught(() => bridge.sync(device))];
    """)
    assert got[0][0] == "DeviceError"
    assert "usage" in got[0][1]
    assert got[1:] == [None, None]


def test_stats_count_buffers_and_bytes(lab):
    got = lab("""
        const a = bridge.createBuffer(device, 100, "a"), b = bridge.createBuffer(device, 301, "b");
        bridge.submit(device, [["write", a, 0, new Uint8Array(100)]]);
        bridge.freeBuffer(b);
        await bridge.read(a, 4, 40);
        return bridge.stats(device);
    """)
    expected = {"buffers": 1, "bytes": 100, "peakBytes": 404, "bytesRead": 40, "bytesWritten": 100, "submits": 1}
    assert {key: got[key] for key in expected} == expected
    assert got["lost"] is None
