// @ts-check
/** The seam to the JavaScript tokenizer, `@huggingface/tokenizers`, which is given and never imported here. */

/**
 * @typedef {{encode: (text: string, options: {add_special_tokens: boolean}) => {ids: number[]}}} Tokenizer
 * @typedef {{Tokenizer: new (tokenizer: object, config: object) => Tokenizer}} Library
 */

/** @param {{handles: ReturnType<import("./handles.mjs").create>, tokenizers?: Library}} deps */
export function create({ handles, tokenizers }) {
  const { error, add, get, drop } = handles;

  /**
   * Throws FormatError where the library can't read it.
   * @param {string} json the content of a tokenizer.json
   * @param {string} configJson that of its tokenizer_config.json
   * @returns {number}
   */
  function createTokenizer(json, configJson) {
    if (!tokenizers) {
      throw error("Unsupported", "tokenizer: the bridge was started without the module @huggingface/tokenizers");
    }
    let made;
    try {
      made = new tokenizers.Tokenizer(JSON.parse(json), JSON.parse(configJson));
    } catch (cause) {
      const said = /** @type {Error} */ (cause).message;
      throw error("FormatError", `tokenizer: must be one that @huggingface/tokenizers can read, got: ${said}`, cause);
    }
    return add("tokenizer", made, "tokenizer");
  }

  /**
   * @param {number} handle
   * @param {string} text
   * @param {boolean} addSpecial
   * @returns {number[]}
   */
  function encodeText(handle, text, addSpecial) {
    return get("tokenizer", handle).encode(text, { add_special_tokens: addSpecial }).ids;
  }

  /** @param {number} handle */
  function freeTokenizer(handle) {
    drop("tokenizer", handle);
  }

  return { createTokenizer, encodeText, freeTokenizer };
}
