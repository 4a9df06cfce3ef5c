"""Which file tensors make which weight, for the reference and for the GPU."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from types import SimpleNamespace
from typing import Any

import gguf
import numpy as np
import pytest

from tests.llm import tiny
from webxpu.cases.case import block_weight
from webxpu.errors import FormatError, Unsupported
from webxpu.formats.converted import ChunkHashes
from webxpu.formats.tensor_info import TensorInfo
from webxpu.gpu.plan import Spec
from webxpu.gpu.target import Gpu
from webxpu.llm.config import Config
from webxpu.llm.models import architectures, find, llama
from webxpu.llm.source import Source
from webxpu.llm.weights import Weight, Weights, allocate, pieces, read_arrays, rope_factors, runs, upload
from webxpu.ops.split_planes import split_planes
from webxpu.quant.ggml import BLOCK_TYPES, Blocks, dequantize, nbytes, to_stored
from webxpu.quant.rows import ROW_TYPES

PLANES = [name for name, block in BLOCK_TYPES.items() if block.planes]
CONFIG, ARRAYS = tiny.model()


def tensors(**changes: TensorInfo | None) -> dict[str, TensorInfo]:
    """The tiny file's table with rows replaced or, by None, left out; `__` stands for a dot."""
    table: dict[str, Any] = dict(tiny.header().tensors) | {k.replace("__", "."): v for k, v in changes.items()}
    return {name: info for name, info in table.items() if info is not None}


def info(name: str, kind: str, shape: tuple[int, ...], start: int, file: str = "f.gguf") -> TensorInfo:
    return TensorInfo(name, kind, shape, start, Spec(shape, "float32" if kind == "f32" else kind).nbytes, file)


class FakeDevice:
    """Hands out buffers by number and takes the bridge's upload."""

    def __init__(self) -> None:
        self.made: list[SimpleNamespace] = []
        self.uploads: list[dict[str, Any]] = []
        self.handle = 1
        self.bridge = self
        self.gpu = Gpu(limits={})

    def empty(self, shape: tuple[int, ...], dtype: str) -> SimpleNamespace:
        self.made.append(SimpleNamespace(handle=len(self.made), offset=0, nbytes=Spec(shape, dtype).nbytes))
        return self.made[-1]

    async def upload(self, device: int, options: dict[str, Any]) -> None:
        assert device == self.handle
        self.uploads.append(options)
        for loaded in (1, sum(piece["bytes"] for piece in options["pieces"])):
            options["onProgress"](loaded, -1)


def test_arrays_are_what_the_gguf_package_reads_with_query_key_and_value_rows_stacked() -> None:
    theirs = {t.name: gguf.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(tiny.FILE).tensors}
    ours = {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in ARRAYS.items()}
    assert len(ours) == 3 + 6 * 2
    np.testing.assert_array_equal(ours["embedding"], theirs["token_embd.weight"])
    np.testing.assert_array_equal(ours["head"], theirs["output.weight"])
    np.testing.assert_array_equal(ours["head_gain"], theirs["output_norm.weight"])
    for i in range(2):
        for ours_name, parts in {
            "attention_gain": ["attn_norm"], "qkv": ["attn_q", "attn_k", "attn_v"], "attention_out": ["attn_output"],
            "ffn_gain": ["ffn_norm"], "gate_up": ["ffn_gate", "ffn_up"], "down": ["ffn_down"],
        }.items():  # fmt: skip
            stacked = np.concatenate([theirs[f"blk.{i}.{part}.weight"] for part in parts])
            np.testing.assert_array_equal(ours[f"{i}.{ours_name}"], stacked)


def test_a_file_without_an_output_matrix_uses_its_embedding_once() -> None:
    weights = llama.weights(CONFIG, tensors(output__weight=None))
    device = FakeDevice()
    made = allocate(device, weights)  # type: ignore[arg-type]
    assert made["head"] is made["embedding"]
    assert len(device.made) == len(weights) - 1
    starts = [piece["start"] for piece in pieces(weights, made, [])["tiny_llama.gguf"]]
    assert len(starts) == len(set(starts)) == len(tiny.header().tensors) - 1


def test_uploaded_pieces_put_every_stored_byte_in_its_place() -> None:
    """Plays the bridge: copies ranges, and splits the blocks of plane types by the numbers in each piece."""
    _, weights, _ = tiny.loaded(tiny.FILE, tiny.header())
    device, data = FakeDevice(), tiny.FILE.read_bytes()
    made = allocate(device, weights)  # type: ignore[arg-type]
    planes = {"q4_0": 18, "q8_0": 34}
    buffers = [np.full(tensor.nbytes, 0xAA, np.uint8) for tensor in device.made]
    wanted = pieces(weights, made, list(planes))["tiny_llama.gguf"]
    assert [piece["start"] for piece in wanted] == sorted(piece["start"] for piece in wanted)
    for piece in wanted:
        raw = np.frombuffer(data, np.uint8, piece["bytes"], piece["start"])
        target = buffers[piece["buffer"]]
        if piece["transform"] is None:
            target[piece["offset"] : piece["offset"] + len(raw)] = raw
            continue
        size = list(planes.values())[piece["transform"]]
        blocks = raw.reshape(-1, size)
        first, total, codes = piece["targetBlock"], piece["totalBlocks"], size - 2
        scales_at = -(-total * codes // 16) * 16
        target[first * codes : (first + len(blocks)) * codes] = blocks[:, 2:].reshape(-1)
        at = scales_at + first * 2
        target[at : at + len(blocks) * 2] = blocks[:, :2].reshape(-1)
        assert piece["targetBytes"] == len(target)
    for name, array in ARRAYS.items():
        stored = to_stored(array) if isinstance(array, Blocks) else array.reshape(-1).view(np.uint8)
        np.testing.assert_array_equal(buffers[made[name].handle][: len(stored)], stored, err_msg=name)


@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_stacked_tensors_of_every_block_type_are_uploaded_as_kernels_read_them(name: str) -> None:
    """Plays the bridge, each piece in two chunks."""
    k = 2 * max(BLOCK_TYPES[name].elements, 2)
    blocks = block_weight(name, (5, k), seed=3)
    first = nbytes(name, (2, k))
    parts = info("a", name, (2, k), 0), info("b", name, (3, k), 1024)
    parts = tuple(dataclasses.replace(p, nbytes=nbytes(name, p.shape)) for p in parts)
    weights = {"w": Weight("w", name, (5, k), parts)}
    contents = {"a": blocks.data[:first].tobytes(), "b": blocks.data[first:].tobytes()}
    array = read_arrays(weights, lambda part: contents[part.name])["w"]
    assert isinstance(array, Blocks)
    np.testing.assert_array_equal(array.data, blocks.data)
    made = allocate(FakeDevice(), weights)  # type: ignore[arg-type]
    stored = np.full(made["w"].nbytes // 4, 0xAAAAAAAA, np.uint32)
    for part, piece in zip(parts, pieces(weights, made, PLANES)["f.gguf"], strict=True):
        raw = np.frombuffer(contents[part.name], np.uint8)
        if piece["transform"] is None:
            at = piece["offset"] - made["w"].offset
            stored.view(np.uint8)[at : at + len(raw)] = raw
            continue
        assert PLANES[piece["transform"]] == name
        rows = raw.reshape(-1, BLOCK_TYPES[name].nbytes)
        for start, chunk in ((0, rows[:1]), (1, rows[1:])):
            words = np.pad(chunk.reshape(-1), (0, -chunk.size % 4)).view(np.uint32)
            span = np.array([start, len(chunk), piece["totalBlocks"], piece["targetBlock"]], np.uint32)
            split_planes(words, stored, span, type=name)
    used = nbytes(name, (5, k))
    expected = to_stored(blocks)
    same = stored.view(np.uint8) == expected
    assert same.sum() >= used
    assert not expected[~same].any()  # what is only padding stays as it was


def test_a_missing_tensor_is_named() -> None:
    with pytest.raises(FormatError, match=r"^weights: the file has no tensor 'blk\.1\.ffn_up\.weight'$"):
        llama.weights(CONFIG, tensors(blk__1__ffn_up__weight=None))


def test_a_tensor_of_another_shape_than_the_metadata_says_is_named() -> None:
    wrong = dataclasses.replace(tiny.header().tensors["blk.0.attn_k.weight"], shape=(64, 256))
    with pytest.raises(
        FormatError, match=r"^weights: blk\.0\.attn_k\.weight must have the shape \[128, 256\], got \[64, 256\]$"
    ):
        llama.weights(CONFIG, tensors(blk__0__attn_k__weight=wrong))


def test_a_tensor_that_the_forward_would_leave_out_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"^weights: the file has a tensor 'blk\.0\.attn_q\.bias' that this"):
        llama.weights(CONFIG, tensors(blk__0__attn_q__bias=info("blk.0.attn_q.bias", "f32", (256,), 0)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": 66}, "the hidden size of a llama model must be a multiple of 4, got 66"),
        ({"ffn": 98}, "the feed-forward size of a llama model must be a multiple of 4, got 98"),
        ({"head_dim": 6}, "the head width of a llama model must be a multiple of 4, got 6"),
        ({"head_dim": 260}, "the head width of a llama model must be at most 256, got 260"),
    ],
)
def test_a_width_that_no_kernel_takes_is_refused_by_the_architectures_name(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Unsupported, match=rf"^load: {message}$"):
        llama.weights(dataclasses.replace(CONFIG, **changes), tensors())


def test_stacked_tensors_of_different_types_are_weights_of_their_own_neighbours_of_one_type_together() -> None:
    other = info("blk.0.attn_v.weight", "q8_0", (128, 256), 0)
    found = llama.weights(CONFIG, tensors(blk__0__attn_v__weight=other))
    assert "0.qkv" not in found
    assert (found["0.qkv.0"].type, found["0.qkv.0"].shape) == ("q4_1", (384, 256))
    assert (found["0.qkv.1"].type, found["0.qkv.1"].shape) == ("q8_0", (128, 256))
    assert runs(found, "0.qkv") == [found["0.qkv.0"], found["0.qkv.1"]]
    assert runs(found, "1.qkv") == [found["1.qkv"]]
    middle = info("blk.0.attn_k.weight", "q8_0", (128, 256), 0)
    found = llama.weights(CONFIG, tensors(blk__0__attn_k__weight=middle))
    assert [weight.type for weight in runs(found, "0.qkv")] == ["q4_1", "q8_0", "q4_1"]


def experts(**types: str) -> dict[str, TensorInfo]:
    """The tiny file's table with experts, all in one tensor a kind."""
    table = {name: t for name, t in tensors().items() if "ffn_" not in name or "norm" in name}
    starts = itertools.count(1 << 30)
    for i in range(2):
        shapes = {"gate": (3, 512, 256), "up": (3, 512, 256), "down": (3, 256, 512)}
        for kind, shape in shapes.items():
            name = f"blk.{i}.ffn_{kind}_exps.weight"
            table[name] = info(name, types.get(kind, "q8_0"), shape, next(starts))
        name = f"blk.{i}.ffn_gate_inp.weight"
        table[name] = info(name, "f32", (3, 256), next(starts))
    return table


MIXTURE = dataclasses.replace(CONFIG, experts=3, experts_used=2)


def test_all_experts_rows_are_one_weight_whether_the_file_has_a_tensor_for_all_or_for_each() -> None:
    table = experts()
    found = llama.weights(MIXTURE, table)
    assert (found["1.gate_up"].shape, found["1.down"].shape) == ((2 * 3 * 512, 256), (3 * 256, 512))
    assert [part.name for part in found["1.gate_up"].parts] == [f"blk.1.ffn_{x}_exps.weight" for x in ("gate", "up")]
    each = {name: t for name, t in table.items() if not name.endswith("_exps.weight")}
    for i in range(2):
        for kind, shape in {"gate": (512, 256), "up": (512, 256), "down": (256, 512)}.items():
            for e in range(3):
                each[f"blk.{i}.ffn_{kind}.{e}.weight"] = info(f"blk.{i}.ffn_{kind}.{e}.weight", "q8_0", shape, 0)
    found = llama.weights(MIXTURE, each)
    assert found["1.gate_up"].shape == (2 * 3 * 512, 256)
    names = [f"blk.1.ffn_{kind}.{e}.weight" for kind in ("gate", "up") for e in range(3)]
    assert [part.name for part in found["1.gate_up"].parts] == names


def test_experts_rows_lie_one_after_the_other() -> None:
    found = llama.weights(MIXTURE, experts(gate="q4_k", up="q4_k"))
    made = allocate(FakeDevice(), found)  # type: ignore[arg-type]
    by_start = {piece["start"]: piece for piece in pieces(found, made, PLANES)["f.gguf"]}
    gate, up = (by_start[part.start] for part in found["1.gate_up"].parts)
    assert gate["buffer"] == up["buffer"] == made["1.gate_up"].handle
    assert (gate["offset"], up["offset"]) == (0, nbytes("q4_k", (3 * 512, 256)))
    found = llama.weights(MIXTURE, experts())
    by_start = {piece["start"]: piece for piece in pieces(found, made, PLANES)["f.gguf"]}
    gate, up = (by_start[part.start] for part in found["1.gate_up"].parts)
    assert (gate["targetBlock"], up["targetBlock"]) == (0, 3 * 512 * 8)
    assert gate["totalBlocks"] == up["totalBlocks"] == 2 * 3 * 512 * 8


def test_experts_gates_and_ups_of_different_types_are_refused_by_name() -> None:
    with pytest.raises(Unsupported, match=r"must have one type, got .*ffn_gate_exps\.weight q4_k, .*_up_exps.* q8_0$"):
        llama.weights(MIXTURE, experts(gate="q4_k"))


def test_biases_are_stacked_and_become_float32_from_whatever_they_are() -> None:
    config = dataclasses.replace(CONFIG, qkv_bias=True)
    types = {"q": ("f16", 256), "k": ("f32", 128), "v": ("bf16", 128)}
    table = tensors()
    for i in range(2):
        for x, (kind, n) in types.items():
            table[f"blk.{i}.attn_{x}.bias"] = info(f"blk.{i}.attn_{x}.bias", kind, (n,), 0)
    weight = llama.weights(config, table)["1.qkv_bias"]
    assert (weight.type, weight.shape, weight.widened) == ("float32", (512,), True)
    values = np.arange(512, dtype=np.float32)
    data = [
        values[:256].astype(np.float16).tobytes(), values[256:384].tobytes(),
        (values[384:].view(np.uint32) >> 16).astype(np.uint16).tobytes(),
    ]  # fmt: skip
    expected = np.concatenate([values[:384], (values[384:].view(np.uint32) >> 16 << 16).view(np.float32)])
    np.testing.assert_array_equal(weight.widen(data), expected)


def test_an_offset_is_added_to_gains_alone_and_to_float32_ones_too() -> None:
    config = dataclasses.replace(CONFIG, gain_offset=1.0)
    _, plain, arrays = tiny.loaded(tiny.FILE, tiny.header())
    found = llama.weights(config, tensors())
    assert {name for name, weight in found.items() if weight.widened} == {n for n in found if n.endswith("gain")}
    data = tiny.FILE.read_bytes()
    more = read_arrays(found, lambda part: data[part.start : part.start + part.nbytes])
    for name in plain:
        if name.endswith("gain"):
            np.testing.assert_array_equal(more[name], arrays[name] + np.float32(1))
        else:
            assert found[name] == plain[name]


def test_factors_of_rope_are_no_weight_and_refused_where_the_configuration_lacks_them() -> None:
    factors = info("rope_freqs.weight", "f32", (32,), 0)
    with pytest.raises(Unsupported, match=r"^weights: the file has a tensor 'rope_freqs\.weight' that this"):
        llama.weights(CONFIG, tensors(rope_freqs__weight=factors))
    config = CONFIG.with_rope_factors(np.full(32, 2.0))
    assert "rope_freqs" not in str(list(llama.weights(config, tensors(rope_freqs__weight=factors))))


def test_factors_of_rope_are_read_from_their_file_as_float32() -> None:
    values = np.arange(1, 33, dtype=np.float32)

    def reader(name: str) -> Any:
        async def read(start: int, count: int) -> tuple[bytes, int | None]:
            assert (name, start) == ("f.gguf", 64)
            return values.tobytes()[:count], None

        return read

    factors = info("rope_freqs.weight", "f32", (32,), 64)
    found = tiny.finished(rope_factors({factors.name: factors}, reader))
    np.testing.assert_array_equal(found, values)
    assert tiny.finished(rope_factors({}, reader)) is None
    half = info("rope_freqs.weight", "f16", (32,), 64)
    with pytest.raises(FormatError, match=r"^weights: rope_freqs\.weight must be f32, got f16$"):
        tiny.finished(rope_factors({half.name: half}, reader))
    huge = info("rope_freqs.weight", "f32", (1 << 38,), 64)
    with pytest.raises(
        FormatError, match=r"^weights: rope_freqs\.weight must be at most 4096 numbers, got \[274877906944\]$"
    ):
        tiny.finished(rope_factors({huge.name: huge}, reader))


def test_a_gain_in_blocks_is_refused_and_one_of_16_bits_is_a_float32_weight() -> None:
    blocks = info("output_norm.weight", "q8_0", (256,), 0)
    with pytest.raises(Unsupported, match=r"^weights: output_norm\.weight must be f32, f16 or bf16, .*, got q8_0$"):
        llama.weights(CONFIG, tensors(output_norm__weight=blocks))
    half = info("output_norm.weight", "f16", (256,), 0)
    weight = llama.weights(CONFIG, tensors(output_norm__weight=half))["head_gain"]
    assert (weight.type, weight.widened) == ("float32", True)


def test_a_file_with_names_of_its_own_is_asked_for_them_and_quoted_with_them() -> None:
    own = {f"own.{name}": dataclasses.replace(t, name=f"own.{name}") for name, t in tensors().items()}
    found = llama.weights(CONFIG, own, lambda name: f"own.{name}")
    assert {part.name for weight in found.values() for part in weight.parts} == set(own)
    del own["own.blk.1.ffn_up.weight"]
    with pytest.raises(FormatError, match=r"^weights: the file has no tensor 'own\.blk\.1\.ffn_up\.weight'$"):
        llama.weights(CONFIG, own, lambda name: f"own.{name}")


def test_a_type_without_kernels_is_refused() -> None:
    odd = dataclasses.replace(tiny.header().tensors["output.weight"], type="iq1_m")
    with pytest.raises(Unsupported, match=r"tensor 'output\.weight' has type iq1_m, which webxpu cannot compute with$"):
        llama.weights(CONFIG, tensors(output__weight=odd))


def test_an_architecture_without_a_file_is_refused_with_the_names_that_have_one() -> None:
    assert architectures() == ["gemma3", "llama", "mistral", "qwen2", "qwen3", "qwen3moe"]
    for name in ("os", "_decoder"):
        with pytest.raises(
            Unsupported, match=rf"^load: general\.architecture must be one of gemma3, .*, qwen3moe, got '{name}'$"
        ):
            find(name)


def two_files() -> tuple[Weights, FakeDevice, dict[str, Any]]:
    weights = Weights({})
    for name, start, file in [("a", 32, "m-00001-of-00002.gguf"), ("b", 96, "m-00002-of-00002.gguf")]:
        weights[name] = Weight(name, "float32", (4, 4), (info(name, "f32", (4, 4), start, file),))
    device = FakeDevice()
    return weights, device, allocate(device, weights)  # type: ignore[arg-type]


def test_a_split_model_is_uploaded_file_by_file_with_one_progress() -> None:
    weights, device, made = two_files()
    seen: list[tuple[int, int]] = []
    source = Source.parse("https://host/m-00001-of-00002.gguf")
    asyncio.run(upload(device, source, weights, made, lambda *at: seen.append(at)))  # type: ignore[arg-type]
    assert [u["source"]["url"][-22:] for u in device.uploads] == ["/m-00001-of-00002.gguf", "/m-00002-of-00002.gguf"]
    assert [[p["start"] for p in u["pieces"]] for u in device.uploads] == [[32], [96]]
    assert seen == [(1, 128), (64, 128), (65, 128), (128, 128)]


def test_hashes_go_to_the_bridge_with_their_file_and_gains_are_held_against_them() -> None:
    weights, device, made = two_files()
    known = {"m-00002-of-00002.gguf": ChunkHashes(200, 128, ("a" * 64, "b" * 64))}
    source = Source.parse("https://host/m-00001-of-00002.gguf")
    asyncio.run(upload(device, source, weights, made, None, known))  # type: ignore[arg-type]
    told = {"bytes": 200, "chunkBytes": 128, "sha256": ["a" * 64, "b" * 64]}
    assert [u["hashes"] for u in device.uploads] == [None, told]

    async def fetch_range(source: Any, start: int, nbytes: int) -> dict[str, Any]:
        return {"bytes": bytes(nbytes), "total": 200, "etag": None}

    device.fetch_range = fetch_range  # type: ignore[attr-defined]
    gain = Weights({})
    gain["g"] = Weight("g", "float32", (4,), (info("g", "f16", (4,), 0, "m-00002-of-00002.gguf"),))
    with pytest.raises(
        FormatError, match=r"^m-00002-of-00002\.gguf: the 128 bytes at byte 0 must be of sha256 a{64}, got"
    ):
        asyncio.run(upload(device, source, gain, allocate(device, gain), None, known))  # type: ignore[arg-type]


def test_pieces_come_in_the_files_order_whatever_the_models_order_is() -> None:
    weights = Weights({})
    for name, start in [("late", 192), ("early", 64), ("middle", 128)]:
        weights[name] = Weight(name, "float32", (4, 4), (info(name, "f32", (4, 4), start),))
    wanted = pieces(weights, allocate(FakeDevice(), weights), [])["f.gguf"]  # type: ignore[arg-type]
    assert [(piece["start"], piece["buffer"]) for piece in wanted] == [(64, 1), (128, 2), (192, 0)]


def test_only_types_with_planes_are_split_on_their_way_and_each_piece_names_its_pass() -> None:
    _, weights, _ = tiny.loaded(tiny.FILE, tiny.header())
    device = FakeDevice()
    made = allocate(device, weights)  # type: ignore[arg-type]
    asyncio.run(upload(device, Source.parse("file:x"), weights, made))  # type: ignore[arg-type]
    [sent] = device.uploads
    assert [(t["block"], t["constants"]) for t in sent["transforms"]] == [
        (34, {"CODE_WORDS": 8, "SCALE_AT": 0}),
        (18, {"CODE_WORDS": 4, "SCALE_AT": 0}),
    ]
    assert all("fn main(" in t["module"]["code"] and t["module"]["segments"] for t in sent["transforms"])
    types = {piece["start"]: piece["transform"] for piece in sent["pieces"]}
    for part in tiny.header().tensors.values():
        assert types[part.start] == {"q8_0": 0, "q4_0": 1}.get(part.type)


def test_the_file_name_in_the_table_does_not_replace_the_source_of_a_single_file() -> None:
    weights, device, made = two_files()
    del weights["b"]
    asyncio.run(upload(device, Source.parse("file:dropped"), weights, made))  # type: ignore[arg-type]
    assert [u["source"] for u in device.uploads] == [{"file": "dropped"}]


def test_a_piece_that_webgpu_could_not_copy_is_refused() -> None:
    odd = Weight("odd", "f16", (3, 1), (info("odd", "f16", (3, 1), 0),))
    odd = dataclasses.replace(odd, parts=(dataclasses.replace(odd.parts[0], nbytes=6),))
    with pytest.raises(Unsupported, match=r"^weights: odd must be a multiple of 4 bytes long, got 6 bytes$"):
        pieces({"odd": odd}, {"odd": SimpleNamespace(handle=0, offset=0, nbytes=8)}, [])  # type: ignore[dict-item]


def test_read_arrays_keeps_blocks_as_they_are() -> None:
    part = info("w", "q4_1", (2, 32), 0)
    arrays = read_arrays({"w": Weight("w", "q4_1", (2, 32), (part,))}, lambda _: bytes(range(40)))
    assert isinstance(arrays["w"], Blocks)
    assert arrays["w"].data.tolist() == list(range(40))


def test_the_configuration_of_the_tiny_file_is_read() -> None:
    assert Config("llama", 2, 256, 512, 4, 2, 64, 320, 10000.0, CONFIG.rms_eps, 512) == CONFIG
    assert CONFIG.rms_eps == pytest.approx(1e-5)


@pytest.mark.parametrize("name", ROW_TYPES)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_stacked_tensors_in_planes_of_rows_are_copied_plane_by_plane(name: str, elsewhere: bool) -> None:
    """Plays the bridge. The scales follow the codes, or lie in another file."""
    k = 384
    blocks = block_weight(name, (5, k), seed=3)
    weights, files = {}, {"f.gguf": bytearray(b"\x5a" * 9000), "aux": bytearray(b"\x5a" * 900)}
    parts = []
    for tensor, rows, start in (("a", range(2), 0), ("b", range(2, 5), 4096)):
        data = blocks.rows(np.array(rows)).data.tobytes()
        part = TensorInfo(tensor, name, (len(rows), k), start, len(data), "f.gguf")
        codes = part.planes()[0].nbytes
        if elsewhere:
            part = dataclasses.replace(part, scales=("aux", start // 16))
            files["aux"][start // 16 : start // 16 + len(data) - codes] = data[codes:]
            data = data[:codes]
        files["f.gguf"][start : start + len(data)] = data
        parts.append(part)
    weights = {"w": Weight("w", name, (5, k), tuple(parts))}
    array = read_arrays(weights, lambda p: bytes(files[p.file][p.start : p.start + p.nbytes]))["w"]
    assert isinstance(array, Blocks)
    np.testing.assert_array_equal(array.data, blocks.data)
    device = FakeDevice()
    made = allocate(device, weights)  # type: ignore[arg-type]
    stored = np.zeros(made["w"].nbytes, np.uint8)
    sent = pieces(weights, made, PLANES)
    assert set(sent) == ({"f.gguf", "aux"} if elsewhere else {"f.gguf"})
    for file, wanted in sent.items():
        assert [p["start"] for p in wanted] == sorted(p["start"] for p in wanted)
        for piece in wanted:
            assert piece["transform"] is None
            assert piece["offset"] % 4 == piece["bytes"] % 4 == 0
            raw = files[file][piece["start"] : piece["start"] + piece["bytes"]]
            stored[piece["offset"] : piece["offset"] + piece["bytes"]] = np.frombuffer(raw, np.uint8)
    np.testing.assert_array_equal(stored, to_stored(blocks))
    asyncio.run(upload(device, Source.parse("https://h/f.gguf"), weights, made))  # type: ignore[arg-type]
    assert {u["source"]["url"] for u in device.uploads} == {f"https://h/{file}" for file in sent}
