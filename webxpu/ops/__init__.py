"""Every operation, by name. A new one is a module here, its cases, its kernels and its line below."""

from webxpu.ops.activation import activation
from webxpu.ops.advance import advance
from webxpu.ops.argmax import argmax
from webxpu.ops.attend import attend, attend_combine
from webxpu.ops.cache import cache_write
from webxpu.ops.elementwise import elementwise, elementwise_rows
from webxpu.ops.embed import embed
from webxpu.ops.gather import gather
from webxpu.ops.matmul import linear, matmul
from webxpu.ops.matvec import matvec
from webxpu.ops.norm_gate_up import glu, norm_gate_up
from webxpu.ops.norm_head import norm_head, norm_head_argmax
from webxpu.ops.norm_qkv import norm_qkv, rope_write
from webxpu.ops.project import attend_project, project
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.ops.rope import (
    NtkScaling,
    YarnScaling,
    llama3_freq_factors,
    permute_rope_channels,
    rope,
    rope_axes,
    rope_frequency_params,
    rope_table,
)
from webxpu.ops.sample import sample
from webxpu.ops.softmax import softmax
from webxpu.ops.split_planes import split_planes

__all__ = [
    "NtkScaling",
    "YarnScaling",
    "activation",
    "advance",
    "argmax",
    "attend",
    "attend_combine",
    "attend_project",
    "cache_write",
    "elementwise",
    "elementwise_rows",
    "embed",
    "gather",
    "glu",
    "linear",
    "llama3_freq_factors",
    "matmul",
    "matvec",
    "norm_gate_up",
    "norm_head",
    "norm_head_argmax",
    "norm_qkv",
    "permute_rope_channels",
    "project",
    "rmsnorm",
    "rope",
    "rope_axes",
    "rope_frequency_params",
    "rope_table",
    "rope_write",
    "sample",
    "softmax",
    "split_planes",
]
