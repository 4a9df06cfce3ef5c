"""The end of a language model: norm and logits of one row or all, or the best token of every 64 of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Binding, Dispatch, Plan, Spec, arg, compose, fold, out, scratch
from webxpu.gpu.target import Gpu
from webxpu.llm.state import State
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops._staged import staged_columns, stages
from webxpu.ops.cache import check_state
from webxpu.ops.matmul import linear
from webxpu.ops.matvec import matvec
from webxpu.ops.norm_linear import check_norm
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.quant.ggml import weight_part

# Vocabulary rows that one workgroup handles and one candidate stands for.
CANDIDATE_ROWS = 64
# Rows of a workgroup of the portable kernels: four logits a thread, or one candidate.
PORTABLE_ROWS = 256
PORTABLE_CANDIDATES = 64
# A subgroup takes four rows at a time, so this many finish a workgroup's 64 at once.
SUBGROUPS = 16


@op
def norm_head(weight: Any, x: Any, gain: Any, state: Any, *, eps: float) -> Any:
    """`matvec(weight, rmsnorm(x[state.rows - 1], gain))`: the logits after this step's last row.

    weight   (V, K) float32 or Blocks
    x        (L, K) float32, K a multiple of 4
    gain     (K,) float32, the norm's weight
    state    (64,) uint32
    eps      added to the norm's mean of squares
    returns  (V,) float32, summed in float64 (float32 on the GPU)

    `state.rows` outside 1 to L takes the nearest row. Raises ShapeError.
    """
    row = min(max(State.from_words(state).rows, 1), len(x)) - 1
    return matvec(weight, rmsnorm(x[row], gain, eps=eps))


@norm_head.spec
def _(weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> Spec:
    check_norm("norm_head", x, gain, weight)
    check(x.shape[0] >= 1, "norm_head", "x", "at least one row", x)
    check_state("norm_head", state)
    return Spec((weight.shape[0],), "float32")


@op
def norm_head_argmax(weight: Any, x: Any, gain: Any, state: Any, *, eps: float) -> Any:
    """The best token of every 64 of `norm_head`'s logits, which are not kept; `advance` picks the best of those.

    The arguments are those of `norm_head`.

    returns  values (ceil(V / 64),) float32, ids (ceil(V / 64),) int32; the lowest id where logits tie

    Raises ShapeError.
    """
    values, ids = _candidates(norm_head(weight, x, gain, state, eps=eps)[None])
    return values[0], ids[0]


def _candidates(logits: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The best of every 64 logits of each row, and their ids."""
    rows, v = logits.shape
    padded = np.full((rows, -(-v // CANDIDATE_ROWS) * CANDIDATE_ROWS), -np.inf, np.float32)
    padded[:, :v] = logits
    cut = padded.reshape(rows, -1, CANDIDATE_ROWS)
    best = cut.argmax(axis=2) + np.arange(cut.shape[1]) * CANDIDATE_ROWS
    return cut.max(axis=2), best.astype(np.int32)


@norm_head_argmax.spec
def _(weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> tuple[Spec, Spec]:
    check_norm("norm_head_argmax", x, gain, weight)
    check(x.shape[0] >= 1, "norm_head_argmax", "x", "at least one row", x)
    check_state("norm_head_argmax", state)
    candidates = -(-weight.shape[0] // CANDIDATE_ROWS)
    return Spec((candidates,), "float32"), Spec((candidates,), "int32")


def _logits(gpu: Gpu, weight: Spec, rows: int, eps: float, place: Binding) -> Dispatch:
    n, k = weight.shape
    kernel = resolve(gpu, "norm_head", weights=weight_part(weight.dtype, weight.shape))
    constants = {"N": n, "K": k, "EPS": eps}
    columns = PORTABLE_ROWS
    if kernel.features:
        constants["THREADS"], columns = threads(gpu), CANDIDATE_ROWS
    bindings = [arg(0), arg(1), arg(2), place, arg(3, "uniform")]
    return Dispatch(kernel, constants, bindings, fold(rows * -(-n // columns)))


def threads(gpu: Gpu) -> int:
    """Threads of a workgroup of the subgroups kernels on a device."""
    assert gpu.subgroup_sizes is not None, "a subgroups kernel was chosen for a device without subgroups"
    return min(SUBGROUPS * gpu.subgroup_sizes[1], gpu.limits["maxComputeInvocationsPerWorkgroup"])


@norm_head.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> Plan:
    return Plan([_logits(gpu, weight, 1, eps, out(0))])


@norm_head_argmax.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> Plan:
    return _argmax(gpu, weight, 1, eps, outputs[0].size)


def _argmax(gpu: Gpu, weight: Spec, rows: int, eps: float, candidates: int) -> Plan:
    kernel = resolve(gpu, "norm_head", "argmax", weights=weight_part(weight.dtype, weight.shape))
    n, k = weight.shape
    if kernel.features:
        constants: dict[str, int | float] = {"N": n, "K": k, "EPS": eps}
        if stages(gpu, kernel, k):
            kernel = resolve(gpu, "norm_head", "staged", weights=kernel.weights)
            staged_columns(gpu, constants, n)
        else:
            constants["THREADS"] = threads(gpu)
        bindings = [arg(0), arg(1), arg(2), out(0), out(1), arg(3, "uniform")]
        return Plan([Dispatch(kernel, constants, bindings, fold(candidates))])
    first = _logits(gpu, weight, rows, eps, scratch(0))
    return Plan([first, _best(gpu, n, candidates, scratch(0, "read"))], [Spec((rows * n,), "float32")])


def _best(gpu: Gpu, n: int, candidates: int, logits: Binding) -> Dispatch:
    """The second stage: candidates of logits that lie in a buffer."""
    grid = fold(-(-candidates // PORTABLE_CANDIDATES))
    portable = gpu.override({"norm_head/argmax": "argmax"})  # its subgroups variant computes the logits too
    return Dispatch(resolve(portable, "norm_head", "argmax"), {"N": n}, [logits, out(0), out(1)], grid)


@op
def norm_head_rows(weight: Any, x: Any, gain: Any, state: Any, *, eps: float) -> Any:
    """`linear(rmsnorm(x, gain), weight)`: the logits after every row.

    weight   (V, K) float32 or Blocks
    x        (L, K) float32, K a multiple of 4
    gain     (K,) float32, the norm's weight
    state    (64,) uint32, of which nothing counts: `norm_head`'s kernel has it
    eps      added to the norm's mean of squares
    returns  (L, V) float32, summed in float64 (float32 on the GPU)

    Up to L == 9 a GPU gives each row the bits of `norm_head`. Raises ShapeError.
    """
    return linear(rmsnorm(x, gain, eps=eps), weight)


@norm_head_rows.spec
def _(weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> Spec:
    check_norm("norm_head_rows", x, gain, weight)
    check_state("norm_head_rows", state)
    return Spec((x.shape[0], weight.shape[0]), "float32")


@norm_head_rows.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> Plan:
    rows = x.shape[0]
    if not 1 <= rows <= DECODE_ROWS:
        c = compose(gpu, weight, x, gain)
        (normed,) = c.call(rmsnorm, c.args[1], c.args[2], eps=eps)
        c.call(linear, normed, c.args[0], into=[out(0)])
        return c.plan()
    return Plan([_logits(gpu, weight, rows, eps, out(0))])


@op
def norm_head_rows_argmax(weight: Any, x: Any, gain: Any, state: Any, *, eps: float) -> Any:
    """The best token of every 64 of `norm_head_rows`' logits, which are not kept; `accept` picks the best of those.

    The arguments are those of `norm_head_rows`.

    returns  values (L, ceil(V / 64)) float32, ids (L, ceil(V / 64)) int32; the lowest id where logits tie

    Up to L == 9 a GPU gives each row the bits of `norm_head_argmax`. Raises ShapeError.
    """
    return _candidates(norm_head_rows(weight, x, gain, state, eps=eps))


@norm_head_rows_argmax.spec
def _(weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> tuple[Spec, Spec]:
    check_norm("norm_head_rows_argmax", x, gain, weight)
    check_state("norm_head_rows_argmax", state)
    check(x.shape[0] >= 1, "norm_head_rows_argmax", "x", "at least one row", x)
    shape = (x.shape[0], -(-weight.shape[0] // CANDIDATE_ROWS))
    return Spec(shape, "float32"), Spec(shape, "int32")


@norm_head_rows_argmax.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, x: Spec, gain: Spec, state: Spec, *, eps: float) -> Plan:
    if x.shape[0] <= DECODE_ROWS:
        return _argmax(gpu, weight, x.shape[0], eps, outputs[0].size)
    c = compose(gpu, weight, x, gain, state)
    (logits,) = c.call(norm_head_rows, *c.args, eps=eps)
    c.dispatches.append(_best(gpu, weight.shape[0], outputs[0].size, scratch(logits.binding.index, "read")))
    return c.plan()
