"""Kernel file names, variant resolution and module assembly, against folders made here and the repository's own."""

import re

import pytest

from webxpu.data import data_folder
from webxpu.errors import KernelError, Unsupported
from webxpu.gpu.kernels import assemble, parse_variant, resolve, variants
from webxpu.gpu.target import Gpu, describe, detect_target

PORTABLE = Gpu(limits={})
FULL = Gpu(limits={}, features=frozenset({"f16", "subgroups", "dp4a", "sgmat"}), target="nvidia")


@pytest.fixture
def root(tmp_path):
    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".").replace("_plus_", "+")
            path = path.with_name(path.name + ".wgsl")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_a_file_name_gives_entry_target_dtype_and_features():
    variant = parse_variant("scores.nvidia.f16.dp4a+subgroups.wgsl")
    assert (variant.entry, variant.target, variant.dtype) == ("scores", "nvidia", "f16")
    assert variant.features == ("dp4a", "subgroups")
    assert variant.name == "scores.nvidia.f16.dp4a+subgroups"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kernel.glsl", "must end in .wgsl"),
        (".wgsl", "no entry name"),
        ("nvidia.wgsl", "ambiguous"),
        ("f16.wgsl", "ambiguous"),
        ("subgroups.wgsl", "ambiguous"),
        ("kernel.nvidai.wgsl", "'nvidai' is no suffix"),
        ("kernel.fp16.wgsl", "'fp16' is no suffix"),
        ("kernel.f16.nvidia.wgsl", "'nvidia' is no suffix in its place"),
        ("kernel.subgroups+dp4a.wgsl", "features must be sorted"),
        ("kernel.subgroups.subgroups.wgsl", "'subgroups' is no suffix in its place"),
    ],
)
def test_a_slip_in_a_file_name_is_refused(name, says):
    with pytest.raises(KernelError, match=re.escape(says)):
        parse_variant(name)


def test_a_variant_needs_its_portable_kernel(root):
    folder = root(softmax__kernel_dot_subgroups="")
    with pytest.raises(KernelError, match=r"kernels/softmax: kernel\.subgroups\.wgsl has no portable kernel\.wgsl"):
        variants("softmax", folder)


ALL = {
    "op__kernel": "", "op__kernel_dot_f16": "", "op__kernel_dot_nvidia": "", "op__kernel_dot_nvidia_dot_f16": "",
    "op__kernel_dot_subgroups": "", "op__kernel_dot_nvidia_dot_subgroups": "",
    "op__kernel_dot_nvidia_dot_dp4a_plus_subgroups": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("gpu", "dtype", "name", "rung"),
    [
        (PORTABLE, None, "kernel", "portable"),
        (Gpu({}, frozenset({"f16"})), "f16", "kernel.f16", "dtype"),
        (Gpu({}, frozenset({"subgroups"})), None, "kernel.subgroups", "portable"),
        (Gpu({}, target="nvidia"), None, "kernel.nvidia", "target"),
        (Gpu({}, target="soc"), None, "kernel", "portable"),
        (FULL, "f16", "kernel.nvidia.f16", "target+dtype"),
        (FULL, None, "kernel.nvidia.dp4a+subgroups", "target"),
        (Gpu({}, frozenset({"subgroups"}), target="nvidia"), None, "kernel.nvidia.subgroups", "target"),
        (Gpu({}, frozenset({"subgroups"}), target="cpu"), None, "kernel", "portable"),
        (FULL.override({"op/kernel": "kernel"}), None, "kernel", "override"),
        (FULL.override({"op/kernel.f16": "kernel.f16"}), "f16", "kernel.f16", "override"),
        (FULL.override({"op/kernel": "kernel"}), "f16", "kernel.nvidia.f16", "target+dtype"),
    ],
)
def test_the_richest_variant_of_the_first_rung_that_fits_is_taken(root, gpu, dtype, name, rung):
    kernel = resolve(gpu, "op", dtype=dtype, root=root(**ALL))
    assert (kernel.variant.name, kernel.rung) == (name, rung)


def test_the_rungs_that_were_tried_are_returned(root):
    halves = Gpu({}, frozenset({"f16"}), target="amd")
    folder = root(op__kernel="", op__kernel_dot_f16="")
    assert resolve(halves, "op", root=folder).tried == ("kernel.amd", "kernel")
    assert resolve(halves, "op", dtype="f16", root=folder).tried == ("kernel.amd.f16", "kernel.f16")


def test_tensors_of_a_dtype_never_reach_a_kernel_of_another(root):
    with pytest.raises(Unsupported, match=r"^op: f16 tensors need the WebGPU feature 'shader-f16', which this device"):
        resolve(PORTABLE, "op", dtype="f16", root=root(**ALL))
    with pytest.raises(KernelError, match=r"^kernels/op has no entry 'scores\.f16', only \['kernel', .*'kernel\.f16'"):
        resolve(FULL, "op", "scores", dtype="f16", root=root(**ALL, op__scores=""))
    with pytest.raises(KernelError, match=r"no variant 'kernel\.f16' of 'kernel'"):
        resolve(FULL.override({"op/kernel": "kernel.f16"}), "op", root=root(**ALL))


def test_an_override_that_names_no_file_raises_and_lists_what_exists(root):
    with pytest.raises(KernelError, match=r"no variant 'kernel\.amd' of 'kernel', only \['kernel'\]"):
        resolve(PORTABLE.override({"op/kernel": "kernel.amd"}), "op", root=root(op__kernel=""))


def test_the_chain_never_leaves_its_entry(root):
    with pytest.raises(KernelError, match=r"no entry 'inverse', only \['kernel'\]"):
        resolve(PORTABLE, "op", "inverse", root=root(op__kernel=""))


def test_a_module_is_its_parts_and_the_kernel_and_lines_map_back(root):
    folder = root(
        op__kernel="// with: weights helper\nenable subgroups;\n// body\nfn main() {}",
        _with__weights__q4_1="// q4_1\nfn dot32() {}\n",
        _with__helper="fn help() {}\n",
    )
    module = assemble(resolve(PORTABLE, "op", weights="q4_1", root=folder), folder)
    lines = module.code.split("\n")
    assert lines[0] == "enable subgroups;"
    assert [s[0] for s in module.segments] == ["_with/weights/q4_1.wgsl", "_with/helper.wgsl", "op/kernel.wgsl"]
    for file, first, count in module.segments:
        source = (folder / file).read_text().split("\n")
        assembled = lines[first - 1 : first - 1 + count]
        for mine, theirs in zip(assembled, source, strict=False):
            assert mine == ("" if theirs.startswith("enable ") else theirs)
    assert lines.count("enable subgroups;") == 1


def test_a_kernel_that_needs_weights_says_so_without_a_type(root):
    folder = root(op__kernel="// with: weights\nfn main() {}")
    with pytest.raises(KernelError, match=r"op/kernel\.wgsl:1 needs a weight type"):
        assemble(resolve(PORTABLE, "op", root=folder), folder)


def test_every_kernel_file_of_the_repository_parses():
    ops = [p.name for p in data_folder("kernels").iterdir() if p.is_dir() and not p.name.startswith("_")]
    assert ops
    assert all(variants(op) for op in ops)


@pytest.mark.parametrize(
    ("info", "target"),
    [
        ({"vendor": "nvidia", "architecture": "hopper"}, "nvidia"),
        ({"vendor": "NVIDIA Corporation"}, "nvidia"),
        ({"vendor": "AMD Radeon"}, "amd"),
        ({"vendor": "apple"}, "apple"),
        ({"vendor": "qualcomm"}, "soc"),
        ({"vendor": "intel"}, None),
        ({"vendor": "vivante"}, None),
        ({"vendor": ""}, None),
        ({"vendor": "armada"}, None),
        ({"vendor": "", "description": "AMD Radeon Graphics (RADV)"}, None),
        ({"vendor": "nvidia", "isFallbackAdapter": True}, "cpu"),
        ({"vendor": "google", "architecture": "swiftshader"}, "cpu"),
    ],
)
def test_the_target_is_a_whole_vendor_token_with_a_reason(info, target):
    found, why = detect_target(info)
    assert found == target
    assert why


def test_a_device_report_becomes_kernel_features_and_subgroup_sizes():
    report = {
        "info": {"vendor": "nvidia", "subgroupMinSize": 32, "subgroupMaxSize": 32},
        "limits": {"maxBufferSize": 1},
        "features": ["subgroups", "shader-f16", "timestamp-query"],
        "wgslFeatures": ["subgroup_id"],
    }
    gpu = describe(report)
    assert gpu.features == {"subgroups", "f16"}
    assert gpu.subgroup_sizes == (32, 32)
    without = describe({**report, "wgslFeatures": []})
    assert without.features == {"f16"}
    assert without.subgroup_sizes is None


def test_a_part_may_name_parts_and_each_comes_once_before_what_needs_it(root):
    folder = root(
        op__kernel="// with: one two\nfn main() {}\n",
        _with__one="// with: base\nfn one() {}\n",
        _with__two="// with: base\nfn two() {}\n",
        _with__base="fn base() {}\n",
    )
    module = assemble(resolve(PORTABLE, "op", root=folder), folder)
    assert [s[0] for s in module.segments] == ["_with/base.wgsl", "_with/one.wgsl", "_with/two.wgsl", "op/kernel.wgsl"]
