"""The GPU process dies: every call says so, and a new device works on the same page."""

from __future__ import annotations

import re


def test_a_lost_device_is_named_by_every_later_call_and_a_new_one_works(crashing, prelude):
    page, crash = crashing
    page.evaluate(f"""async () => {{ {prelude}
        const lost = globalThis.lost = [];
        const bridge = await make({{onLost: (handle, why) => lost.push([handle, why])}});
        const {{device}} = await bridge.openDevice({{}});
        const {{rows, ...toy}} = await counter(bridge, device, {{work: 500_000_000}});
        const loop = bridge.openLoop(device, {{...toy, maxTokens: 200, stops: []}});
        const flying = caught(async () => {{ while (!(await bridge.nextIds(loop)).done); }});
        bridge.submit(device, [["run", toy.program]]); // so that the read is still out when the crash comes
        const reading = caught(() => bridge.read(toy.ring, 0, 64));
        globalThis.after = async () => {{
            const kept = bridge.createBuffer;
            return {{
                flying: await flying, reading: await reading, lost, device,
                create: await caught(() => kept(device, 4, "late")),
                compile: await caught(() => bridge.compile(device, scale(toy.ring, toy.state))),
                submit: await caught(() => bridge.submit(device, [["run", toy.program]])),
                sync: await caught(() => bridge.sync(device)),
                loop: await caught(() => bridge.openLoop(device, {{...toy, maxTokens: 2, stops: []}})),
                close: await caught(async () => {{ await bridge.closeLoop(loop); bridge.closeDevice(device); }}),
            }};
        }};
        globalThis.again = async () => {{
            const {{device}} = await bridge.openDevice({{}});
            const {{rows, ...toy}} = await counter(bridge, device);
            return drain(bridge, bridge.openLoop(device, {{...toy, maxTokens: 9, stops: []}}));
        }};
    }}""")
    crash()
    got = page.evaluate("() => globalThis.after()")
    for call in ("flying", "reading", "create", "compile", "submit", "sync", "loop"):
        name, message = got[call]
        assert name == "DeviceLost", call
        assert re.match(r"the GPU device was lost: .*\. Open a new one\.", message)
    assert got["close"] is None
    assert [handle for handle, _ in got["lost"]] == [got["device"]]
    assert page.evaluate("() => globalThis.again()")["ids"] == [100 + 3 * p for p in range(5, 14)]
