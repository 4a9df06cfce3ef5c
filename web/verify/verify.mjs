// @ts-check
// The page behind `webxpu verify` and the tests of kernels. CPython makes the programs, this page runs them through the
// bridge: arrays come and go as blobs over HTTP, programs as JSON. The functions at the end are put on `window`.

import { boot } from "../bridge/webxpu.mjs";

/**
 * @typedef {object} Run
 * @property {any} program with indices into `buffers` in place of handles
 * @property {{bytes: number, start: number | null}[]} buffers start: where the blob has the bytes; null: the sentinel
 * @property {number[]} read the buffers whose bytes are wanted
 *
 * @typedef {{name: string, message: string} | null} Problem
 */

const ready = boot((name) => import(`../bridge/${name}`));

/** @param {any} options */
async function open(options) {
  return (await ready).openDevice(options);
}

/** @param {number} device */
async function close(device) {
  (await ready).closeDevice(device);
}

/**
 * Runs each program on buffers of its own and puts all wanted bytes, one after the other, under `answer`. A run that
 * fails puts none there.
 * @param {{device: number, question: string, answer: string, sentinel: number, runs: Run[]}} job
 * @returns {Promise<Problem[]>} for each run what went wrong, or null
 */
async function runAll({ device, question, answer, sentinel, runs }) {
  const blob = new Uint8Array(await (await fetch(question)).arrayBuffer());
  await compilePipelines(device, runs);
  /** @type {BlobPart[]} */
  const wanted = [];
  /** @type {Problem[]} */
  const problems = [];
  for (const run of runs) {
    try {
      wanted.push(...(await runOne(device, run, blob, sentinel)));
      problems.push(null);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      problems.push({ name, message });
    }
  }
  await fetch(answer, { method: "PUT", body: new Blob(wanted) });
  return problems;
}

/** Compiles every pipeline of the runs side by side. Where one is refused, its own run says so.
 *  @param {number} device @param {Run[]} runs */
async function compilePipelines(device, runs) {
  const bridge = await ready;
  const compiled = await Promise.allSettled(
    runs.map(({ program }) => bridge.compile(device, { ...program, groups: [], commands: [], labels: [] })),
  );
  for (const one of compiled) if (one.status === "fulfilled") bridge.freeProgram(one.value);
}

/** @param {number} device @param {Run} run @param {Uint8Array<ArrayBuffer>} blob @param {number} sentinel
 *  @returns {Promise<BlobPart[]>} */
async function runOne(device, { program, buffers, read }, blob, sentinel) {
  const bridge = await ready;
  /** @type {number[]} */
  const handles = [];
  try {
    buffers.forEach(({ bytes }, i) => handles.push(bridge.createBuffer(device, bytes, `buffer ${i}`)));
    const writes = buffers.map(({ bytes, start }, i) => {
      const fresh = () => new Uint8Array(new Uint32Array(bytes / 4).fill(sentinel).buffer);
      return ["write", handles[i], 0, start === null ? fresh() : blob.subarray(start, start + bytes)];
    });
    const groups = program.groups.map((/** @type {any} */ group) => ({
      ...group,
      buffers: group.buffers.map((/** @type {number[]} */ [i, offset, bytes]) => [handles[i], offset, bytes]),
    }));
    const compiled = await bridge.compile(device, { ...program, groups });
    try {
      bridge.submit(device, [...writes, ["run", compiled]]);
      return await Promise.all(read.map((i) => bridge.read(handles[i], 0, buffers[i].bytes)));
    } finally {
      bridge.freeProgram(compiled);
    }
  } finally {
    handles.forEach((handle) => bridge.freeBuffer(handle));
  }
}

Object.assign(globalThis, { open, close, runAll });
