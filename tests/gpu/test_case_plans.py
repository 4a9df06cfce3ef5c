"""Every case is planned for several devices, and each dispatch is held against its WGSL; no GPU is needed.

The cases run on a GPU in playwright_tests/ops. What is shown here is that they reach every kernel file.
"""

from __future__ import annotations

import re

import pytest

from webxpu import ops
from webxpu.cases.case import Case, gather_cases
from webxpu.data import data_folder
from webxpu.gpu.kernels import Kernel, Variant, assemble
from webxpu.gpu.op import spec as spec_of
from webxpu.gpu.plan import Dispatch
from webxpu.gpu.target import FEATURES, TARGETS, Gpu
from webxpu.gpu.variants import Planner
from webxpu.host.kernels import weight_parts
from webxpu.quant.ggml import BLOCK_TYPES, part_chunk, weight_part

CASES = gather_cases()
NAMES = [str(case) for case in CASES]
LIMITS = {
    "maxComputeWorkgroupsPerDimension": 65_535,
    "maxComputeInvocationsPerWorkgroup": 256,
    "maxComputeWorkgroupSizeX": 256,
    "maxComputeWorkgroupStorageSize": 16_384,
    "maxStorageBuffersPerShaderStage": 8,
    "maxStorageBufferBindingSize": 134_217_728,
}
PLAIN = Gpu(LIMITS)
RICH = Gpu(LIMITS, frozenset(FEATURES), (32, 32))
ACCESS = {"storage, read": "read", "storage, read_write": "read_write", "uniform": "uniform"}
PARTS = weight_parts()


def dispatches(case: Case) -> list[Dispatch]:
    """Those of every plan that some device gets, with and without features, of each target, by each variant."""
    planner = Planner(getattr(ops, case.op), [spec_of(a) for a in case.make()], case.kwargs)
    if planner.needs(PLAIN) is None:
        planner.add(PLAIN)
    planner.add_all(RICH, TARGETS)
    return [dispatch for _, plan in planner.found for dispatch in plan.dispatches]


def home(case: Case) -> str:
    """The module, and so the folder of kernels, that a case's op belongs to."""
    return getattr(ops, case.op).body.__module__.rpartition(".")[2]


@pytest.fixture(scope="module")
def planned() -> dict[str, list[Dispatch]]:
    return {str(case): dispatches(case) for case in CASES}


@pytest.mark.parametrize("name", NAMES)
def test_the_bindings_of_a_kernel_are_those_of_its_plans(planned, name):
    for dispatch in planned[name]:
        code = re.sub(r"//.*", "", assemble(dispatch.kernel).code)
        found = re.findall(r"@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>", code)
        assert {group for group, _, _ in found} == {"0"}
        numbered = {int(number): ACCESS[space] for _, number, space in found}
        assert len(numbered) == len(found), f"{dispatch.kernel.label} numbers a binding twice"
        assert numbered == dict(enumerate(b.access for b in dispatch.bindings)), dispatch.kernel.label


@pytest.mark.parametrize("name", NAMES)
def test_the_constants_of_a_kernel_are_those_of_its_plans(planned, name):
    for dispatch in planned[name]:
        code = re.sub(r"//.*", "", assemble(dispatch.kernel).code)
        found = dict(re.findall(r"^override (\w+): \w+( = [^;]*)?;", code, re.MULTILINE))
        given = {constant for constant, value in found.items() if not value}
        assert given == set(dispatch.constants), dispatch.kernel.label
        # A value may be derived from others, so that one expression is folded once; it is never a default.
        for constant, value in found.items():
            assert not value or set(re.findall(r"\w+", value)) & found.keys(), f"{constant} has a default"


@pytest.mark.parametrize("name", NAMES)
def test_every_plan_fits_webgpus_least_limits(planned, name):
    for dispatch in planned[name]:
        assert max(dispatch.grid) <= 65_535
        assert sum(b.access != "uniform" for b in dispatch.bindings) <= 8, dispatch.kernel.label
        written = [(b.source, b.index) for b in dispatch.bindings if b.access == "read_write"]
        bound = [(b.source, b.index) for b in dispatch.bindings]
        assert all(bound.count(place) == 1 for place in written), f"{dispatch.kernel.label} binds twice what it writes"


def test_every_kernel_file_is_reached_by_a_case_of_its_own_op_and_every_weight_part_by_one(planned):
    own = {
        (d.kernel.op, d.kernel.variant.name) for case in CASES for d in planned[str(case)] if home(case) == d.kernel.op
    }
    files = {(path.parent.name, path.stem) for path in data_folder("kernels").glob("[!_]*/*.wgsl")}
    assert files - own == set()
    parts = {d.kernel.weights for found in planned.values() for d in found} - {None}
    assert parts == set(PARTS)


def test_every_shared_part_is_used_by_a_kernel():
    root = data_folder("kernels")
    heads = [path.read_text("utf-8").partition("\n")[0] for path in root.rglob("*.wgsl")]
    used = {part for head in heads if head.startswith("// with:") for part in head.removeprefix("// with:").split()}
    assert {path.stem for path in (root / "_with").glob("*.wgsl")} <= used


@pytest.mark.parametrize("part", PARTS)
def test_every_weight_part_offers_the_same_functions(part):
    code = assemble(Kernel("matvec", Variant("kernel", "kernel"), part)).code
    x = "x: array<vec4<f32>, 8>"
    for signature in (
        f"fn dot_chunk(row: u32, chunk: u32, {x}) -> f32",
        "fn octet_quads(octet: u32) -> vec2<u32>",
        "fn dot8(row: u32, octet: u32, a: vec4<f32>, b: vec4<f32>) -> f32",
        f"fn dot32(row: u32, block: u32, {x}) -> f32",
        "fn unpack32(row: u32, block: u32) -> array<vec4<f32>, 8>",
    ):
        assert signature in code
    assert f"const CHUNK = {part_chunk(part)}u;" in code
    assert re.search(r"@group\(0\) @binding\(0\) var<storage, read> weights: ", code)


@pytest.mark.parametrize("name", ["float32", *BLOCK_TYPES])
@pytest.mark.parametrize("k", [32, 40, 36, 33])
def test_a_weight_is_read_by_the_part_of_its_type(name, k):
    if BLOCK_TYPES.get(name) and BLOCK_TYPES[name].elements > 1:
        k = 32
    whole = {"float32": 4, "f16": 8, "bf16": 8}.get(name, 1)
    expected = name.replace("float32", "f32") + ("" if k % whole == 0 else "_ragged")
    assert weight_part(name, (3, k)) == expected
    assert expected in PARTS
