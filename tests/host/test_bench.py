"""What `webxpu bench` measures, before a browser is started."""

import argparse

import pytest

from webxpu.bench.speeds import SPEEDS
from webxpu.host.bench import bench
from webxpu.host.exits import UsageError


@pytest.fixture
def no_browser(monkeypatch):
    """Fails where a GPU is asked for."""

    def opened(adapter):
        raise AssertionError("a browser was started")

    monkeypatch.setattr("webxpu.host.bench.open_gpu_page", opened)


@pytest.mark.parametrize("name", ["softmux", "argmax"])
def test_an_op_of_which_nothing_is_measured_is_named_before_a_browser_starts(no_browser, name):
    assert name not in {s.op.name for s in SPEEDS}
    with pytest.raises(UsageError, match=rf"^nothing is measured of {name}; there are activation, "):
        bench(argparse.Namespace(op=["softmax", name], json=None, adapter=None))


def test_the_folder_of_a_report_is_made_before_anything_is_measured(no_browser, tmp_path):
    target = tmp_path / "reports" / "speeds.json"
    with pytest.raises(AssertionError, match="a browser was started"):
        bench(argparse.Namespace(op=["softmax"], json=target, adapter=None))
    assert target.parent.is_dir()
