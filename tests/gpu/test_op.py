"""The @op form: which arguments are arrays, which may be left out, and what an op without any is given."""

import inspect
import re

import numpy as np
import pytest

from webxpu import ops
from webxpu.errors import ShapeError
from webxpu.gpu.op import op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, compose, in_chunks, out
from webxpu.gpu.program import NO_RANGE, bind, tensor_range
from webxpu.gpu.target import Gpu

GPU = Gpu({"maxStorageBufferBindingSize": 4096})


@pytest.fixture
def shift():
    @op
    def shift(x, by=None, *, sign=1):
        """x plus or minus by."""
        return x + sign * (0 if by is None else by)

    @shift.spec
    def _(x, by=None, *, sign=1):
        if by is not None and by.shape != x.shape:
            raise ShapeError(f"shift: by must be of shape {x.shape}, got {by}")
        return x

    @shift.plan
    def _(gpu, outputs, x, by=None, *, sign=1):
        return Plan(
            [Dispatch("kernel", {"BY": by is not None}, [arg(0), arg(0 if by is None else 1), out(0)], (1, 1, 1))]
        )

    return shift


@pytest.fixture
def ramp():
    @op(generates=True)
    def ramp(n, *, step=1.0):
        """n values."""
        return (np.arange(n) * step).astype(np.float32)

    @ramp.spec
    def _(n, *, step=1.0):
        if n < 0:
            raise ShapeError(f"ramp: n must be at least 0, got {n}")
        return Spec((n,), "float32")

    @ramp.plan
    def _(gpu, outputs, n, *, step=1.0):
        return Plan([Dispatch("kernel", {"N": n, "STEP": step}, [out(0)], (1, 1, 1))])

    return ramp


class Recorder:
    """A device that keeps what it is asked to dispatch."""

    def dispatch(self, called, args, kwargs):
        return called, args, kwargs


def test_an_array_may_be_left_out_or_given_by_name(shift):
    x, by = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    assert shift(x).tolist() == [1, 2]
    assert shift(x, None).tolist() == [1, 2]
    assert shift(x, by=by, sign=-1).tolist() == [-9, -18]
    assert shift(by=by, x=x).dtype == np.float32, "an array given by name is made canonical like any other"
    with pytest.raises(ShapeError, match=re.escape("shift: by must be of shape (2,), got float32[1]")):
        shift(x, by=by[:1])


def test_a_call_that_does_not_match_the_signature_shows_the_op_and_its_parameters(shift, ramp):
    usage = "it is shift(x, by=None, *, sign=1)"
    for call, text in [
        (lambda: shift(), f"shift: missing a required argument: 'x'; {usage}"),
        (lambda: shift(np.ones(1), b=np.ones(1)), f"shift: got an unexpected keyword argument 'b'; {usage}"),
        (lambda: shift(np.ones(1), None, dim=3), f"shift: got an unexpected keyword argument 'dim'; {usage}"),
        (lambda: shift(np.ones(1), None, 3), f"shift: too many positional arguments; {usage}"),
        (lambda: ramp(), "ramp: missing a required argument: 'n'; it is ramp(n, *, step=1.0, device=None)"),
    ]:
        with pytest.raises(TypeError, match=f"^{re.escape(text)}$"):
            call()


def test_help_shows_the_parameters_and_then_the_contract(shift):
    assert inspect.getdoc(shift) == "shift(x, by=None, *, sign=1)\n\nx plus or minus by."


def test_an_option_that_has_no_default_is_missed_however_the_arrays_are_given():
    @op
    def power(x, *, by):
        return x**by

    power.spec(lambda x, *, by: x)
    for call in (lambda: power(np.ones(1)), lambda: power(x=np.ones(1))):
        with pytest.raises(TypeError, match=r"^power: missing a required argument: 'by'; it is power\(x, \*, by\)$"):
            call()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"axis": 1.0}, "axis must be a whole number, got 1.0"),
        ({"axis": None}, "axis must be a whole number, got None"),
        ({"eps": "x"}, "eps must be a number, got 'x'"),
        ({"kind": 3}, "kind must be a string, got 3"),
        ({"scale": (1,)}, "scale must be a number, got (1,)"),
    ],
)
def test_a_plain_value_of_another_type_is_refused_before_the_body_sees_it(options, text):
    @op
    def mix(x, *, axis: "int" = 0, eps: "float" = 1.0, kind: "str" = "sum", scale: "float | None" = None):
        return x

    @mix.spec
    def _(x, *, axis=0, eps=1.0, kind="sum", scale=None):
        assert eps > 0, "a spec's own TypeError gives way"
        return x

    with pytest.raises(ShapeError, match=f"^mix: {re.escape(text)}$"):
        mix(np.ones(1), **options)
    assert mix(np.ones(1), axis=np.int64(1), eps=2, scale=None).tolist() == [1]


def test_what_is_no_array_and_no_device_is_named(shift, ramp):
    with pytest.raises(ShapeError, match=r"^shift: x must be an array or a tensor, got None$"):
        shift(None)
    with pytest.raises(ShapeError, match=r"^shift: by must be an array, got list: .*inhomogeneous"):
        shift(np.ones(2), [[1.0], [2.0, 3.0]])
    with pytest.raises(ShapeError, match=r"^ramp: device must be an open device, got 'gpu'$"):
        ramp(3, device="gpu")


def test_a_tensor_call_hands_on_none_for_an_array_left_out(shift):
    class Fake:
        storage = None
        device = Recorder()
        shape, dtype = (2,), "float32"

    x = Fake()
    assert shift(x, sign=2) == (shift, (x, None), {"sign": 2})
    assert shift(x, by=x) == (shift, (x, x), {})
    with pytest.raises(
        ShapeError, match=r"^shift: arguments must all be tensors or all arrays, got a tensor and ndarray"
    ):
        shift(x, by=np.ones(2))


def test_only_an_array_can_be_written_into():
    @op(writes=("y",))
    def fill(x, y):
        y[...] = x

    fill.spec(lambda x, y: ())
    with pytest.raises(ShapeError, match=r"^fill: y must be an array, which is written into, got list$"):
        fill(np.ones(1), [0.0])


def test_a_plain_value_may_be_a_number_of_numpys():
    x = np.ones((2, 3), np.float32)
    assert ops.pad(x, axis=np.int64(1), before=np.int32(1), after=0).shape == (2, 4)
    assert ops.nearest_upsample_2d(x[None, None], out_h=np.int64(4), out_w=np.uint8(3)).shape == (1, 1, 4, 3)
    assert ops.alibi_slopes(np.int64(8)).tolist() == ops.alibi_slopes(8).tolist()
    with pytest.raises(ShapeError, match=r"^pad: before must be a whole number, at least 0, got -1$"):
        ops.pad(x, axis=0, before=np.int64(-1), after=0)


def test_an_absent_array_has_a_range_that_nothing_binds(shift):
    x = Spec((2,), "float32")
    _, plan = shift.plan_of(GPU, x, None)
    assert tensor_range(None) == NO_RANGE
    assert [call.ranges for call in bind(plan, [(5, 0, 8), NO_RANGE], [(6, 0, 8)], [])] == [
        [(5, 0, 8), (5, 0, 8), (6, 0, 8)]
    ]


def test_a_generating_op_gives_an_array_or_is_dispatched_on_the_device_it_is_given(ramp):
    assert ramp(3, step=2.0).tolist() == [0, 2, 4]
    assert ramp(n=2).dtype == np.float32
    assert ramp(4, step=0.5, device=Recorder()) == (ramp, (), {"n": 4, "step": 0.5})
    with pytest.raises(ShapeError, match="ramp: n must be at least 0, got -1"):
        ramp(-1)
    assert str(inspect.signature(ramp)) == "(n, *, step=1.0, device=None)"


def test_rows_are_split_where_a_binding_is_too_large_and_each_part_begins_at_256_bytes():
    whole = Dispatch("kernel", {}, [arg(0), arg(1), out(0)], (0, 0, 0))

    def parts(rows, row_bytes, multiple=1):
        found = in_chunks(GPU, whole, rows, row_bytes, lambda count: (count, 1, 1), multiple)
        return [([(b.offset, b.nbytes) for b in d.bindings], d.grid[0]) for d in found]

    assert parts(64, (64, 0, 64)) == [([(0, 0)] * 3, 64)]
    assert parts(65, (64, 0, 64)) == [
        ([(0, 4096), (0, 0), (0, 4096)], 64),
        ([(4096, 64), (0, 0), (4096, 64)], 1),
    ]
    # Rows of 40 bytes begin at a multiple of 256 bytes every 32 rows, rows of 4 bytes every 64.
    assert [(d[0][0], d[1]) for d in parts(200, (40, 0, 40))] == [((0, 3840), 96), ((3840, 3840), 96), ((7680, 320), 8)]
    assert [d[1] for d in parts(200, (40, 0, 4))] == [64, 64, 64, 8]
    assert [d[1] for d in parts(200, (40, 0, 40), multiple=3)] == [96, 96, 8]
    assert [d[1] for d in parts(300, (16, 0, 4), multiple=3)] == [192, 108]
    assert parts(0, (64, 0, 64)) == [([(0, 0)] * 3, 0)]
    # One row that passes the limit stays whole, so that the limit is named before anything runs.
    assert parts(3, (8192, 0, 4)) == [([(0, 0)] * 3, 3)]


def test_a_part_is_told_where_it_begins_and_how_many_rows_it_has():
    whole = Dispatch("kernel", {"D": 16, "ROWS": 0}, [arg(0), out(0)], (0, 0, 0))

    def told(first, count):
        return {"FIRST": first, "ROWS": count}

    def constants(rows):
        return [d.constants for d in in_chunks(GPU, whole, rows, (64, 64), lambda n: (n, 1, 1), told=told)]

    assert constants(65) == [{"D": 16, "FIRST": 0, "ROWS": 64}, {"D": 16, "FIRST": 64, "ROWS": 1}]
    assert constants(64) == [{"D": 16, "FIRST": 0, "ROWS": 64}]
    assert constants(0) == [{"D": 16, "FIRST": 0, "ROWS": 0}]


def test_the_parts_of_an_inner_plan_keep_their_place_in_a_composition(shift):
    @op
    def halves(x):
        return x

    @halves.spec
    def _(x):
        return x

    @halves.plan
    def _(gpu, outputs, x):
        whole = Dispatch("kernel", {}, [arg(0), out(0)], (1, 1, 1))
        return Plan(in_chunks(gpu, whole, x.size, (4, 4), lambda count: (count, 1, 1)))

    x = Spec((1500,), "float32")
    c = compose(GPU, x)
    c.call(halves, *c.call(halves, c.args[0]), into=[out(0)])
    calls = bind(c.plan(), [(1, 256, 6000)], [(2, 0, 6000)], [(3, 0, 6000)])
    assert [call.ranges for call in calls] == [
        [(1, 256, 4096), (3, 0, 4096)],
        [(1, 4352, 1904), (3, 4096, 1904)],
        [(3, 0, 4096), (2, 0, 4096)],
        [(3, 4096, 1904), (2, 4096, 1904)],
    ]
