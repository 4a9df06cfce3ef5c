"""The tiny llama with weights of other block types: seeded bytes, so that nothing has to quantise them."""

from __future__ import annotations

import re
from pathlib import Path

import gguf
import numpy as np

from tests.llm.tiny import FILE
from webxpu.cases.case import block_weight

# Layer, then file tensor: those that kernels read together have one type. Every type that tiny_llama.gguf lacks.
TYPES = {
    "token_embd": "q5_1", "output": "q6_k",
    "0.attn_q": "q4_k", "0.attn_k": "q4_k", "0.attn_v": "q4_k", "0.attn_output": "q5_0",
    "0.ffn_gate": "q5_k", "0.ffn_up": "q5_k", "0.ffn_down": "q3_k",
    "1.attn_q": "tq2_0", "1.attn_k": "tq2_0", "1.attn_v": "tq2_0", "1.attn_output": "q1_0",
    "1.ffn_gate": "q2_k", "1.ffn_up": "q2_k", "1.ffn_down": "tq1_0",
}  # fmt: skip


def write_retyped(path: Path) -> None:
    """Writes tiny_llama.gguf again, its matrices in TYPES."""
    reader, writer = gguf.GGUFReader(FILE), gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            item = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], item)
    for seed, tensor in enumerate(reader.tensors):
        name = TYPES.get(re.sub(r"^blk\.|\.weight$", "", tensor.name))
        if name is None:
            writer.add_tensor(tensor.name, np.array(tensor.data))
            continue
        n, k = int(tensor.shape[1]), int(tensor.shape[0])
        data = block_weight(name, (n, k), seed=seed).data.reshape(n, -1)
        writer.add_tensor(tensor.name, data, raw_dtype=gguf.GGMLQuantizationType[name.upper()])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
