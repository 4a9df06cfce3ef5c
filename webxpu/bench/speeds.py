"""The calls whose speed is stated, at sizes that keep a big GPU busy and fit a small one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from webxpu import ops
from webxpu.cases._fill import Fill
from webxpu.cases.case import hashed
from webxpu.gpu.op import Op
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Spec


@dataclass(frozen=True)
class Speed:
    """One call. `flops` are the floating-point operations of its definition; 0 where memory alone binds it."""

    op: Op
    size: str
    args: tuple[Any, ...]
    flops: float = 0.0
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The bytes of all arguments and outputs: what must cross memory at least."""
        specs = [spec_of(a) for a in self.args]
        outputs = self.op.spec_of(*specs, **self.kwargs)
        return sum(s.nbytes for s in [*specs, *outputs] if isinstance(s, Spec))


def speed(op: Op, size: str, *args: Any, flops: float = 0.0, **kwargs: Any) -> Speed:
    return Speed(op, size, args, flops, kwargs)


_LINE = Fill((2**25,), 1, 4.0)
_ROWS = Fill((8192, 4096), 2, 4.0)
_ROW = Fill((4096,), 3)
_HEADS = tuple(Fill((1, 16, 2048, 64), seed) for seed in (11, 12, 13))
_IMAGE = Fill((1, 128, 256, 256), 14)
_SOUND = Fill((1, 256, 65_536), 15)
_TOKENS = np.arange(16_384, dtype=np.int32)
_FRAMES = Fill((2**23,), 16)
_HANN = ops.hann_window(1024)
_MEL = ops.mel_filterbank(80, 1024, 24_000)
_EXPERTS = (hashed(2 * 16_384, 1) % 64).astype(np.int32).reshape(16_384, 2)

SPEEDS = [
    speed(ops.activation, "33.6 M, gelu", _LINE, kind="gelu"),
    speed(ops.elementwise, "33.6 M, add", _LINE, Fill((2**25,), 4), kind="add"),
    speed(ops.axpy, "33.6 M", _LINE, Fill((2**25,), 4), a=0.1),
    speed(ops.snake, "1x512x65536", Fill((1, 512, 65_536), 5), Fill((512,), 6)),
    speed(ops.softmax, "8192x4096", _ROWS),
    speed(ops.rmsnorm, "8192x4096", _ROWS, _ROW, eps=1e-6),
    speed(ops.layernorm, "8192x4096", _ROWS, _ROW, _ROW, eps=1e-6),
    speed(ops.group_norm, "1x128x256x256, 32 groups", _IMAGE, Fill((128,), 5), Fill((128,), 6), groups=32, eps=1e-6),
    speed(ops.reduce, "8192x4096, sum of rows", _ROWS, axis=1, kind="sum"),
    speed(ops.reduce, "8192x4096, mean of columns", _ROWS, axis=0, kind="mean"),
    speed(ops.reduce, "33.6 M, max", _LINE, axis=0, kind="max"),
    speed(ops.transpose, "8192x4096", _ROWS),
    speed(ops.permute, "4096x32x256", Fill((4096, 32, 256), 7), dims=(1, 0, 2)),
    speed(ops.pad, "8192x4096, reflect", _ROWS, axis=1, before=3, after=3, mode="reflect"),
    speed(ops.nearest_upsample_2d, "1x128x256x256 to 512x512", _IMAGE, out_h=512, out_w=512),
    speed(ops.gather, "16384 of 32768x1024", Fill((32_768, 1024), 8), (_TOKENS * 7919) % 32_768),
    speed(ops.quantize, "8192x4096", _ROWS),
    speed(
        ops.dequant_transpose, "8192x4096", Fill((8192, 1024), 8, dtype="uint32"), Fill((8192,), 9), in_features=4096
    ),
    speed(ops.matvec, "8192x16384", Fill((8192, 16_384), 5), Fill((16_384,), 6), flops=2.0 * 8192 * 16_384),
    speed(
        ops.matvec_q8,
        "16384x16384",
        *(Fill((16_384, 4096), 5, dtype="uint32"), Fill((16_384,), 6), Fill((16_384,), 7)),
        flops=2.0 * 16_384**2,
    ),
    speed(
        ops.matvec_q4g128,
        "16384x16384",
        *(Fill((16_384, 2048), 5, dtype="uint32"), Fill((16_384, 128), 6), Fill((16_384,), 7)),
        flops=2.0 * 16_384**2,
    ),
    speed(ops.matmul, "4096 cubed", Fill((4096, 4096), 7), Fill((4096, 4096), 8), flops=2.0 * 4096**3),
    speed(ops.linear, "4096 cubed", Fill((4096, 4096), 7), Fill((4096, 4096), 8), flops=2.0 * 4096**3),
    speed(ops.linear, "64x4096 by 4096x4096", Fill((64, 4096), 9), Fill((4096, 4096), 8), flops=2.0 * 64 * 4096**2),
    speed(ops.linear, "64x576 by 1536x576", Fill((64, 576), 9), Fill((1536, 576), 8), flops=2.0 * 64 * 576 * 1536),
    speed(
        ops.matmul_q8,
        "512x4096 by 4096x4096",
        *(Fill((512, 4096), 9), Fill((4096, 1024), 8, dtype="uint32"), Fill((4096,), 6)),
        flops=2.0 * 512 * 4096**2,
    ),
    speed(ops.attention, "16 heads of 2048x64", *_HEADS, flops=4.0 * 16 * 2048**2 * 64),
    speed(ops.flash_attention, "16 heads of 2048x64", *_HEADS, flops=4.0 * 16 * 2048**2 * 64),
    speed(
        ops.conv1d,
        "256 to 256 of 65536, 7 taps",
        *(_SOUND, Fill((256, 256, 7), 17), Fill((256,), 18)),
        flops=2.0 * 256**2 * 7 * 65_536,
        padding=3,
    ),
    speed(
        ops.conv2d,
        "128 to 128 of 256x256, 3x3",
        *(_IMAGE, Fill((128, 128, 3, 3), 17), Fill((128,), 18)),
        flops=2.0 * 128**2 * 9 * 256**2,
        padding=1,
    ),
    speed(
        ops.conv_transpose1d,
        "256 to 128 of 65536 by 4",
        *(_SOUND, Fill((256, 128, 8), 17), Fill((128,), 18)),
        flops=2.0 * 256 * 128 * 8 * 65_536,
        stride=4,
        padding=2,
    ),
    speed(ops.stft, "8.4 M, 1024 by 256", _FRAMES, _HANN, n_fft=1024, hop_length=256),
    speed(
        ops.istft,
        "32769 frames, 1024 by 256",
        *(Fill((32_769, 513), 19), Fill((32_769, 513), 20), _HANN),
        n_fft=1024,
        hop_length=256,
    ),
    speed(
        ops.mel_spectrogram,
        "32769 frames, 80 mels",
        *(Fill((32_769, 513), 19), Fill((32_769, 513), 20), _MEL),
        flops=2.0 * 32_769 * 513 * 80,
    ),
    speed(ops.rope, "16384x16x64", Fill((16_384, 16, 64), 21), _TOKENS, pairs="half", base=1e4),
    speed(ops.router, "16384 tokens, 64 experts", Fill((16_384, 64), 22), k=2, normalize=True),
    speed(ops.moe_dispatch, "16384x1024, 64 experts", Fill((16_384, 1024), 23), _EXPERTS, experts=64, capacity=640),
    speed(ops.ctc_decode, "64x1024x512", Fill((64, 1024, 512), 24)),
]
