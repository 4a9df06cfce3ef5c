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
    const groups = bound(program, handles);
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

/**
 * @typedef {object} Filled what is too large to send: the page makes the arguments by a program and answers with parts
 * @property {any} fill the program that makes them
 * @property {any} program
 * @property {{bytes: number, start: number | null}[]} buffers start: where the blob has the bytes; null: zeros
 * @property {[number, number, number][]} read buffer, offset and number of bytes of each part that is wanted
 * @property {number} repeats how often every dispatch is timed; 0: not at all
 */

/**
 * Fills buffers, runs a program on them, and puts the parts that are wanted, one after the other, under `answer`.
 * @param {{device: number, question: string, answer: string} & Filled} job
 * @returns {Promise<number[] | null>} milliseconds of each dispatch, the least of the repeats
 */
async function runFilled({ device, question, answer, fill, program, buffers, read, repeats }) {
  const bridge = await ready;
  const blob = new Uint8Array(await (await fetch(question)).arrayBuffer());
  /** @type {number[]} */
  const handles = [];
  /** @type {number[]} */
  const programs = [];
  try {
    for (const { bytes, start } of buffers) {
      const handle = bridge.createBuffer(device, bytes, `buffer ${handles.length}`);
      handles.push(handle);
      if (start !== null) bridge.submit(device, [["write", handle, 0, blob.subarray(start, start + bytes)]]);
    }
    for (const each of [fill, program]) {
      programs.push(await bridge.compile(device, { ...each, groups: bound(each, handles) }));
      bridge.submit(device, [["run", programs.at(-1)]]);
    }
    const times = repeats ? await bridge.profile(programs[1], repeats) : null;
    const parts = await Promise.all(read.map(([i, offset, bytes]) => bridge.read(handles[i], offset, bytes)));
    await fetch(answer, { method: "PUT", body: new Blob(parts) });
    return times && times.ms;
  } finally {
    programs.forEach((each) => bridge.freeProgram(each));
    handles.forEach((handle) => bridge.freeBuffer(handle));
  }
}

/** A program's groups with handles in place of indices. @param {any} program @param {number[]} handles */
function bound(program, handles) {
  return program.groups.map((/** @type {any} */ group) => ({
    ...group,
    buffers: group.buffers.map((/** @type {number[]} */ [i, offset, bytes]) => [handles[i], offset, bytes]),
  }));
}

Object.assign(globalThis, { open, close, runAll, runFilled });
