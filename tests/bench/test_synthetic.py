"""Models with random weights: files that load, with values that a model could have."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import gguf
import numpy as np
import pytest

from tests.llm import tiny
from tests.llm.numpy_device import numpy_engine
from webxpu.bench.synthetic import PRESETS, TYPES, Shape, tensor_table, write_model
from webxpu.errors import ShapeError
from webxpu.llm.generate import Generation
from webxpu.llm.sampler import Sampling
from webxpu.quant.ggml import BLOCK_TYPES, Blocks, dequantize
from webxpu.text.hf_tokenizer import Tokenizer

SMALL = Shape("llama", 2, 256, 512, 4, 2, 64, 320, 1e4, 1e-5, 512)


def loaded(path, shape, type_name):
    write_model(path, shape, type_name)
    header = tiny.read_header(path)
    return header, *tiny.loaded(path, header)


@pytest.mark.parametrize("type_name", TYPES)
def test_a_model_in_any_type_loads_and_its_weights_spread_as_a_models_do(tmp_path, type_name):
    _, config, weights, arrays = loaded(tmp_path / "m.gguf", SMALL, type_name)
    assert (config.layers, config.hidden, config.heads, config.kv_heads, config.vocab) == (2, 256, 4, 2, 320)
    assert weights["head"].parts == weights["embedding"].parts
    for name in ("embedding", "0.qkv", "1.down"):
        array = arrays[name]
        values = dequantize(array) if isinstance(array, Blocks) else array
        width = values.shape[1]
        assert np.isfinite(values).all()
        assert 0.7 < values.std() * math.sqrt(width) < 1.4
        # Codes reach one further down than up, those of tq2_0 one further up.
        assert abs(values.mean()) < (0.5 if type_name == "tq2_0" else 0.15) * values.std()
        assert len(np.unique(values)) > 50
    assert (arrays["0.ffn_gain"] == 1).all()


@pytest.mark.parametrize("type_name", ["q4_k", "q1_0", "bf16"])
def test_gguf_reads_the_same_tensors(tmp_path, type_name):
    path = tmp_path / "m.gguf"
    size = write_model(path, SMALL, type_name)
    assert path.stat().st_size == size
    ours = tiny.read_header(path)
    for tensor in gguf.GGUFReader(path).tensors:
        info = ours.tensors[tensor.name]
        assert (info.start, info.nbytes) == (tensor.data_offset, tensor.n_bytes)
        assert tuple(info.shape) == tuple(reversed([int(n) for n in tensor.shape]))
    values = gguf.quants.dequantize(tensor.data, tensor.tensor_type) if type_name != "q1_0" else tensor.data
    assert np.isfinite(values).all()


def test_an_untied_model_has_a_head_and_an_engine_runs_it(tmp_path):
    header, config, weights, arrays = loaded(tmp_path / "m.gguf", replace(SMALL, tied=False), "q4_0")
    assert weights["head"].parts != weights["embedding"].parts
    assert Tokenizer.from_gguf(header.metadata).encode("é!") == [0xC3, 0xA9, 0x21]
    dense = {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in arrays.items()}
    generation = Generation(numpy_engine(config, dense, 64), [1, 2, 3], sampling=Sampling(), max_tokens=8)

    async def run() -> None:
        async for _ in generation:
            pass

    asyncio.run(run())
    assert len(generation.ids) == 8


def test_a_seed_makes_the_file(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_model(tmp_path / name, SMALL, "q6_k", seed=seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_progress_reaches_the_end_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("webxpu.bench.synthetic.PIECE_BYTES", 10_000)
    done = []
    size = write_model(tmp_path / "m.gguf", SMALL, "q8_0", report=lambda *told: done.append(told))
    assert len(done) > 40
    assert done == sorted(done)
    assert {total for _, total in done} == {size}
    whole = tmp_path / "whole.gguf"
    monkeypatch.undo()
    write_model(whole, SMALL, "q8_0")
    assert whole.stat().st_size == size


def test_the_shape_of_qwen3_1_7b_is_the_published_one():
    table = tensor_table(PRESETS["qwen3-1.7b"], "q1_0")
    counted = sum(math.prod(size) for size, _ in table.values())
    assert counted == 1_720_574_976  # the safetensors index's total_size, less the tied head, at two bytes each
    matrices = sum(math.prod(size) for size, kind in table.values() if kind == "q1_0")
    assert matrices // 128 * BLOCK_TYPES["q1_0"].nbytes < 250e6
    assert table["blk.27.attn_k_norm.weight"] == ((128,), "f32")
    assert "output.weight" not in table


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(ShapeError, match=r"^synthetic: type must be one of f32, .*, tq2_0, got 'iq2_xs'$"):
        tensor_table(SMALL, "iq2_xs")
    rule = r"^synthetic: rows of token_embd must be a multiple of 256 weights for q4_k, got 576$"
    with pytest.raises(ShapeError, match=rule):
        write_model(tmp_path / "m.gguf", PRESETS["smollm2-135m"], "q4_k")
    assert not (tmp_path / "m.gguf").exists()
    with pytest.raises(ShapeError, match=r"^synthetic: vocab must be more than the 256 bytes, got 256$"):
        write_model(tmp_path / "m.gguf", replace(SMALL, vocab=256), "q4_0")
