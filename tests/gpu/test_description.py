"""What a device says of itself: target and why, features, and the kernel of each entry."""

import pytest

from tests.ops.conftest import LIMITS
from webxpu.gpu.description import adapter_name, aligned, description, kernel_table
from webxpu.gpu.device import Device
from webxpu.gpu.kernels import Kernel, resolve, variants
from webxpu.gpu.target import Gpu
from webxpu.gpu.variants import kernel_folders

INFO = {"vendor": "nvidia", "architecture": "hopper", "description": ""}
WIDE = Gpu(LIMITS, frozenset({"f16", "subgroups"}), (32, 32), "nvidia", "the vendor 'nvidia' contains 'nvidia'", INFO)


def test_a_device_tells_its_target_and_why_and_what_it_has_and_lacks():
    text = Device(None, 0, WIDE).describe()
    head, table = text.split("\n\n")
    assert head.splitlines() == [
        "adapter   nvidia hopper",
        "target    nvidia: the vendor 'nvidia' contains 'nvidia'",
        "features  f16, subgroups of 32 lanes",
        "lacks     dp4a (needs packed_4x8_integer_dot_product), sgmat (needs chromium-experimental-subgroup-matrix)",
    ]
    assert table == kernel_table(WIDE)


def test_an_unknown_device_says_unknown_and_none():
    text = description(Gpu(LIMITS))
    assert "target    unknown: no adapter was described" in text
    assert "features  none" in text
    assert "adapter   an adapter without a name" in text


@pytest.mark.parametrize("gpu", [Gpu(LIMITS), WIDE], ids=["plain", "wide"])
def test_every_entry_has_a_line_with_what_resolve_chooses(gpu):
    lines = kernel_table(gpu).splitlines()
    assert lines[0].split() == ["entry", "kernel", "rung", "tried"]
    entries = {(op, v.entry, v.dtype) for op in kernel_folders() for v in variants(op)}
    able = {e for e in entries if (e[2] is None or e[2] in gpu.features) and (e[1] != "staged" or gpu.features)}
    assert len(lines) == 1 + len(able)
    for op, entry, dtype in able:
        kernel: Kernel = resolve(gpu, op, entry, dtype=dtype)
        name = f"{op}/{entry}.{dtype}" if dtype else f"{op}/{entry}"
        assert [name, kernel.variant.name, kernel.rung, *kernel.tried] in [line.split() for line in lines]


def test_an_adapter_is_called_by_its_description_or_its_vendor_and_architecture():
    info = {"vendor": "nvidia", "architecture": "hopper", "description": ""}
    assert adapter_name({**info, "description": "NVIDIA H200"}) == "NVIDIA H200"
    assert adapter_name(info) == "nvidia hopper"
    assert adapter_name({**info, "architecture": None}) == "nvidia"
    assert adapter_name({}) == "an adapter without a name"


def test_columns_stand_under_each_other():
    assert aligned([("a", "b"), ("long", "c")]) == "a     b\nlong  c"
