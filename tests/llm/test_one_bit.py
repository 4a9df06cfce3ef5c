"""1-bit models in bitgpu's and the ONNX recipe's layout: they load without losing a bit, and what is wrong is named."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.llm.fake_bridge import FakeBridge
from tests.llm.one_bit_files import ARCH, HEADS, KV, POSITIONS, D, L, V, caches, lut, parts, write_bitgpu, write_onnx
from webxpu.errors import FormatError, Unsupported
from webxpu.formats.bitgpu import is_bitgpu, read_bitgpu
from webxpu.formats.one_bit_layout import lut_of
from webxpu.formats.onnx_one_bit import read_onnx
from webxpu.formats.tensor_info import TensorInfo
from webxpu.llm import head
from webxpu.llm.cache import Cache
from webxpu.llm.checkpoint import Checkpoint, open_checkpoint
from webxpu.llm.state import State
from webxpu.llm.weights import read_arrays
from webxpu.quant.ggml import Blocks, dequantize

ONNX = "onnx/model_q1.onnx"


def opened(folder: Path, source: str) -> Checkpoint:
    return asyncio.run(open_checkpoint(source, FakeBridge(folder)))  # type: ignore[arg-type]


def arrays(folder: Path, found: Checkpoint) -> dict[str, Any]:
    def read(info: TensorInfo) -> bytes:
        return (folder / found.source.sibling(info.file).place).read_bytes()[info.start : info.start + info.nbytes]

    return read_arrays(found.weights, read)


def logits(found: Checkpoint, weights: dict[str, Any]) -> np.ndarray:
    cache = Cache.new(found.config, 64, empty=np.zeros, put=lambda a: a)
    cache.history[:9] = np.arange(9) * 31 % V
    cache.state[:] = State(position=0, rows=9, capacity=64).to_words()
    x = found.architecture.forward(found.config, weights, cache, rows=16, parts=1)
    return np.array(head.logits(found.config, weights, cache, x))


def stacked(dense: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The engine's weights, put together here from bitgpu's names."""
    made = {
        "embedding": dense["embed_tokens"], "head": dense["lm_head"],
        "head_gain": dense[f"layers.{L}.final_norm_layernorm"],
    }  # fmt: skip
    for i in range(L):
        layer = {name.removeprefix(f"layers.{i}."): w for name, w in dense.items() if name.startswith(f"layers.{i}.")}
        made |= {
            f"{i}.qkv": np.concatenate([layer[f"attn.{x}_proj"] for x in "qkv"]),
            f"{i}.gate_up": np.concatenate([layer["mlp.gate_proj"], layer["mlp.up_proj"]]),
            f"{i}.attention_out": layer["attn.o_proj"], f"{i}.down": layer["mlp.down_proj"],
            f"{i}.attention_gain": layer["input_layernorm"], f"{i}.ffn_gain": layer["post_attention_layernorm"],
            f"{i}.q_gain": layer["attn.q_norm"], f"{i}.k_gain": layer["attn.k_norm"],
        }  # fmt: skip
    return made


FORMS = {
    "planes": {}, "blocks": {"container": True}, "baked": {"baked": True}, "tied": {"tied": True},
    "tied-blocks": {"container": True, "tied": True}, "onnx": None, "onnx-tied": {"tied": True},
}  # fmt: skip


def written(folder: Path, form: str) -> tuple[Checkpoint, dict[str, np.ndarray]]:
    options: dict[str, bool] = dict(FORMS[form] or {})
    model = parts(halves="blocks" in form, tied="tied" in options)
    if form.startswith("onnx"):
        write_onnx(folder, model, **options)
    else:
        write_bitgpu(folder / "m", model, **options)
    return opened(folder, ONNX if form.startswith("onnx") else "m/"), stacked(model.dense())


@pytest.mark.parametrize("form", FORMS)
def test_every_weight_is_its_sign_times_its_scale_and_the_forward_is_that_of_float32(tmp_path: Path, form: str) -> None:
    found, dense = written(tmp_path, form)
    mine = arrays(tmp_path, found)
    kinds = {a.type for a in mine.values() if isinstance(a, Blocks)}
    assert kinds == {"q1_0" if "blocks" in form else "q1g128"}
    values = {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in mine.items()}
    assert set(values) == set(dense)
    for name, want in dense.items():
        np.testing.assert_array_equal(values[name], want, err_msg=name)
    np.testing.assert_array_equal(logits(found, mine), logits(found, dense))
    c = found.config
    assert (c.architecture, c.layers, c.heads, c.kv_heads, c.head_dim, c.vocab) == ("qwen3", L, HEADS, KV, D, V)
    assert c.rope_pairs == "half"
    assert found.eos_ids == (7,)
    assert (found.weights["head"].parts == found.weights["embedding"].parts) == ("tied" in form)


def test_tables_of_rope_are_used_as_they_are_and_bound_the_context(tmp_path: Path) -> None:
    found, dense = written(tmp_path, "baked")
    cos, sin = caches(5e3)
    np.testing.assert_array_equal(found.config.rope_table(1, 50), np.stack([cos, sin], axis=2)[:50])
    assert found.config.context_length == POSITIONS
    plain, _ = written(tmp_path / "plain", "planes")
    assert plain.config.context_length == 512
    assert np.abs(logits(found, dense) - logits(plain, dense)).max() > 1e-2
    assert found.identity != plain.identity
    onnx, _ = written(tmp_path / "onnx", "onnx")  # its tables are those of its rope_theta
    np.testing.assert_allclose(onnx.config.rope_table(0, 64), plain.config.rope_table(0, 64), atol=1e-6)


def test_the_tables_of_codes_are_those_of_the_description() -> None:
    assert lut_of("tgt2").tobytes() == lut("tgt2")
    assert lut_of("tgt4").tobytes() == lut("tgt4")
    assert lut("tgt2")[:8].hex(" ") == "55 55 57 55 5d 55 5f 55"
    assert lut("tgt4")[:8].hex(" ") == "77 77 77 77 79 77 77 77"


def test_another_zero_point_and_another_table_are_refused(tmp_path: Path) -> None:
    write_bitgpu(tmp_path / "m", parts(), zero=1)
    with pytest.raises(Unsupported, match=r"tensors\.lm_head\.zp must be 2, the middle of the codes, .*, got 1$"):
        opened(tmp_path, "m/")
    write_bitgpu(tmp_path / "m", parts())
    aux = bytearray((tmp_path / "m" / "model.aux.bin").read_bytes())
    aux[3] ^= 1
    (tmp_path / "m" / "model.aux.bin").write_bytes(aux)
    with pytest.raises(Unsupported, match=r"luts\.tgt2 must expand each byte to its signs .*, got another table$"):
        opened(tmp_path, "m/")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 3, "version must be 1 or 2, got 3"),
        ("version", True, "version must be 1 or 2, got True"),
        ("data_file", "../x", "data_file must be the name of a file of this folder"),
        ("tensors.lm_head.block", 64, "tensors.lm_head: block must be 128, got '64'"),
        ("tensors.lm_head.kind", "q3", "tensors.lm_head: kind must be f32, binary, q2, q4, got 'q3'"),
        ("tensors.lm_head.kind", ["q2"], "tensors.lm_head: kind must be f32, binary, q2, q4, got \"['q2']\""),
        ("tensors.lm_head.container", "q1_0", "container must be q1_0, in a manifest of version 2"),
        ("tensors.lm_head.K", 200, "must have rows of a multiple of 128 weights, got 200"),
        ("tensors.lm_head.N", 5, "tensors.lm_head.weight must be 160 bytes long, got 10240"),
        ("tensors.lm_head.lut", "tgt4", "lut must be tgt2, one of luts, got 'tgt4'"),
        ("tensors.lm_head.weight", None, "tensors.lm_head.weight must be an object of dtype"),
        ("tensors.lm_head.weight.dtype", "INT8", "dtype must be UINT8, got 'INT8'"),
        ("tensors.lm_head.weight.src", "web", "src must be data or aux"),
        ("tensors.lm_head.weight.src", ["data"], "src must be data or aux"),
        ("tensors.lm_head.weight.off", -1, "off and len must be whole numbers, got '(-1, 10240)'"),
        ("tensors.lm_head.weight.shape", [], "shape must be a list of 1 to 4 sizes"),
        ("tensors.lm_head.weight.shape", [V, 0], "shape must be a whole number from 1"),
        ("tensors.lm_head.weight.off", 64, "tensors must not overlap"),
        ("tensors.lm_head.zp.shape", [V, 2], "tensors.lm_head.zp must be 640 bytes long, got 320"),
        ("luts", [], "luts must be an object, got '[]'"),
    ],
)
def test_what_is_wrong_in_a_manifest_is_named(tmp_path: Path, path: str, value: Any, message: str) -> None:
    manifest = copy.deepcopy(write_bitgpu(tmp_path, parts()))
    *outer, last = path.split(".")
    place = manifest
    for key in outer:
        place = place[key]
    place[last] = value
    assert is_bitgpu(manifest)
    with pytest.raises(FormatError) as caught:
        read_bitgpu(manifest)
    assert message in str(caught.value)
    assert str(caught.value).startswith(("manifest.json: ", "model.data: "))


@pytest.mark.parametrize("changes", [{"act": "gelu"}, {"model_type": "qwen3_5"}])
def test_an_architecture_that_is_not_computed_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    manifest = write_bitgpu(tmp_path / "m", parts())
    (tmp_path / "m" / "manifest.json").write_text(json.dumps(manifest | {"arch": ARCH | changes}))
    with pytest.raises(Unsupported, match=r"^config\.json: (hidden_act|model_type) must be "):
        opened(tmp_path, "m/")


def test_a_graph_of_another_recipe_is_refused(tmp_path: Path) -> None:
    write_onnx(tmp_path, parts(), bits=4)
    with pytest.raises(Unsupported, match=r"of MatMulNBits must have bits 2, got 4$"):
        opened(tmp_path, ONNX)
    graph = write_onnx(tmp_path, parts())
    with pytest.raises(Unsupported, match=r"the graph must have a 1-bit embedding and head"):
        read_onnx(
            graph.replace(b"/lm_head/MatMul_Quant", b"/lm_head/MatMul_Other").replace(b"MatMulNBits", b"MatMulxBits"),
            "x",
        )
    (tmp_path / "config.json").unlink()
    with pytest.raises(
        FormatError, match=r"must have a config\.json, or the folder above it; looked for config\.json$"
    ):
        opened(tmp_path, ONNX)


def test_a_broken_graph_is_a_format_error_or_reads(tmp_path: Path) -> None:
    graph, found = write_onnx(tmp_path, parts()), {"read": 0, "refused": 0}
    for seed in range(150):
        rng, data = random.Random(seed), bytearray(graph)
        at = rng.randrange(len(data))
        match seed % 3:
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at:]
            case 2:
                data[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
        try:
            read_onnx(bytes(data), "x.onnx")
            found["read"] += 1
        except (FormatError, Unsupported) as e:
            found["refused"] += str(e).startswith(("x.onnx: ", "model_q1.onnx_data: "))
    assert min(found.values()) > 20
    assert sum(found.values()) == 150


def test_a_huge_table_is_refused_before_it_is_read(tmp_path: Path) -> None:
    manifest = write_bitgpu(tmp_path / "m", parts(), baked=True)
    for name in ("cos_cache", "sin_cache"):
        manifest["tensors"][name] |= {"shape": [1 << 31, D // 2], "len": (1 << 31) * D // 2 * 4}
    (tmp_path / "m" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FormatError, match=r"tensors\.cos_cache must be at most 67108864 bytes long, got 274877906944$"):
        opened(tmp_path, "m/")


def test_a_cut_off_data_file_is_named(tmp_path: Path) -> None:
    write_bitgpu(tmp_path / "m", parts(), baked=True)
    path = tmp_path / "m" / "model.data"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FormatError, match=r"tensors\.sin_cache must be \d+ bytes at byte \d+ of model\.data, got \d+$"):
        opened(tmp_path, "m/")
