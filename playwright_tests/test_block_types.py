"""A model whose weights are in every block type that the other models here lack, from a file through Pyodide to ids."""

from pathlib import Path

from playwright_tests.python_page import PythonPage
from tests.llm import tiny
from tests.llm.numpy_device import numpy_engine
from tests.llm.retyped import TYPES, write_retyped
from webxpu.cases.case import FEW_CASES
from webxpu.host.serve import Server
from webxpu.llm.generate import Generation
from webxpu.llm.sampler import Sampling
from webxpu.quant.ggml import Blocks, dequantize

PROMPT = tiny.golden()["prompt"].tolist()[:20]
TOKENS = 8


def test_a_model_in_every_other_block_type_gives_numpys_ids(
    python: PythonPage, site_server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "retyped.gguf"
    write_retyped(file)
    config, weights, arrays = tiny.loaded(file, tiny.read_header(file))
    assert set(TYPES.values()) == set(FEW_CASES) == {w.type for w in weights.values()} - {"float32"}
    dense = {name: dequantize(a) if isinstance(a, Blocks) else a for name, a in arrays.items()}

    async def on_numpy() -> list[int]:
        generation = Generation(numpy_engine(config, dense, 256), PROMPT, sampling=Sampling(), max_tokens=TOKENS)
        async for _ in generation:
            pass
        return generation.ids

    ids = python.run(
        """
model = await webxpu.load(given["url"], context_tokens=256)
generation = model.generate(given["prompt"], max_tokens=given["tokens"], stop_ids=[])
async for _ in generation:
    pass
model.dispose()
return generation.ids
""",
        url=site_server.share(file),
        prompt=PROMPT,
        tokens=TOKENS,
    )
    expected = tiny.finished(on_numpy())
    assert len(set(expected)) > 2
    assert ids == expected
