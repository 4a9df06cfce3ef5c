"""A linear layer whose result may be added to a residual; for attention it also joins the parts split over keys."""

from __future__ import annotations

from typing import Any

from webxpu.gpu.kernels import resolve
from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Dispatch, Plan, Spec, arg, compose, fold, out
from webxpu.gpu.target import Gpu
from webxpu.ops._rows import DECODE_ROWS
from webxpu.ops._staged import staged_columns, stages
from webxpu.ops.attend import attend_combine, check_parts
from webxpu.ops.elementwise import elementwise
from webxpu.ops.matmul import linear
from webxpu.ops.matvec import check_weight
from webxpu.quant.ggml import weight_part

# Threads of a workgroup of the portable kernels, and of the subgroups ones, which take a subgroup a row.
PORTABLE_THREADS = 64
THREADS = 128
ATTEND_THREADS = 256
# Weights that a kernel decodes at once.
BLOCK = 32


@op
def project(weight: Any, x: Any, residual: Any = None) -> Any:
    """`residual + torch.nn.functional.linear(x, weight)`.

    weight    (N, K) float32 or Blocks
    x         (L, K) float32, K a multiple of 4
    residual  (L, N) float32; None adds nothing
    returns   (L, N) float32, summed in float64 (float32 on the GPU)

    Up to L == 9 a GPU gives each row the bits that it has alone. Raises ShapeError.
    """
    return _added(linear(x, weight), residual)


def _added(product: Any, residual: Any) -> Any:
    return product if residual is None else product + residual


def _check(op_name: str, weight: Spec, rows: int, k: int, residual: Spec | None) -> Spec:
    n, width = check_weight(op_name, weight)
    check(width == k, op_name, "weight", f"(N, {k}) like the rows of x", weight)
    wanted = Spec((rows, n), "float32")
    check(residual in (None, wanted), op_name, "residual", str(wanted), residual)
    return wanted


@project.spec
def _(weight: Spec, x: Spec, residual: Spec | None = None) -> Spec:
    fits = x.dtype == "float32" and len(x.shape) == 2 and x.shape[1] % 4 == 0
    check(fits, "project", "x", "float32[L, K] with K a multiple of 4", x)
    return _check("project", weight, x.shape[0], x.shape[1], residual)


@project.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, x: Spec, residual: Spec | None = None) -> Plan:
    rows = x.shape[0]
    if not 1 <= rows <= DECODE_ROWS:
        if residual is None:
            c = compose(gpu, weight, x)
            c.call(linear, c.args[1], c.args[0], into=[out(0)])
            return c.plan()
        c = compose(gpu, weight, x, residual)
        (product,) = c.call(linear, c.args[1], c.args[0])
        c.call(elementwise, product, c.args[2], into=[out(0)], kind="add")
        return c.plan()
    n, k = weight.shape
    kernel = resolve(gpu, "project", weights=weight_part(weight.dtype, weight.shape))
    constants: dict[str, int | float] = {"N": n, "K": k, "ADDS": int(residual is not None)}
    if stages(gpu, kernel, k):
        kernel = resolve(gpu, "project", "staged", weights=kernel.weights)
        columns = staged_columns(gpu, constants, n)
    elif kernel.features:
        columns = subgroups_of(gpu, THREADS)
    else:
        constants["UNITS"] = units_of(gpu, 4)
        columns = PORTABLE_THREADS * units_of(gpu, 4)
    bindings = [arg(0), arg(1), arg(1 if residual is None else 2), out(0)]
    return Plan([Dispatch(kernel, constants, bindings, fold(rows * -(-n // columns)))])


def subgroups_of(gpu: Gpu, threads: int) -> int:
    """The fewest subgroups that a workgroup of `threads` has on a device, which is what grids count on."""
    assert gpu.subgroup_sizes is not None, "a subgroups kernel was chosen for a device without subgroups"
    return threads // gpu.subgroup_sizes[1]


def units_of(gpu: Gpu, most: int) -> int:
    """How many outputs a thread of a portable kernel computes. A CPU adapter has few lanes and dear loads, so it takes
    the most; a GPU wants every lane at work."""
    return most if gpu.target == "cpu" else 1


@op
def attend_project(weight: Any, acc: Any, stats: Any, residual: Any = None) -> Any:
    """`residual + linear(attend_combine(acc, stats), weight)`: the output projection of attention.

    weight    (N, H * D) float32 or Blocks
    acc       (L, H, parts, D) float32, D a multiple of 4, and
    stats     (L, H, parts, 2) float32: what `attend` returns
    residual  (L, N) float32; None adds nothing
    returns   (L, N) float32, summed in float64 (float32 on the GPU)

    Up to L == 9 a GPU gives each row the bits that it has alone. Raises ShapeError.
    """
    return _added(linear(attend_combine(acc, stats), weight), residual)


@attend_project.spec
def _(weight: Spec, acc: Spec, stats: Spec, residual: Spec | None = None) -> Spec:
    rows, heads, _, d = check_parts("attend_project", acc, stats)
    return _check("attend_project", weight, rows, heads * d, residual)


@attend_project.plan
def _(gpu: Gpu, outputs: tuple[Spec, ...], weight: Spec, acc: Spec, stats: Spec, residual: Spec | None = None) -> Plan:
    n, k = weight.shape
    rows, _, parts, d = acc.shape
    kernel = resolve(gpu, "project", "attend", weights=weight_part(weight.dtype, weight.shape))
    on_cpu = kernel.variant.target == "cpu"
    fits = d % BLOCK == 0 if on_cpu else 0 < k * 4 <= gpu.limits["maxComputeWorkgroupStorageSize"]
    # Each workgroup joins the whole row: rows that are worth staging are joined once, by a dispatch of their own.
    if not 1 <= rows <= DECODE_ROWS or not fits or stages(gpu, kernel, k):
        c = compose(gpu, weight, acc, stats, *([residual] if residual else []))
        (joined,) = c.call(attend_combine, c.args[1], c.args[2])
        c.call(project, c.args[0], joined, *c.args[3:], into=[out(0)])
        return c.plan()
    constants = {"N": n, "K": k, "D": d, "PARTS": parts, "ADDS": int(residual is not None)}
    columns = subgroups_of(gpu, ATTEND_THREADS) if kernel.features else PORTABLE_THREADS
    bindings = [arg(0), arg(1), arg(2), arg(2 if residual is None else 3), out(0)]
    return Plan([Dispatch(kernel, constants, bindings, fold(rows * -(-n // columns)))])
