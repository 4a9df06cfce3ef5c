"""A small decoder of audio in the manner of DAC: convolutions, snakes, transposed convolutions and residual units.

`decode` is written once: on arrays it is the reference, on tensors it dispatches. tests/goldens/conv_ops.py has it
in torch. Only ops and cases are imported, so that Pyodide can run this file too.
"""

import numpy as np

from webxpu import ops
from webxpu.cases.case import uniform

LATENTS, FRAMES = 6, 12
# A stage widens time by its stride and halves the channels; the first is odd, so that its output is padded.
CHANNELS, STRIDES, DILATIONS = 24, (3, 4), (1, 3)


def weights():
    """Every weight by name, the same wherever it is made."""
    found = {}

    def add(name, *shape, fan_in):
        found[name] = uniform(shape, seed=len(found), amp=1.7 / np.sqrt(fan_in))

    def conv(name, c_out, c_in, k):
        add(f"{name}.weight", c_out, c_in, k, fan_in=c_in * k)
        add(f"{name}.bias", c_out, fan_in=4)

    def snake(name, c):
        add(name, c, fan_in=1)
        found[name] = np.abs(found[name]) + np.float32(0.1)

    conv("first", CHANNELS, LATENTS, 7)
    c = CHANNELS
    for i, s in enumerate(STRIDES):
        snake(f"{i}.alpha", c)
        add(f"{i}.up.weight", c, c // 2, 2 * s, fan_in=2 * c)
        add(f"{i}.up.bias", c // 2, fan_in=4)
        c //= 2
        for d in DILATIONS:
            snake(f"{i}.{d}.alpha", c)
            conv(f"{i}.{d}.wide", c, c, 7)
            snake(f"{i}.{d}.beta", c)
            conv(f"{i}.{d}.point", c, c, 1)
    snake("alpha", c)
    conv("last", 1, c, 7)
    return found


def latents():
    """(1, LATENTS, FRAMES): what is decoded."""
    return uniform((1, LATENTS, FRAMES), seed=99)


def decode(x, w):
    """x (N, LATENTS, L) and the weights, all arrays or all tensors, to audio (N, 1, L * 3 * 4) within (-1, 1)."""
    x = ops.conv1d(x, w["first.weight"], w["first.bias"], padding=3)
    for i, s in enumerate(STRIDES):
        x = ops.snake(x, w[f"{i}.alpha"])
        x = ops.conv_transpose1d(
            x, w[f"{i}.up.weight"], w[f"{i}.up.bias"], stride=s, padding=(s + 1) // 2, output_padding=s % 2
        )
        for d in DILATIONS:
            y = ops.snake(x, w[f"{i}.{d}.alpha"])
            y = ops.conv1d(y, w[f"{i}.{d}.wide.weight"], w[f"{i}.{d}.wide.bias"], padding=3 * d, dilation=d)
            y = ops.snake(y, w[f"{i}.{d}.beta"])
            y = ops.conv1d(y, w[f"{i}.{d}.point.weight"], w[f"{i}.{d}.point.bias"])
            x = ops.elementwise(x, y, kind="add")
    x = ops.snake(x, w["alpha"])
    x = ops.conv1d(x, w["last.weight"], w["last.bias"], padding=3)
    return ops.activation(x, kind="tanh")
