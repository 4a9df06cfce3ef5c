// @ts-check
// A dedicated worker for tests: Playwright evaluates in it once `lab` is there.

/** @type {any} */ (globalThis).lab = await import("/toy.mjs");
