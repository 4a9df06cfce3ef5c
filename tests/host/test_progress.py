"""Progress on a terminal and elsewhere."""

import io

from rich.console import Console

from webxpu.host.progress import download_bars


def test_elsewhere_than_on_a_terminal_each_file_is_one_line():
    console = Console(file=io.StringIO(), force_terminal=False)
    with download_bars(console=console) as report:
        for label in ("a.bin", "b.bin"):
            for done in (1, 2, 3):
                report(label, done, 3)
    assert console.file.getvalue() == "fetching a.bin\nfetching b.bin\n"


def test_on_a_terminal_there_is_a_bar_with_bytes_and_it_vanishes():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with download_bars("loading", console=console) as report:
        report("model.gguf", 49_000_000, 98_000_000)
        report("unknown", 1000, None)
    text = console.file.getvalue()
    assert "loading model.gguf" in text
    assert "49.0/98.0 MB" in text
    assert text.endswith("\x1b[2K")
