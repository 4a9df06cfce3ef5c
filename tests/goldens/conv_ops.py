"""Writes conv_ops.npz: what PyTorch and SciPy make of small inputs. Needs those two; the tests do not.

    PYTHONPATH=. python tests/goldens/conv_ops.py        # torch 2.13.0+cpu, scipy 1.17.1

Everything is computed in float64 from float32 inputs and narrowed once. Names are `<op>.<what>`.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from scipy.special import eval_legendre
from torch.nn import functional

from tests.ops import conv_decoder

torch.manual_seed(13)
found: dict[str, np.ndarray] = {}


def keep(name, value):
    array = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    found[name] = array.astype(np.float32) if array.dtype == np.float64 else array
    return value


def random(name, *shape):
    return keep(name, torch.randn(*shape)).double()


def snake(x, alpha, beta=None):
    # descript-audio-codec, dac/nn/layers.py `snake`; BigVGAN, activations.py `SnakeBeta`.
    alpha = alpha[None, :, None]
    beta = alpha if beta is None else beta[None, :, None]
    return x + (beta + 1e-9).reciprocal() * torch.sin(alpha * x).pow(2)


x, w, b = random("conv1d.x", 2, 4, 9), random("conv1d.weight", 6, 2, 3), random("conv1d.bias", 6)
keep("conv1d.out", functional.conv1d(x, w, b, stride=2, padding=2, dilation=2, groups=2))

options = {"stride": (2, 3), "padding": (1, 2), "output_padding": (1, 0), "dilation": (1, 2), "groups": 2}
x, w, b = random("conv_transpose2d.x", 2, 4, 3, 4), random("conv_transpose2d.weight", 4, 3, 3, 4), torch.randn(6)
keep("conv_transpose2d.bias", b)
keep("conv_transpose2d.out", functional.conv_transpose2d(x, w, b.double(), **options))

x, alpha, beta = random("snake.x", 2, 3, 5), random("snake.alpha", 3), random("snake.beta", 3)
keep("snake.out", snake(x, alpha))
keep("snake.with_beta", snake(x, alpha, beta))

orders, arguments = np.arange(40)[:, None], -1 + 2 * np.arange(12) / 12
keep("pope.out", eval_legendre(orders, arguments))

w = {name: torch.from_numpy(array).double() for name, array in conv_decoder.weights().items()}
x = functional.conv1d(torch.from_numpy(conv_decoder.latents()).double(), w["first.weight"], w["first.bias"], padding=3)
for i, s in enumerate(conv_decoder.STRIDES):
    x = functional.conv_transpose1d(
        snake(x, w[f"{i}.alpha"]), w[f"{i}.up.weight"], w[f"{i}.up.bias"], s, (s + 1) // 2, s % 2
    )
    for d in conv_decoder.DILATIONS:
        y = snake(x, w[f"{i}.{d}.alpha"])
        y = functional.conv1d(y, w[f"{i}.{d}.wide.weight"], w[f"{i}.{d}.wide.bias"], 1, 3 * d, d)
        y = snake(y, w[f"{i}.{d}.beta"])
        x = x + functional.conv1d(y, w[f"{i}.{d}.point.weight"], w[f"{i}.{d}.point.bias"])
x = functional.conv1d(snake(x, w["alpha"]), w["last.weight"], w["last.bias"], padding=3)
keep("conv_decoder.out", torch.tanh(x))

keep("versions", np.array([f"{name} {version(name)}" for name in ("torch", "scipy")]))
np.savez_compressed(Path(__file__).with_suffix(".npz"), **found)
