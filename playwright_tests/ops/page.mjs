// @ts-check
/** Runs op cases through the bridge: arrays come and go as blobs over HTTP, programs as JSON. */
import { boot } from "/webxpu.mjs";

/**
 * @typedef {object} Run
 * @property {any} program with indices into `buffers` in place of handles
 * @property {{bytes: number, start: number | null}[]} buffers start: where the blob has the bytes; null: the sentinel
 * @property {number[]} read the buffers whose bytes are wanted
 */

const ready = boot((name) => import(`/${name}`));

/** @param {any} options */
export async function open(options) {
  return (await ready).openDevice(options);
}

/** @param {number} device */
export async function close(device) {
  (await ready).closeDevice(device);
}

/**
 * Runs each program on buffers of its own and puts all wanted bytes, one after the other, under `answer`.
 * @param {{device: number, question: string, answer: string, sentinel: number, runs: Run[]}} job
 */
export async function runAll({ device, question, answer, sentinel, runs }) {
  const bridge = await ready;
  const blob = new Uint8Array(await (await fetch(question)).arrayBuffer());
  /** @type {BlobPart[]} */
  const wanted = [];
  for (const { program, buffers, read } of runs) {
    const handles = buffers.map(({ bytes }, i) => bridge.createBuffer(device, bytes, `buffer ${i}`));
    try {
      const steps = buffers.map(({ bytes, start }, i) => {
        const data = start === null ? new Uint8Array(new Uint32Array(bytes / 4).fill(sentinel).buffer) : blob.subarray(start, start + bytes);
        return ["write", handles[i], 0, data];
      });
      const groups = program.groups.map((/** @type {any} */ group) => ({
        ...group,
        buffers: group.buffers.map((/** @type {number[]} */ [i, offset, bytes]) => [handles[i], offset, bytes]),
      }));
      const compiled = await bridge.compile(device, { ...program, groups });
      try {
        bridge.submit(device, [...steps, ["run", compiled]]);
        for (const i of read) wanted.push(await bridge.read(handles[i], 0, buffers[i].bytes));
      } finally {
        bridge.freeProgram(compiled);
      }
    } finally {
      handles.forEach((handle) => bridge.freeBuffer(handle));
    }
  }
  await fetch(answer, { method: "PUT", body: new Blob(wanted) });
}

Object.assign(globalThis, { open, close, runAll });
globalThis.dispatchEvent(new Event("opsready"));
