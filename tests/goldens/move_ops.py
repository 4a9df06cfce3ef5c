"""Writes move_ops.npz: what PyTorch makes of small inputs where values are moved, added up or stepped.

    python tests/goldens/move_ops.py        # torch 2.13.0+cpu

Names are `<op>.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

torch.manual_seed(11)
found: dict[str, np.ndarray] = {}


def keep(name, value):
    found[name] = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    return value


x = keep("transpose.x", torch.randn(2, 3, 4, 5))
keep("transpose.out", x.mT)

x = keep("permute.x", torch.arange(240, dtype=torch.int32).reshape(2, 3, 2, 4, 1, 5))
keep("permute.out", torch.permute(x, (0, 2, -2, 5, 3, 1)))

x = keep("pad.x", torch.randn(3, 4, 5))
for mode in ("constant", "reflect", "replicate"):
    value = {"value": 1.5} if mode == "constant" else {}
    keep(f"pad.{mode}", functional.pad(x, (3, 1), mode, **value))
    keep(f"pad.{mode}-two-axes", functional.pad(x[None], (3, 1, 2, 0), mode, **value)[0])

x = keep("upsample.x", torch.randn(2, 3, 14, 5))
keep("upsample.out", functional.interpolate(x, size=(46, 7), mode="nearest"))
# Every place of every pair of sizes up to 64 and 199: where torch is not the quotient of whole numbers.
others = []
for size in range(1, 65):
    for larger in range(size, 200):
        places = functional.interpolate(torch.arange(size).float()[None, None], size=larger, mode="nearest")[0, 0].int()
        whole = torch.arange(larger) * size // larger
        others += [(size, larger, int(at), int(places[at])) for at in torch.nonzero(places != whole)]
keep("upsample.others", np.array(others, np.uint8))

x, index = keep("scatter.src", torch.randn(4, 50)), torch.randint(0, 9, (4, 50))
keep("scatter.index", index.int())
keep("scatter.out", torch.zeros(4, 9).scatter_add_(1, index, x))

x, y = keep("axpy.x", torch.randn(500)), keep("axpy.y", torch.randn(500))
keep("axpy.out", torch.add(y, x, alpha=0.1))
three, tenths = torch.tensor([3.0]), torch.tensor([-0.3])
keep("axpy.witness", torch.add(tenths, three, alpha=0.1))

keep("versions", np.array([f"torch {version('torch')}"]))
np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
