"""A bridge without a GPU, for `load`: it serves files from disk, keeps books of what lives, and fails where told to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from webxpu.errors import FetchError

# The least that WebGPU promises.
LIMITS = {
    "maxComputeWorkgroupsPerDimension": 65535,
    "maxStorageBuffersPerShaderStage": 8,
    "maxStorageBufferBindingSize": 2**27,
    "maxComputeWorkgroupStorageSize": 16384,
    "maxComputeInvocationsPerWorkgroup": 256,
}


class FakeBridge:
    """buffers, programs: what is alive, by handle; calls: names of the calls in order"""

    def __init__(
        self, folder: Path, info: Mapping[str, Any] | None = None, fail: dict[str, Exception] | None = None
    ) -> None:
        self.folder = folder
        self.info = {"vendor": "nvidia", "subgroupMinSize": 32, "subgroupMaxSize": 32, **(info or {})}
        self.fail = fail or {}
        self.buffers: dict[int, int] = {}
        self.programs: dict[int, Mapping[str, Any]] = {}
        self.uploads: list[Mapping[str, Any]] = []
        self.calls: list[str] = []
        self.loads: dict[int, Mapping[str, Any]] = {}
        self.warnings: list[str] = []
        self.closed = 0
        self._next = 0

    def _called(self, name: str) -> int:
        self.calls.append(name)
        if name in self.fail:
            raise self.fail[name]
        self._next += 1
        return self._next

    async def open_device(self, _options: Mapping[str, Any]) -> dict[str, Any]:
        features = ["subgroups", "subgroup_id"]
        return {"device": self._called("open"), "info": self.info, "limits": LIMITS, "features": features}

    def close_device(self, _device: int) -> None:
        self.closed += 1

    def stats(self, _device: int) -> dict[str, Any]:
        return {"buffers": len(self.buffers), "programs": len(self.programs)}

    def create_buffer(self, _device: int, nbytes: int, _label: str) -> int:
        handle = self._called("create")
        self.buffers[handle] = nbytes
        return handle

    def free_buffer(self, buffer: int) -> None:
        del self.buffers[buffer]

    def submit(self, _device: int, steps: Sequence[Sequence[Any]]) -> None:
        self._called("submit")
        for kind, handle, *rest in steps:
            if kind == "write":
                assert rest[0] + np.asarray(rest[1]).nbytes <= self.buffers[handle]
            else:
                assert handle in self.programs

    async def compile(self, _device: int, program: Mapping[str, Any]) -> int:
        handle = self._called("compile")
        assert all(buffer in self.buffers for group in program["groups"] for buffer, _, _ in group["buffers"])
        self.programs[handle] = program
        await asyncio.sleep(0)  # what runs beside it may fail meanwhile
        return handle

    def free_program(self, program: int) -> None:
        del self.programs[program]

    def begin_load(self, options: Mapping[str, Any]) -> int:
        self._next += 1
        self.loads[self._next] = options
        return self._next

    def end_load(self, load: int) -> dict[str, Any]:
        del self.loads[load]
        return {"cachedBytes": 10, "fetchedBytes": 20, "warnings": self.warnings}

    async def fetch_range(self, source: Mapping[str, str], start: int, nbytes: int) -> dict[str, Any]:
        self._called("fetch")
        try:
            data = (self.folder / source["url"]).read_bytes()
        except (FileNotFoundError, IsADirectoryError) as e:
            error = FetchError(f"{source['url']}: at byte {start}: the server answered with HTTP status 404")
            error.missing = True
            raise error from e
        return {"bytes": data[start : start + nbytes], "total": len(data), "etag": None}

    async def upload(self, _device: int, options: Mapping[str, Any]) -> None:
        self._called("upload")
        self.uploads.append(options)
        total = sum(piece["bytes"] for piece in options["pieces"])
        for piece in options["pieces"]:
            assert piece["offset"] + piece["bytes"] <= self.buffers[piece["buffer"]] + 64
        options["onProgress"](total, total)
