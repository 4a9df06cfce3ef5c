"""Grouped-query attention: several query heads read one kv head, which makes the cache smaller by as much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.ops._attention import Call, attend, checked, offset_of, probs_and_out


def kv_head_of(head: int, heads: int, kv_heads: int) -> int:
    """The kv head that query head `head` of `heads` reads: neighbours share one, as in torch's `enable_gqa`.

    Raises ShapeError.
    """
    _check_heads("kv_head_of", heads, kv_heads)
    check(0 <= head < heads, "kv_head_of", "head", f"from 0 to {heads - 1}", head)
    return head // (heads // kv_heads)


def kv_cache_bytes(b: int, kv_heads: int, s: int, d: int, dv: int, *, element_bytes: int = 4) -> int:
    """How many bytes the keys and values of one layer take: B samples, S positions, widths D and Dv.

    element_bytes  4 for float32, 2 for float16
    """
    return b * kv_heads * s * (d + dv) * element_bytes


@op
def grouped_attention(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    mask: NDArray[np.float32] | None = None,
    query_offset: NDArray[np.int32] | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    s_eff: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """`torch.nn.functional.scaled_dot_product_attention(..., enable_gqa=True)`, and its probabilities.

    q             (B, H, L, D) float32 or float16
    k             (B, Hkv, S, D), q's dtype; Hkv divides H, and query head h reads kv head h // (H // Hkv)
    v             (B, Hkv, S, Dv), q's dtype
    mask          as in `attention`; mh counts query heads
    query_offset  as in `attention`
    causal        as in `attention`
    scale         1 / sqrt(D) if not given
    s_eff         how many positions of a cache of S are filled, S if not given; fewer need causal, and must hold all
                  that the queries see, so that it changes no result: causal queries stop before it
    returns       probs (B, H, L, S), 0 from s_eff on, and out (B, H, L, Dv), as in `attention`

    With Hkv = H it is `attention`, with Hkv = 1 multi-query attention. Raises ShapeError.
    """
    if s_eff is not None and causal:
        length, s = q.shape[2], k.shape[2]
        needed = min(s, length + offset_of("grouped_attention", query_offset))
        check(s_eff >= needed, "grouped_attention", "s_eff", f"at least {needed}, which the queries see", s_eff)
    return attend("grouped_attention", q, k, v, mask, query_offset, causal=causal, scale=scale)


@grouped_attention.spec
def _(
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None = None,
    query_offset: Spec | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    s_eff: int | None = None,
) -> tuple[Spec, Spec]:
    call = _call(q, k, v, mask, query_offset, causal, scale, s_eff)
    return call.probs, call.out


@grouped_attention.plan
def _(
    gpu: Gpu,
    outputs: Sequence[Spec],
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None = None,
    query_offset: Spec | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    s_eff: int | None = None,
) -> Plan:
    return probs_and_out(gpu, "gqa", _call(q, k, v, mask, query_offset, causal, scale, s_eff))


def _call(
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None,
    query_offset: Spec | None,
    causal: bool,
    scale: float | None,
    s_eff: int | None,
) -> Call:
    call = checked("grouped_attention", q, k, v, mask, query_offset, causal=causal, scale=scale, grouped=True)
    if s_eff is not None:
        s = k.shape[2]
        whole = s_eff in range(1, s + 1)
        check(whole, "grouped_attention", "s_eff", f"a whole number from 1 to {s}", repr(s_eff))
        check(causal or s_eff == s, "grouped_attention", "s_eff", f"{s}, that of k, unless causal is true", s_eff)
    return call


def _check_heads(op_name: str, heads: int, kv_heads: int) -> None:
    rule = f"a whole number from 1 up that divides {heads}"
    check(kv_heads >= 1 and heads % kv_heads == 0, op_name, "kv_heads", rule, kv_heads)
