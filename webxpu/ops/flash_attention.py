"""Attention in one pass over the keys, which never holds the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.ops._attention import Call, checked, in_one_pass, offset_of, scores_of
from webxpu.ops._lines import narrow


@op
def flash_attention(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    mask: NDArray[np.float32] | None = None,
    query_offset: NDArray[np.int32] | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    tile: int = 64,
) -> NDArray[Any]:
    """`torch.nn.functional.scaled_dot_product_attention`, by the online softmax of arXiv 2205.14135.

    q, k, v       as in `attention`; with enable_gqa as in `grouped_attention`
    mask          as in `attention`
    query_offset  as in `attention`
    causal        as in `attention`
    scale         1 / sqrt(D) if not given
    enable_gqa    whether k and v may have fewer heads than q, as torch's argument of this name
    tile          keys that the definition takes at a time, at least 1. The result does not depend on it, and the GPU's
                  tiles are its own
    returns       (B, H, L, Dv), q's dtype; sums in float64 (float32 on the GPU), and no probability is rounded before
                  it meets v

    Memory grows with L + S, not with L * S. Rows without keys and keys without queries as in `attention`. Raises
    ShapeError.
    """
    offset = offset_of("flash_attention", query_offset)
    b, h, length, _ = q.shape
    g, dv = v.shape[1], v.shape[3]
    largest = np.full((b, h, length, 1), -np.inf)
    weight, sums = np.zeros_like(largest), np.zeros((b, h, length, dv))
    scores = scores_of(q, k, mask, offset=offset, causal=causal, scale=scale)
    for start in range(0, scores.shape[-1], tile):
        some = scores[..., start : start + tile]
        most = np.maximum(largest, some.max(axis=-1, keepdims=True))
        origin = np.where(np.isneginf(most), 0, most)  # no key so far
        shrink, share = np.exp(largest - origin), np.exp(some - origin)
        values = v[:, :, start : start + some.shape[-1]].astype(np.float64)
        weight = weight * shrink + share.sum(axis=-1, keepdims=True)
        sums = sums * shrink + (share.reshape(b, g, -1, some.shape[-1]) @ values).reshape(sums.shape)
        largest = most
    return narrow(np.divide(sums, weight, out=np.zeros_like(sums), where=weight != 0), q)


@flash_attention.spec
def _(
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None = None,
    query_offset: Spec | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    tile: int = 64,
) -> Spec:
    check(tile >= 1, "flash_attention", "tile", "at least 1", tile)
    return _call(q, k, v, mask, query_offset, causal, scale, enable_gqa).out


@flash_attention.plan
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
    enable_gqa: bool = False,
    tile: int = 64,
) -> Plan:
    return in_one_pass(gpu, _call(q, k, v, mask, query_offset, causal, scale, enable_gqa))


def _call(
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None,
    query_offset: Spec | None,
    causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Call:
    return checked("flash_attention", q, k, v, mask, query_offset, causal=causal, scale=scale, grouped=enable_gqa)
