"""Writes block_ops.npz: real weights in block types, what libgguf makes of them and PyTorch of those. Needs all four
packages and a model file; the tests do not.

    python tests/goldens/block_ops.py SmolLM2-135M-Instruct.Q4_1.gguf
    # libgguf 0.2.2, gguf 0.19.0, torch 2.13.0+cpu, numpy 2.4.6

The weights are four rows of 256 of the model's last `ffn_down`, which libgguf quantises. Of each type but Q1_0, which
gguf 0.19.0 does not dequantise, both packages must give the same values. Names are `blocks.<what>`.
"""

import sys
from importlib.metadata import version
from pathlib import Path

import gguf
import libgguf
import numpy as np
import torch
from torch.nn import functional

TYPES = ("Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q1_0", "TQ1_0", "TQ2_0")

tensor = next(t for t in gguf.GGUFReader(sys.argv[1]).tensors if t.name == "blk.29.ffn_down.weight")
rows = np.ascontiguousarray(gguf.dequantize(tensor.data, tensor.tensor_type)[:4, :256], np.float32)
x = torch.randn(3, 256, generator=torch.Generator().manual_seed(7))
found = {"blocks.x": x.numpy()}
for name in TYPES:
    data = libgguf.quantize_rows(rows, libgguf.GGMLQuantizationType[name])
    values = np.asarray(libgguf.dequantize_rows(data, libgguf.GGMLQuantizationType[name])).reshape(rows.shape)
    if name != "Q1_0":
        np.testing.assert_array_equal(values, gguf.dequantize(data, gguf.GGMLQuantizationType[name]))
    out = functional.linear(x.double(), torch.from_numpy(values).double())
    found[f"blocks.{name.lower()}.data"] = data
    found[f"blocks.{name.lower()}.values"] = values
    found[f"blocks.{name.lower()}.out"] = out.numpy().astype(np.float32)
found["versions"] = np.array([f"{p} {version(p)}" for p in ("libgguf", "gguf", "torch", "numpy")])
np.savez_compressed(Path(__file__).parent / "block_ops.npz", **found)
