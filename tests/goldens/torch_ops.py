"""Writes torch_ops.npz: what PyTorch, transformers and gguf make of small inputs. Needs those three; the tests do not.

    python tests/goldens/torch_ops.py        # torch 2.13.0+cpu, transformers 5.24.0, gguf 0.19.0

Everything is computed in float64 from float32 inputs and narrowed once. Names are `<op>.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import gguf
import numpy as np
import torch
from torch.nn import functional
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

torch.manual_seed(7)
found: dict[str, np.ndarray] = {}


def keep(name, value):
    array = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    found[name] = array.astype(np.float32) if array.dtype == np.float64 else array
    return value


def random(name, *shape):
    return keep(name, torch.randn(*shape)).double()


a, x = random("matvec.weight", 5, 7), random("matvec.x", 7)
keep("matvec.out", torch.mv(a, x))

a, b = random("matmul.a", 4, 6), random("matmul.b", 6, 5)
keep("matmul.out", torch.mm(a, b))

x, w = random("linear.x", 3, 64), torch.randn(5, 64)
keep("linear.weight", w)
keep("linear.out", functional.linear(x, w.double()))
for name in ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1"):
    kind = gguf.GGMLQuantizationType[name]
    data = gguf.quantize(w.numpy(), kind)
    keep(f"linear.{name.lower()}.data", data.view(np.uint8))
    values = torch.from_numpy(gguf.dequantize(data, kind).astype(np.float32))
    keep(f"linear.{name.lower()}.values", values)
    keep(f"linear.{name.lower()}.out", functional.linear(x, values.double()))

x, w = random("rmsnorm.x", 2, 3, 8), random("rmsnorm.weight", 8)
keep("rmsnorm.out", functional.rms_norm(x, (8,), eps=1e-5) * w)
w = random("rmsnorm.groups", 3, 8)
keep("rmsnorm.grouped", functional.rms_norm(x, (8,), eps=1e-5) * w)

x = random("softmax.x", 3, 9)
keep("softmax.out", torch.softmax(x, -1))

probes = [-100, -8, -4, -2.699, -1, -0.5, -1e-4, 0, 1e-4, 0.5, 1, 2.699, 3, 8, 100.0]
x = keep("activation.x", torch.tensor(probes)).double()
keep("activation.relu2", functional.relu(x) ** 2)
keep("activation.silu", functional.silu(x))
keep("activation.elu", functional.elu(x))
keep("activation.elu-0.7", functional.elu(x, alpha=0.7))
keep("activation.tanh", torch.tanh(x))
keep("activation.gelu", functional.gelu(x))
keep("activation.gelu_tanh", functional.gelu(x, approximate="tanh"))

a, b, row = random("elementwise.a", 3, 4), random("elementwise.b", 3, 4), random("elementwise.row", 4)
keep("elementwise.add", torch.add(a, b))
keep("elementwise.multiply", torch.mul(a, b))
keep("elementwise_rows.add", torch.add(a, row))
keep("elementwise_rows.multiply", torch.mul(a, row))

table, indices = random("gather.table", 6, 5), keep("gather.indices", torch.tensor([3, 0, 5, 3], dtype=torch.int32))
keep("gather.out", torch.index_select(table, 0, indices))

# (batch, heads, rows, D) there; the tests move the axes. Angles of position p: p * base ** (-2 i / D).
x, positions = random("rope.x", 4, 3, 8), keep("rope.positions", torch.tensor([5, 0, 900], dtype=torch.int32))
angles = positions.double()[:, None] * 1e4 ** (-torch.arange(0, 8, 2).double() / 8)
cos, sin = (f(torch.cat([angles, angles], -1)).float().double()[None] for f in (torch.cos, torch.sin))
keep("rope.half", apply_rotary_pos_emb(x[None], x[None], cos, sin)[0][0])
turn = torch.complex(torch.cos(angles).float().double(), torch.sin(angles).float().double())
pairs = torch.view_as_complex(x.reshape(4, 3, 4, 2).contiguous())
keep("rope.adjacent", torch.view_as_real(pairs * turn).reshape(4, 3, 8))

x = random("argmax.x", 1000)
keep("argmax.out", torch.argmax(x)[None].int())

keep("versions", np.array([f"{name} {version(name)}" for name in ("torch", "transformers", "gguf")]))
np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
