// @ts-check
// Stands in for the JavaScript tokenizer: a text's ids are its characters' codes.

export class Tokenizer {
  constructor(/** @type {any} */ json, /** @type {any} */ config) {
    if (json.first === undefined) throw new Error('Tokenizer must contain a "first" property');
    this.first = json.first;
    this.config = config;
  }

  encode(/** @type {string} */ text, /** @type {{add_special_tokens: boolean}} */ { add_special_tokens }) {
    const ids = [...text].map((c) => c.codePointAt(0));
    return { ids: add_special_tokens ? [this.first, ...ids] : ids };
  }
}
