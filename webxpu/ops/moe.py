"""Mixture of experts: which experts a token goes to, its seat there, and the way back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, flat_grid, fold, in_chunks, out, scratch
from webxpu.gpu.target import Gpu

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
# Pairs that one thread of kernels/moe/count.wgsl looks at, and that one of kernels/moe/seat.wgsl looks back at.
_BLOCK = 256


@op
def router(logits: F32, *, k: int, normalize: bool) -> tuple[I32, F32]:
    """`torch.topk(torch.softmax(logits, -1), k)`, except that of equal logits the lowest index goes first.

    logits     (T, E) float32
    k          experts of a token
    normalize  whether a token's gates are divided by their sum (Mixtral, Qwen's norm_topk_prob). There is no default:
               at k = 1 it makes every gate 1, which Switch must not have
    returns    expert (T, k) int32, best first, and gate (T, k) float32; the softmax is over all E experts, in float64
               (float32 on the GPU), and its gates are narrowed before they are normalized

    Where k > E the ranks past E are expert -1 with gate 0. A NaN or +inf makes all gates of its token NaN. Raises
    ShapeError.
    """
    tokens, experts = logits.shape
    expert = np.full((tokens, k), -1, np.int32)
    gate = np.zeros((tokens, k), np.float32)
    best = np.argsort(-logits, axis=1, kind="stable")[:, :k]  # topk breaks ties in no order
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
    expert[:, :experts] = best
    gate[:, :experts] = np.take_along_axis(shares, best, axis=1)
    if normalize:
        gate = (gate / gate.sum(axis=1, keepdims=True, dtype=np.float64)).astype(np.float32)
    return expert, gate


@router.spec
def _(logits: Spec, *, k: int, normalize: bool) -> tuple[Spec, Spec]:
    check(logits.dtype == "float32" and len(logits.shape) == 2, "router", "logits", "float32 of shape (T, E)", logits)
    check(logits.shape[1] >= 1, "router", "logits", "of at least one expert", logits)
    check(k >= 1, "router", "k", "at least 1", k)
    return Spec((logits.shape[0], k), "int32"), Spec((logits.shape[0], k), "float32")


@router.plan
def _(gpu: Gpu, outputs: Sequence[Spec], logits: Spec, *, k: int, normalize: bool) -> Plan:
    t, e = logits.shape
    gates = scratch(0) if normalize else out(1)
    route = Dispatch(resolve(gpu, "moe", "router"), {"E": e, "K": k}, [arg(0), out(0), gates], (1, 1, 1))
    dispatches = in_chunks(gpu, route, t, (4 * e, 4 * k, 4 * k), lambda rows: flat_grid(rows * max(e, k)))
    if not normalize:
        return Plan(dispatches)
    divide = Dispatch(resolve(gpu, "moe", "normalize"), {"K": k}, [scratch(0, "read"), out(1)], (1, 1, 1))
    dispatches += in_chunks(gpu, divide, t, (4 * k, 4 * k), lambda rows: flat_grid(rows * k))
    return Plan(dispatches, [outputs[1]])


@op
def moe_dispatch(x: F32, expert: I32, *, experts: int, capacity: int) -> tuple[F32, I32]:
    """Copies every token to a seat at each of its experts. GShard's and fairseq's order: all first choices are seated
    before any second one, tokens in their order; who finds no seat is dropped.

    x         (T, D) float32
    expert    (T, K) int32, see `router`; one outside 0 to experts - 1 takes no seat
    experts   E
    capacity  C, seats an expert
    returns   buffer (E, C, D) float32, an empty seat is zeros, and pos (T, K) int32: the seat, or -1

    Values are moved, not computed: the gates belong to `moe_gather`. Raises ShapeError.
    """
    buffer = np.zeros((experts, capacity, x.shape[1]), np.float32)
    pos = np.full(expert.shape, -1, np.int32)
    by_rank = expert.T
    for e in range(experts):
        rank, token = np.nonzero(by_rank == e)
        seated = slice(capacity)
        pos[token[seated], rank[seated]] = np.arange(len(token))[seated]
        buffer[e, : len(token)] = x[token[seated]]
    return buffer, pos


@moe_dispatch.spec
def _(x: Spec, expert: Spec, *, experts: int, capacity: int) -> tuple[Spec, Spec]:
    check(x.dtype == "float32" and len(x.shape) == 2, "moe_dispatch", "x", "float32 of shape (T, D)", x)
    _check_pairs("moe_dispatch", "expert", expert, "int32", x.shape[0])
    check(experts >= 1, "moe_dispatch", "experts", "at least 1", experts)
    check(capacity >= 1, "moe_dispatch", "capacity", "at least 1", capacity)
    return Spec((experts, capacity, x.shape[1]), "float32"), expert


@moe_dispatch.plan
def _(gpu: Gpu, outputs: Sequence[Spec], x: Spec, expert: Spec, *, experts: int, capacity: int) -> Plan:
    d, (_, k) = x.shape[1], expert.shape
    blocks = -(-expert.size // _BLOCK)
    seats = experts * capacity
    counts, before, tokens = (scratch(i) for i in range(3))
    read_counts, read_before, read_tokens = (scratch(i, "read") for i in range(3))
    pairs = {"K": k, "E": experts, "BLOCK": _BLOCK}
    dispatches = [
        Dispatch(resolve(gpu, "moe", "count"), pairs, [arg(1), counts], fold(-(-blocks * experts // 64))),
        Dispatch(resolve(gpu, "moe", "scan"), {"E": experts}, [read_counts, before], fold(-(-experts // 64))),
        Dispatch(
            resolve(gpu, "moe", "seat"),
            pairs,
            [arg(1), read_before, out(1), tokens],
            fold(-(-max(expert.size, seats) // 256)),
        ),
    ]
    if d:
        fill = Dispatch(resolve(gpu, "moe", "fill"), {"D": d}, [arg(0), read_tokens, out(0)], (1, 1, 1))
        dispatches += in_chunks(gpu, fill, seats, (0, 4, 4 * d), lambda rows: flat_grid(rows * d))
    shapes = [(blocks, experts), (blocks + 1, experts), (experts, capacity)]
    return Plan(dispatches, [Spec(shape, "int32") for shape in shapes])


@op
def moe_gather(y: F32, expert: I32, pos: I32, gate: F32, *, first_expert: int = 0) -> F32:
    """Brings the experts' results back: token t is the sum over its ranks of `gate * y[expert - first_expert, pos]`.

    y             (E, C, D) float32, in the seats of `moe_dispatch`
    expert, gate  (T, K) int32 and float32, from `router`
    pos           (T, K) int32, from `moe_dispatch`
    first_expert  the expert of y[0], where y has only some of them: the others' results are to be added
    returns       (T, D) float32; sums in float64 (float32 on the GPU)

    A rank whose expert or seat is not in y adds nothing, whatever its gate; a token that was dropped everywhere is
    zeros. Nothing is divided by a number of tokens. Raises ShapeError.
    """
    row = expert.astype(np.int64) - first_expert
    found = (row >= 0) & (row < y.shape[0]) & (pos >= 0) & (pos < y.shape[1])
    result = np.zeros((len(expert), y.shape[2]))
    for rank in range(expert.shape[1]):
        at = found[:, rank]
        result[at] += gate[at, rank, None].astype(np.float64) * y[row[at, rank], pos[at, rank]]
    return result.astype(np.float32)


@moe_gather.spec
def _(y: Spec, expert: Spec, pos: Spec, gate: Spec, *, first_expert: int = 0) -> Spec:
    rule = "float32 of shape (E, C, D) with E and C of at least 1"
    check(y.dtype == "float32" and len(y.shape) == 3 and y.shape[0] * y.shape[1], "moe_gather", "y", rule, y)
    _check_pairs("moe_gather", "expert", expert, "int32", None)
    check(pos == expert, "moe_gather", "pos", f"{expert} as expert is", pos)
    check(gate == Spec(expert.shape, "float32"), "moe_gather", "gate", f"{Spec(expert.shape, 'float32')}", gate)
    check(first_expert >= 0, "moe_gather", "first_expert", "at least 0", first_expert)
    return Spec((expert.shape[0], y.shape[2]), "float32")


@moe_gather.plan
def _(
    gpu: Gpu, outputs: Sequence[Spec], y: Spec, expert: Spec, pos: Spec, gate: Spec, *, first_expert: int = 0
) -> Plan:
    (t, k), (e, _, d) = expert.shape, y.shape
    constants = {"E": e, "D": d, "K": k, "FIRST": first_expert}
    bindings = [arg(0), arg(1), arg(2), arg(3), out(0)]
    dispatch = Dispatch(resolve(gpu, "moe", "gather"), constants, bindings, (1, 1, 1))
    return Plan(in_chunks(gpu, dispatch, t, (0, 4 * k, 4 * k, 4 * k, 4 * d), lambda rows: flat_grid(rows * d)))


def _check_pairs(op_name: str, argument: str, pairs: Spec, dtype: str, tokens: int | None) -> None:
    rule = f"{dtype} of shape ({'T' if tokens is None else tokens}, K), K >= 1"
    check(pairs.dtype == dtype and len(pairs.shape) == 2 and pairs.shape[1] >= 1, op_name, argument, rule, pairs)
    check(tokens in (None, pairs.shape[0]), op_name, argument, rule, pairs)
