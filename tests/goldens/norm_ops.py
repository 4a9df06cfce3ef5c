"""Writes norm_ops.npz: what PyTorch makes of small inputs in norms and reductions. Needs it; the tests do not.

    python tests/goldens/norm_ops.py        # torch 2.13.0+cpu

Everything is computed in float64 from float32 or float16 inputs and narrowed once. Names are `<op>.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

torch.manual_seed(11)
found: dict[str, np.ndarray] = {}


def keep(name, value, dtype=torch.float32):
    found[name] = value.to(dtype).numpy() if value.dtype == torch.float64 else value.numpy()


def random(name, *shape, dtype=torch.float32):
    value = torch.randn(*shape).to(dtype)
    keep(name, value)
    return value.double()


for dtype, suffix in ((torch.float32, ""), (torch.float16, "-f16")):
    x, w, b = (
        random(f"layernorm{suffix}.{n}", *s, dtype=dtype)
        for n, s in (("x", (2, 3, 9)), ("weight", (9,)), ("bias", (9,)))
    )
    keep(f"layernorm{suffix}.out", functional.layer_norm(x, (9,), w, b, 1e-5), dtype)
    x, w, b = (
        random(f"group_norm{suffix}.{n}", *s, dtype=dtype)
        for n, s in (("x", (2, 6, 3, 5)), ("weight", (6,)), ("bias", (6,)))
    )
    for groups in (1, 3, 6):
        keep(f"group_norm{suffix}.out-{groups}", functional.group_norm(x, groups, w, b, 1e-5), dtype)

x, w = (random(f"rmsnorm-f16.{n}", *s, dtype=torch.float16) for n, s in (("x", (3, 8)), ("weight", (8,))))
keep("rmsnorm-f16.out", functional.rms_norm(x, (8,), eps=1e-5) * w, torch.float16)
x = random("softmax-f16.x", 3, 9, dtype=torch.float16)
keep("softmax-f16.out", torch.softmax(x, -1), torch.float16)

x = random("reduce.x", 3, 4, 5)
for axis in (0, 1, 2):
    for kind, function in (("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax), ("min", torch.amin)):
        keep(f"reduce.{kind}-{axis}", function(x, axis))

found["versions"] = np.array([f"torch {version('torch')}"])
np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
