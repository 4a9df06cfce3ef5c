"""Scaled dot-product attention that also returns its probabilities, and the mask of a padded batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from webxpu.gpu.op import check, op
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.ops._attention import attend, checked, probs_and_out


def key_padding_bias(keep: ArrayLike) -> NDArray[np.float32]:
    """The mask of attention for samples of different lengths: 0 where a key is kept, -inf where it is padding.

    keep     (B, S), true (or not 0) where there is a token: the polarity of torch's boolean `attn_mask` and of
             transformers' `attention_mask`, the reverse of `torch.nn.MultiheadAttention`'s `key_padding_mask`
    returns  (B, 1, 1, S) float32

    Raises ShapeError.
    """
    kept = np.asarray(keep)
    check(kept.ndim == 2, "key_padding_bias", "keep", "of shape (B, S)", list(kept.shape))
    return np.where(kept.astype(bool), np.float32(0), np.float32(-np.inf))[:, None, None, :]


@op
def attention(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    mask: NDArray[np.float32] | None = None,
    query_offset: NDArray[np.int32] | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """`torch.nn.functional.scaled_dot_product_attention`, and its probabilities.

    q             (B, H, L, D) float32 or float16
    k             (B, H, S, D), q's dtype
    v             (B, H, S, Dv), q's dtype
    mask          (mb, mh, mr, S) float32, added to the scores: torch's float `attn_mask`; mb is 1 or B, mh 1 or H, mr 1
                  or L, and nothing else is broadcast. -inf hides a key
    query_offset  one int32, at least 0: how many keys come before the first query's own, 0 if left out. An array, since
                  it grows from step to step of a decoder; a negative one counts as 0 on the GPU
    causal        query i sees keys 0 to i + query_offset: at 0 torch's is_causal, which is upper-left even where S > L;
                  at S - L what a cache wants. Not together with a mask
    scale         1 / sqrt(D) if not given, with q's D whatever Dv is
    returns       probs (B, H, L, S) and out (B, H, L, Dv), q's dtype, each rounded once: out is made of rounded probs;
                  sums in float64 (float32 on the GPU)

    A row whose keys are all hidden is zeros in probs and out, where torch.softmax alone gives NaN; a row that is all
    the lowest float32 is not hidden and gives the mean of v. Keys that no query sees are not read. Raises ShapeError.
    """
    return attend("attention", q, k, v, mask, query_offset, causal=causal, scale=scale)


@attention.spec
def _(
    q: Spec,
    k: Spec,
    v: Spec,
    mask: Spec | None = None,
    query_offset: Spec | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Spec, Spec]:
    call = checked("attention", q, k, v, mask, query_offset, causal=causal, scale=scale, grouped=False)
    return call.probs, call.out


@attention.plan
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
) -> Plan:
    call = checked("attention", q, k, v, mask, query_offset, causal=causal, scale=scale, grouped=False)
    return probs_and_out(gpu, "attention", call)
