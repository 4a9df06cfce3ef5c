"""Uploads: bytes of a source in GPU buffers, however they are cut on their way."""

from __future__ import annotations

import hashlib
import re

import pytest

from playwright_tests.bridge.faulty import FILE, LARGE, faulty_server


@pytest.fixture(scope="module")
def faulty():
    with faulty_server() as server:
        yield server


UPLOAD = """
    const buffers = arg.sizes.map((size, i) => bridge.createBuffer(device, size, `weight ${i}`));
    for (const buffer of buffers) bridge.submit(device, [["write", buffer, 0, new Uint8Array(arg.sizes[0]).fill(0xee)
        .subarray(0, arg.sizes[buffers.indexOf(buffer)])]]);
    const progress = [];
    const pieces = arg.pieces.map((p) => ({transform: null, offset: 0, ...p, buffer: buffers[p.buffer ?? 0]}));
    const transforms = arg.transforms ?? [];
    const error = await caught(() => bridge.upload(device, {source: arg.source, chunkBytes: arg.chunkBytes, pieces,
        transforms, hashes: arg.hashes, onProgress: (loaded, total) => progress.push([loaded, total])}));
    const out = [];
    if (!error) for (const [i, b] of buffers.entries()) out.push([...await bridge.read(b, 0, arg.sizes[i])]);
    return {error, out, progress, stats: bridge.stats(device)};
"""
# Three tensors with gaps between them, the last ending the file at an odd length.
PIECES = [
    {"start": 96, "bytes": 1600},
    {"start": 1712, "bytes": 400, "offset": 1600},
    {"start": 3000, "bytes": 1001, "buffer": 1},
]


@pytest.mark.parametrize("chunk", [4, 52, 1000, 4096, 1 << 20])
@pytest.mark.parametrize("cut", [7, 64, 1601])
def test_bytes_arrive_whole_however_they_are_cut(lab, faulty, cut, chunk):
    url = {"url": f"{faulty[0]}/dribble/{cut}"}
    got = lab(UPLOAD, {"sizes": [2004, 1001], "source": url, "chunkBytes": chunk, "pieces": PIECES})
    assert got["error"] is None
    assert bytes(got["out"][0]) == FILE[96:1696] + FILE[1712:2112] + b"\xee" * 4
    assert bytes(got["out"][1]) == FILE[3000:4001]
    assert got["progress"][-1] == [3001, 3001]
    assert got["progress"] == sorted(got["progress"])


def hashes(chunk: int, data: bytes = FILE) -> dict:
    parts = [data[at : at + chunk] for at in range(0, len(data), chunk)]
    return {"bytes": len(data), "chunkBytes": chunk, "sha256": [hashlib.sha256(part).hexdigest() for part in parts]}


@pytest.mark.parametrize("chunk", [64, 1000, 1 << 20])
def test_only_bytes_that_agree_with_their_hashes_arrive(lab, faulty, chunk):
    url = {"url": f"{faulty[0]}/dribble/64"}
    arg = {"sizes": [2004, 1001], "source": url, "chunkBytes": 52, "pieces": PIECES}
    got = lab(UPLOAD, {**arg, "hashes": hashes(chunk)})
    assert got["error"] is None
    assert bytes(got["out"][0]) == FILE[96:1696] + FILE[1712:2112] + b"\xee" * 4
    assert bytes(got["out"][1]) == FILE[3000:4001]
    at = 2000 - 2000 % chunk
    wrong = hashes(chunk, FILE[:2000] + bytes([FILE[2000] ^ 1]) + FILE[2001:])
    name, message = lab(UPLOAD, {**arg, "hashes": wrong})["error"]
    assert name == "FormatError"
    assert re.search(rf": the \d+ bytes at byte {at} must be of sha256 \w{{64}}, got \w{{64}}$", message)


def test_one_request_a_run_and_large_gaps_are_not_read(lab, faulty):
    server, handler = faulty
    handler.ranges.clear()
    pieces = [
        {"start": 1000, "bytes": 64},
        {"start": 500_000, "bytes": 64, "offset": 64},
        {"start": 2_000_000, "bytes": 64, "offset": 128},
    ]
    source = {"url": f"{server}/large/"}
    got = lab(UPLOAD, {"sizes": [192], "source": source, "chunkBytes": 4096, "pieces": pieces})
    assert bytes(got["out"][0]) == b"".join(LARGE[p["start"] : p["start"] + 64] for p in pieces)
    assert handler.ranges == ["large bytes=1000-500063", "large bytes=2000000-2000063"]


@pytest.mark.parametrize("kind", ["file", "opfs", "norange"])
def test_every_kind_of_source_is_uploaded(lab, faulty, kind):
    prepare = {
        "file": "bridge.registerFile('f', new Blob([await (await fetch(arg.url)).arrayBuffer()]));",
        "opfs": """const root = await navigator.storage.getDirectory();
            const writable = await (await root.getFileHandle("f", {create: true})).createWritable();
            await writable.write(await (await fetch(arg.url)).arrayBuffer()); await writable.close();""",
        "norange": "",
    }[kind]
    url = f"{faulty[0]}/norange/"
    source = {"url": url} if kind == "norange" else {kind: "f"}
    got = lab(
        prepare + UPLOAD, {"sizes": [2004, 1001], "source": source, "chunkBytes": 1000, "pieces": PIECES, "url": url}
    )
    assert got["error"] is None
    assert bytes(got["out"][0][:2000]) == FILE[96:1696] + FILE[1712:2112]
    assert bytes(got["out"][1]) == FILE[3000:4001]


# A block of 6 bytes: a code of 4 and a scale of 2, which go to two planes, the scale as a whole word.
SPLIT = """struct Range { first_block: u32, block_count: u32, total_blocks: u32, first_target_block: u32 }
@group(0) @binding(0) var<storage, read> raw: array<u32>;
@group(0) @binding(1) var<storage, read_write> planes: array<u32>;
@group(0) @binding(2) var<uniform> range: Range;
fn byte(at: u32) -> u32 { return (raw[at / 4u] >> (8u * (at % 4u))) & 255u; }
@compute @workgroup_size(32) fn main(
  @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) num: vec3<u32>,
  @builtin(local_invocation_index) lane: u32) {
  let block = (group.x + group.y * num.x) * 32u + lane;
  if (block >= range.block_count) { return; }
  let at = block * 6u;
  let to = range.first_target_block + range.first_block + block;
  planes[to] = byte(at) | (byte(at + 1u) << 8u) | (byte(at + 2u) << 16u) | (byte(at + 3u) << 24u);
  planes[range.total_blocks + to] = byte(at + 4u) | (byte(at + 5u) << 8u);
}
"""


def split(data: bytes) -> bytes:
    blocks = [data[i : i + 6] for i in range(0, len(data), 6)]
    return b"".join(b[:4] for b in blocks) + b"".join(b[4:] + b"\0\0" for b in blocks)


def transform(block: int = 6) -> dict:
    return {"module": {"label": "split/kernel", "code": SPLIT, "segments": []}, "constants": {}, "block": block}


@pytest.mark.parametrize("chunk", [4, 100, 1003, 1 << 20])
@pytest.mark.parametrize("cut", [7, 997])
def test_blocks_go_through_their_kernel_however_they_are_cut(lab, faulty, cut, chunk):
    first, second, plain, other = FILE[600:1200], FILE[1200:3000], FILE[3002:3018], FILE[3018:3378]
    target = {"offset": 256, "transform": 0, "totalBlocks": 400, "targetBytes": 3200}
    pieces = [
        {"start": 600, "bytes": 600, "targetBlock": 0, **target},
        {"start": 1200, "bytes": 1800, "targetBlock": 100, **target},
        {"start": 3002, "bytes": 16, "offset": 64},
        {"start": 3018, "bytes": 360, "buffer": 1, "transform": 0, "totalBlocks": 60, "targetBytes": 480},
    ]
    source = {"url": f"{faulty[0]}/dribble/{cut}"}
    got = lab(
        UPLOAD,
        {"sizes": [4000, 480], "source": source, "chunkBytes": chunk, "pieces": pieces, "transforms": [transform()]},
    )
    assert got["error"] is None
    out = bytes(got["out"][0])
    assert out[64:80] == plain
    assert out[256:3456] == split(first + second)
    assert bytes(got["out"][1]) == split(other)
    assert set(out[:64] + out[80:256] + out[3456:]) == {0xEE}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"start": 90, "bytes": 8}, r"upload: piece 3 must start at byte 4001 or later, got 8 bytes at 90$"),
        (
            {"start": 5000, "bytes": 2008},
            r"upload: piece 3: bytes 0 to 2008 are outside of buffer weight 0 of 2004 bytes$",
        ),
        ({"start": 5000, "bytes": 8, "offset": 2000}, r"upload: piece 3: bytes 2000 to 2008 are outside"),
        (
            {"start": 5000, "bytes": 8, "transform": 0},
            r"upload: piece 3 must be whole blocks of undefined bytes, got 8",
        ),
        (
            {"start": 19_996, "bytes": 8},
            r"http.*/dribble/999: it ends at byte 20000, but bytes up to 20004 are needed$",
        ),
    ],
)
def test_pieces_that_cannot_be_right_are_refused(lab, faulty, change, rule):
    source = {"url": f"{faulty[0]}/dribble/999"}
    got = lab(UPLOAD, {"sizes": [2004, 1001], "source": source, "chunkBytes": 512, "pieces": [*PIECES, change]})
    assert re.match(rule, got["error"][1])
    assert got["error"][0] == ("FetchError" if change["start"] == 19_996 else "DeviceError")


def test_a_connection_that_breaks_for_good_ends_the_upload_with_its_place(lab, faulty):
    url = f"{faulty[0]}/broken/1234"
    got = lab(UPLOAD, {"sizes": [2004, 1001], "source": {"url": url}, "chunkBytes": 512, "pieces": PIECES})
    name, message = got["error"]
    assert name == "FetchError"
    assert re.fullmatch(rf"{url}: at byte 1234: the connection broke \(.+\), and 2 new attempts failed", message)
    assert got["progress"][-1] == [1024, 3001]


def test_a_callback_that_throws_ends_the_upload(lab, faulty):
    got = lab(
        """
        const buffer = bridge.createBuffer(device, 4000, "w");
        return caught(() => bridge.upload(device, {source: arg, chunkBytes: 400,
            pieces: [{start: 0, bytes: 4000, buffer, offset: 0, transform: null}],
            onProgress: () => { throw new RangeError("enough"); }}));
    """,
        {"url": f"{faulty[0]}/dribble/500"},
    )
    assert got == ["RangeError", "enough"]


def test_a_buffer_without_room_is_known_before_anything_is_fetched(lab, faulty):
    server, handler = faulty
    handler.ranges.clear()
    got = lab(
        """
        const pop = GPUDevice.prototype.popErrorScope;
        const refuse = async function () { await pop.call(this); return new GPUOutOfMemoryError("no room"); };
        GPUDevice.prototype.popErrorScope = refuse;
        const buffer = bridge.createBuffer(device, 4000, "w");
        GPUDevice.prototype.popErrorScope = pop;
        return caught(() => bridge.upload(device, {source: arg, pieces: [{start: 0, bytes: 400, buffer, offset: 0,
            transform: null}]}));
    """,
        {"url": f"{server}/dribble/500"},
    )
    assert got[0] == "OutOfMemory"
    assert handler.ranges == []
