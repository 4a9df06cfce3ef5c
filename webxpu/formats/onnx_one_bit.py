"""ONNX graphs of 1-bit models ("q1"): what is needed of the graph, and where its initialisers lie.

A weight's signs are an initialiser that a table expands inside the graph; MatMulNBits and GatherBlockQuantized name the
scales and the zero points, and the weight goes by the scales' name.
https://github.com/onnx/onnx/blob/v1.19.0/onnx/onnx.proto
https://github.com/microsoft/onnxruntime/blob/v1.22.0/docs/ContribOperators.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from webxpu.errors import FormatError, Unsupported
from webxpu.formats.file_names import is_neighbour
from webxpu.formats.one_bit_layout import BLOCK, CODES, OneBitModel, Run, check_length
from webxpu.formats.protobuf import BYTES, Message
from webxpu.formats.tensor_info import TensorInfo

MAX_GRAPH_BYTES = 128 * 1024 * 1024
EMBEDDING = "model_embed_tokens_weight"
_TYPES = {1: ("f32", 4), 2: ("u8", 1), 10: ("f16", 2)}  # TensorProto.DataType: FLOAT, UINT8, FLOAT16
_LINEAR = re.compile(r"model_layers_(\d+)_(attn|mlp)_(\w+?)_MatMul_weight_quant")
_NORMS = {"SimplifiedLayerNormalization": 1, "SkipSimplifiedLayerNormalization": 2}  # which input is the gain
_HEAD_NODE = "/lm_head/MatMul_Quant"


@dataclass
class Initializer:
    """A constant of the graph: its type by ONNX's number, its shape, and where its bytes lie."""

    name: str = ""
    dtype: int = 0
    shape: tuple[int, ...] = ()
    run: Run | None = None


@dataclass
class Node:
    """A node of the graph, with those of its attributes that are whole numbers."""

    name: str = ""
    kind: str = ""
    inputs: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)


def looks_like_onnx(head: bytes) -> bool:
    """Whether a file begins as ONNX's writers begin one: with ir_version, a small number."""
    return len(head) > 2 and head[0] == 0x08 and 3 <= head[1] <= 32


def read_onnx(data: bytes, name: str) -> OneBitModel:
    """The table of a model whose graph is `data`. Raises FormatError, Unsupported for a graph of another recipe."""
    initializers, nodes = read_graph(data, name)
    return _Recipe(name, initializers, nodes).model()


def read_graph(data: bytes, name: str) -> tuple[dict[str, Initializer], list[Node]]:
    """Initialisers by name, and nodes."""
    initializers: dict[str, Initializer] = {}
    nodes: list[Node] = []
    model = Message(data, name)
    for outer in model:
        if outer.number != 7:  # ModelProto.graph
            continue
        graph = model.inner(outer)
        for part in graph:
            if part.number == 1:
                nodes.append(_node(graph.inner(part)))
            elif part.number == 5:
                made = _initializer(graph.inner(part), name)
                if made.name in initializers:
                    raise graph.error(part.start, "an initialiser", "new", f"{made.name[:80]!r} a second time")
                initializers[made.name] = made
    if not nodes:
        raise FormatError(f"{name}: an ONNX model must have a graph with nodes, got none in {len(data)} bytes")
    return initializers, nodes


def _node(message: Message) -> Node:
    made = Node()
    for part in message:
        if part.number == 1:
            made.inputs.append(message.text(part))
        elif part.number == 3:
            made.name = message.text(part)
        elif part.number == 4:
            made.kind = message.text(part)
        elif part.number == 5:
            attribute, key, number = message.inner(part), "", None
            for item in attribute:
                if item.number == 1:
                    key = attribute.text(item)
                elif item.number == 3:
                    number = next(iter(attribute.integers(item)), None)
            if number is not None:
                made.numbers[key] = number
    return made


def _initializer(message: Message, file: str) -> Initializer:
    made, dims, external, inline = Initializer(), [], {}, None
    outside = False
    for part in message:
        if part.number == 1:
            dims += message.integers(part)
        elif part.number == 2:
            made.dtype = (message.integers(part) or [0])[0]
        elif part.number == 8:
            made.name = message.text(part)
        elif part.number in (4, 9) and part.wire == BYTES:  # packed float_data is raw_data
            inline = (part.start, part.stop - part.start)
        elif part.number == 13:
            pair = message.inner(part)
            texts = {item.number: pair.text(item) for item in pair}
            external[texts.get(1, "")] = texts.get(2, "")
        elif part.number == 14:
            outside = message.integers(part)[:1] == [1]
    if not all(0 <= n < 1 << 40 for n in dims):
        raise message.error(message.start, f"the shape of {made.name[:80]!r}", "of sizes from 0 on", dims)
    made.shape = tuple(dims)
    what = f"{file}: initialiser {made.name[:80]!r}"
    if outside:
        made.run = _external(what, external, math.prod(dims) * _TYPES.get(made.dtype, ("", 0))[1])
    elif inline is not None:
        made.run = Run(what, file, *inline)
    return made


def _external(what: str, values: Mapping[str, str], nbytes: int) -> Run:
    """Where external data lie."""
    location = values.get("location", "").removeprefix("./")
    if not is_neighbour(location):
        raise FormatError(f"{what}: location must be the name of a file of this folder, got {location[:80]!r}")
    numbers = [values.get("offset", "0"), values.get("length", str(nbytes))]
    if not all(n.isascii() and n.isdecimal() and len(n) < 16 for n in numbers):
        raise FormatError(f"{what}: offset and length must be whole numbers, got {numbers!r}")
    return Run(what, location, int(numbers[0]), int(numbers[1]))


class _Recipe:
    """What the names and nodes of such a graph mean."""

    def __init__(self, name: str, initializers: Mapping[str, Initializer], nodes: Sequence[Node]) -> None:
        self.name, self.initializers, self.nodes = name, initializers, nodes
        self.made = OneBitModel()

    def model(self) -> OneBitModel:
        files = {i.run.file for i in self.initializers.values() if i.run and i.run.file != self.name}
        if len(files) > 1:
            raise Unsupported(f"{self.name}: external data must be in one file, got {', '.join(sorted(files))[:200]}")
        for lut in CODES:
            if f"unpack_lut_src1_{lut}" in self.initializers:
                self.made.luts[lut] = self._run(f"unpack_lut_src1_{lut}", "u8")
        for node in self.nodes:
            if node.kind == "MatMulNBits":
                self._linear(node)
            elif node.kind == "GatherBlockQuantized":
                self._embedding(node)
            elif node.kind in _NORMS and len(node.inputs) > _NORMS[node.kind]:
                self._norm(node.inputs[_NORMS[node.kind]])
        if "embed_tokens" not in self.made.tensors or "lm_head" not in self.made.tensors:
            raise Unsupported(f"{self.name}: the graph must have a 1-bit embedding and head as MatMulNBits reads them")
        for key in ("cos", "sin"):
            cache = self.initializers.get(f"{key}_cache")
            if cache is not None:
                if len(cache.shape) != 2:
                    raise FormatError(f"{self.name}: {key}_cache must have two sizes, got {list(cache.shape)}")
                setattr(self.made, key, (self._run(f"{key}_cache", "f32"), cache.shape))
        self.made.finish()
        return self.made

    def _linear(self, node: Node) -> None:
        if len(node.inputs) < 3 or not node.inputs[2].endswith("_weight_scales"):
            raise self._foreign(node, f"scales called ..._weight_scales, got inputs {node.inputs}")
        scales = node.inputs[2]
        signs = scales.removesuffix("_weight_scales") + "_weight_quant"
        self._attribute(node, "bits", 2)
        self._attribute(node, "block_size", BLOCK)
        n, k = node.numbers.get("N", 0), node.numbers.get("K", 0)
        if not (0 < n < 1 << 32 and 0 < k < 1 << 32):
            raise FormatError(f"{self.name}: node {node.name[:80]!r} must have N and K above 0, got {n} and {k}")
        match = _LINEAR.fullmatch(signs)
        if node.name == _HEAD_NODE:
            tensor = "lm_head"
        elif match:
            tensor = f"layers.{match[1]}.{match[2]}.{match[3]}"
        else:
            raise self._foreign(
                node, f"a weight called model_layers_<i>_<attn or mlp>_<name>_MatMul, got {signs[:80]!r}"
            )
        self._signs(tensor, n, k, signs, scales, "tgt2", node.inputs[3] if len(node.inputs) > 3 else "")

    def _embedding(self, node: Node) -> None:
        self._attribute(node, "bits", 4)
        self._attribute(node, "block_size", BLOCK)
        shape = self._initializer(f"{EMBEDDING}_quant").shape
        if len(shape) < 2:
            raise FormatError(f"{self.name}: {EMBEDDING}_quant must have rows of bytes, got the shape {list(shape)}")
        n, k = shape[0], 8 * math.prod(shape[1:])
        zeros = f"{EMBEDDING}_zp_4b"
        found = zeros if zeros in self.initializers else ""
        self._signs("embed_tokens", n, k, f"{EMBEDDING}_quant", f"{EMBEDDING}_scales", "tgt4", found)

    def _signs(self, tensor: str, n: int, k: int, signs: str, scales: str, lut: str, zeros: str) -> None:
        if lut not in self.made.luts:
            raise Unsupported(f"{self.name}: the graph must have the table unpack_lut_src1_{lut}, got none")
        if tensor in self.made.tensors:
            raise FormatError(f"{self.name}: {tensor} must be one node's weight, got a second")
        self.made.add_signs(tensor, n, k, self._run(signs, "u8"), self._run(scales, "f32"))
        if zeros:
            self.made.add_zeros(self._run(zeros, "u8"), n, k, lut)

    def _norm(self, gain: str) -> None:
        found = self._initializer(gain)
        kind = _TYPES.get(found.dtype, ("", 0))[0]
        run = self._run(gain, "f32", "f16")
        tensor = gain.removeprefix("model.").removesuffix(".weight").removesuffix(".layernorm")
        self.made.tensors[tensor] = TensorInfo(tensor, kind, found.shape, run.start, run.nbytes, run.file)

    def _initializer(self, name: str) -> Initializer:
        found = self.initializers.get(name)
        if found is None or found.run is None:
            raise FormatError(f"{self.name}: the graph must have the initialiser {name[:80]!r} with its data")
        return found

    def _run(self, name: str, *kinds: str) -> Run:
        found = self._initializer(name)
        kind, size = _TYPES.get(found.dtype, (f"type {found.dtype}", 0))
        assert found.run is not None
        if kind not in kinds:
            raise FormatError(f"{found.run.what} must be {' or '.join(kinds)}, got {kind}")
        check_length(found.run, math.prod(found.shape) * size)
        return found.run

    def _attribute(self, node: Node, key: str, wanted: int) -> None:
        if node.numbers.get(key, wanted) != wanted:
            raise self._foreign(node, f"{key} {wanted}, got {node.numbers[key]}")

    def _foreign(self, node: Node, rule: str) -> Unsupported:
        return Unsupported(f"{self.name}: node {node.name[:80]!r} of {node.kind} must have {rule}")
