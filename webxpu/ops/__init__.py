"""Every operation, by name. A new one is a module here, its cases, its kernels and its line below."""

from webxpu.ops.activation import activation
from webxpu.ops.argmax import argmax
from webxpu.ops.elementwise import elementwise, elementwise_rows
from webxpu.ops.gather import gather
from webxpu.ops.matmul import linear, matmul
from webxpu.ops.matvec import matvec
from webxpu.ops.rmsnorm import rmsnorm
from webxpu.ops.rope import rope, rope_table
from webxpu.ops.softmax import softmax
from webxpu.ops.split_planes import split_planes

__all__ = [
    "activation",
    "argmax",
    "elementwise",
    "elementwise_rows",
    "gather",
    "linear",
    "matmul",
    "matvec",
    "rmsnorm",
    "rope",
    "rope_table",
    "softmax",
    "split_planes",
]
