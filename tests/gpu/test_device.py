"""Tensors, eager ops and recorded programs against a bridge that only keeps books."""

import asyncio
import gc
import re

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import DeviceError, ShapeError, Unsupported
from webxpu.gpu.device import Device, open_device
from webxpu.gpu.kernels import Kernel, Variant
from webxpu.gpu.op import op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, fold, out, scratch
from webxpu.gpu.program import bind, encode
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State

LIMITS = {
    "maxComputeWorkgroupsPerDimension": 65535,
    "maxStorageBuffersPerShaderStage": 8,
    "maxStorageBufferBindingSize": 2**27,
}
KERNEL = Kernel("elementwise", Variant("kernel", "kernel"))


class BookBridge:
    """Keeps bytes of buffers and a list of what was asked; computes nothing."""

    def __init__(self):
        self.buffers, self.calls, self.next = {}, [], 1

    async def open_device(self, options):
        return {"device": 7, "info": {"vendor": "nvidia"}, "limits": LIMITS, "features": [], "wgslFeatures": []}

    def close_device(self, device):
        self.calls.append(("close", device))

    def stats(self, device):
        return {"buffers": len(self.buffers)}

    async def sync(self, device):
        self.calls.append(("sync",))

    def create_buffer(self, device, nbytes, label):
        self.next += 1
        self.buffers[self.next] = bytearray(nbytes)
        return self.next

    def free_buffer(self, buffer):
        del self.buffers[buffer]

    async def read_into(self, buffer, offset, target):
        target[:] = np.frombuffer(self.buffers[buffer], np.uint8)[offset : offset + len(target)]

    async def compile(self, device, program):
        self.calls.append(("compile", program))
        return 100

    def run_now(self, device, program):
        self.calls.append(("run_now", program))

    def free_program(self, program):
        self.calls.append(("free_program", program))

    def submit(self, device, steps):
        for step in steps:
            if step[0] == "write":
                _, buffer, offset, data = step
                self.buffers[buffer][offset : offset + len(data)] = data.tobytes()
            elif step[0] == "copy":
                _, source, start, target, at, nbytes = step
                self.buffers[target][at : at + nbytes] = self.buffers[source][start : start + nbytes]
            else:
                self.calls.append(tuple(step))


@pytest.fixture
def bridge():
    return BookBridge()


@pytest.fixture
def device(bridge):
    return asyncio.run(open_device(bridge=bridge))


@pytest.fixture
def double():
    @op
    def double(x):
        return (x * 2).astype(np.float32)

    @double.spec
    def _(x):
        return Spec(x.shape, "float32")

    @double.plan
    def _(gpu, outputs, x):
        return Plan([Dispatch(KERNEL, {"S": 1}, [arg(0), out(0)], fold(1))])

    return double


def test_a_tensor_comes_back_as_it_went(device):
    for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, -2], np.int32), np.float32(3)):
        back = asyncio.run(device.tensor(array).numpy())
        np.testing.assert_array_equal(back, array)
        assert back.dtype == array.dtype
        assert back.shape == np.shape(array)


def test_numpy_defaults_become_gpu_types_and_what_does_not_fit_raises(device):
    assert device.tensor([1.5, 2.5]).dtype == "float32"
    assert device.tensor([1, 2]).dtype == "int32"
    with pytest.raises(ShapeError, match=r"^tensor: array must be within .* int32, got int64 from 0 to 2147483648$"):
        device.tensor(np.array([0, 2**31]))
    with pytest.raises(ShapeError, match=r"dtype must be one of .* got complex128"):
        device.tensor(np.array([1j]))


def test_an_empty_tensor_has_a_size_or_sizes_and_a_dtype_that_the_gpu_knows(device):
    assert device.empty(3).shape == device.empty((3,)).shape == (3,)
    assert device.empty((2, 32), "q8_0").dtype == "q8_0"
    with pytest.raises(ShapeError, match=r"^empty: dtype must be one of float32, int32, .*, got 'float64'$"):
        device.empty((2, 3), "float64")


def test_reshape_shares_the_buffer_and_checks_the_count(device):
    tensor = device.tensor(np.arange(6, dtype=np.float32))
    view = tensor.reshape(2, -1)
    assert view.shape == (2, 3)
    assert view.handle == tensor.handle
    assert tensor.reshape((3, 2)).shape == tensor.reshape([3, -1]).shape == (3, 2)
    with pytest.raises(ShapeError, match=re.escape("reshape: shape must hold 6 elements of float32[6], got [4, 2]")):
        tensor.reshape(4, 2)


def test_a_cache_of_float16_is_only_bytes_and_needs_no_feature(device, bridge):
    assert "f16" not in device.gpu.features
    cache = device.tensor(np.zeros((1, 2, 64, 1, 8), np.float16))
    arrays = np.ones((1, 2, 8), np.float32), np.zeros(1, np.int32), State(capacity=64).to_words()
    q, pages, state = map(device.tensor, arrays)
    acc, _ = ops.attend(q, cache, pages, state, parts=1)
    assert acc.shape == (1, 2, 1, 8)
    assert cache.nbytes == 2 * 2 * 64 * 8
    (run,) = [call[1] for call in bridge.calls if call[0] == "run_now"]
    assert [module["label"] for module in run["modules"]] == ["attend/decode:kv-f16"]


def test_an_aligned_slice_is_a_view_and_any_other_a_copy(device):
    tensor = device.tensor(np.arange(256, dtype=np.float32).reshape(4, 64))
    view, copy = tensor[1:3], tensor.reshape(256)[3:7]
    assert view.handle == tensor.handle
    assert view.offset == 256
    assert copy.handle != tensor.handle
    np.testing.assert_array_equal(asyncio.run(view.numpy()), np.arange(64, 192).reshape(2, 64))
    np.testing.assert_array_equal(asyncio.run(copy.numpy()), [3, 4, 5, 6])


def test_dropping_or_freeing_a_tensor_frees_its_buffer(device, bridge):
    tensor = device.tensor(np.zeros(4, np.float32))
    view = tensor.reshape(2, 2)
    del tensor
    gc.collect()
    assert len(bridge.buffers) == 1
    view.free()
    assert not bridge.buffers
    with pytest.raises(DeviceError, match="was freed"):
        asyncio.run(view.numpy())


def test_an_op_on_arrays_is_its_definition_and_on_tensors_a_dispatch(device, bridge, double):
    np.testing.assert_array_equal(double(np.array([1.0, 2.0])), [2, 4])
    result = double(device.tensor([1.0, 2.0]))
    assert result.spec == Spec((2,), "float32")
    name, program = bridge.calls[-1]
    assert name == "run_now"
    assert program["commands"] == [0, 0, 1, 1, 1]


def test_mixing_arrays_with_tensors_or_devices_raises(device, bridge, double):
    @op
    def add(a, b):
        return a + b

    with pytest.raises(ShapeError, match="add: arguments must all be tensors or all arrays, got a tensor and ndarray"):
        add(device.tensor([1.0]), np.ones(1))
    other = asyncio.run(open_device(bridge=BookBridge()))
    with pytest.raises(DeviceError, match=re.escape("add: b, float32[1], belongs to another device")):
        add(device.tensor([1.0]), other.tensor([1.0]))


def test_a_freed_tensor_and_a_closed_device_are_named(device, double):
    tensor = device.tensor([1.0])
    tensor.free()
    with pytest.raises(DeviceError, match=re.escape("double: x, float32[1], was freed")):
        double(tensor)
    device.close()
    with pytest.raises(DeviceError, match="this device was closed"):
        device.tensor([1.0])


def test_small_tensors_are_bound_exactly_so_that_array_lengths_are_right(device, bridge, double):
    double(device.tensor(np.zeros(1, np.float32)))
    [(_, program)] = [call for call in bridge.calls if call[0] == "run_now"]
    assert [nbytes for _, _, nbytes in program["groups"][0]["buffers"]] == [4, 4]


def test_an_empty_result_dispatches_nothing(device, bridge, double):
    result = double(device.tensor(np.zeros((0, 3), np.float32)))
    assert asyncio.run(result.numpy()).shape == (0, 3)
    assert not [c for c in bridge.calls if c[0] == "run_now"]


def test_a_chain_shares_two_buffers_and_a_kept_tensor_keeps_its_own(device, bridge, double):
    x = device.tensor(np.zeros(64, np.float32))
    with device.record() as chain:
        y = x
        for _ in range(6):
            y = double(y)
    assert len(chain.pool_sizes) == 2
    assert chain.pool_bytes == 512
    assert chain.dispatches == 6
    with device.record() as keeping:
        kept = double(x)
        y = double(kept)
        for _ in range(6):
            y = double(y)
    assert len(keeping.pool_sizes) == 3
    asyncio.run(keeping.compile())
    groups = bridge.calls[-1][1]["groups"]
    assert sum(kept.handle in (b[0] for b in g["buffers"]) for g in groups) == 2  # written once, read once


def test_the_pool_never_gives_a_step_its_own_input(device, bridge, double):
    x = device.tensor(np.zeros(64, np.float32))
    with device.record() as program:
        y = double(double(double(x)))
    asyncio.run(program.compile())
    for group in bridge.calls[-1][1]["groups"]:
        handles = [b[0] for b in group["buffers"]]
        assert len(set(handles)) == len(handles)
    assert y.shape == (64,)


def test_pipelines_modules_and_groups_are_sent_once():
    call = bind(Plan([Dispatch(KERNEL, {"K": 2}, [arg(0), out(0)], (1, 1, 1))]), [(1, 0, 16)], [(2, 0, 16)], [])
    other = bind(Plan([Dispatch(KERNEL, {"K": 3}, [arg(0), out(0)], (2, 1, 1))]), [(1, 0, 16)], [(2, 0, 16)], [])
    program = encode("twice", call + call + other)
    assert len(program["modules"]) == 1
    assert [p["constants"] for p in program["pipelines"]] == [{"K": 2}, {"K": 3}]
    assert len(program["groups"]) == 2
    assert program["commands"] == [0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 2, 1, 1]


def test_reading_and_writing_one_buffer_in_a_dispatch_raises():
    plan = Plan([Dispatch(KERNEL, {}, [arg(0), out(0)], (1, 1, 1))])
    with pytest.raises(DeviceError, match="must not share its buffer with another argument, got buffer 1 2 times"):
        bind(plan, [(1, 0, 16)], [(1, 256, 16)], [])


@pytest.mark.parametrize(
    ("plan", "ranges", "limit"),
    [
        (Plan([Dispatch(KERNEL, {}, [out(0)], (65536, 1, 1))]), [(1, 0, 16)], "maxComputeWorkgroupsPerDimension 65535"),
        (Plan([Dispatch(KERNEL, {}, [out(0)], (1, 1, 1))]), [(1, 0, 2**27 + 4)], "maxStorageBufferBindingSize 134217"),
        (
            Plan([Dispatch(KERNEL, {}, [scratch(i) for i in range(9)], (1, 1, 1))]),
            [(i, 0, 16) for i in range(9)],
            "maxStorageBuffersPerShaderStage 8",
        ),
    ],
)
def test_a_limit_is_answered_before_dispatching(plan, ranges, limit):
    with pytest.raises(Unsupported, match=limit):
        encode("over", bind(plan, [], ranges, ranges), LIMITS)


def test_recordings_do_not_nest_and_run_needs_compile(device):
    nested = device.record("inner")
    with device.record("outer") as program, pytest.raises(DeviceError, match="'outer' is still being recorded"):
        nested.__enter__()
    with pytest.raises(DeviceError, match="program 'outer' is not compiled"):
        program.run()


def test_a_fold_covers_every_group_within_the_limit():
    for groups in (0, 1, 65535, 65536, 131070, 16_776_961):
        x, y, z = fold(groups)
        assert x * y * z >= groups
        assert max(x, y) <= 65535
        assert x * y < groups + 65535


def test_a_device_is_described_by_its_report(device):
    assert isinstance(device, Device)
    assert device.gpu.target == "nvidia"
    assert isinstance(device.gpu, Gpu)
