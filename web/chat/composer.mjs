// @ts-check
// The message box: Enter sends, Shift+Enter breaks the line, Escape stops; one button is either Send or Stop.

/**
 * @param {(id: string) => any} find
 * @param {{send: (text: string) => void, stop: () => void}} hooks
 */
export function createComposer(find, { send, stop }) {
  const box = /** @type {HTMLTextAreaElement} */ (find("prompt"));
  const sizesItself = CSS.supports("field-sizing", "content");
  let busy = false;
  let usable = true;

  function refresh() {
    const hadFocus = document.activeElement === find("stop") || document.activeElement === find("send");
    find("send").hidden = busy;
    find("stop").hidden = !busy;
    find("send").disabled = !usable || box.value.trim() === "";
    box.disabled = !usable;
    if (hadFocus) box.focus(); // the button that had it went away
    if (sizesItself) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
  }

  function submit() {
    const text = box.value.trim();
    if (busy || !usable || !text) return;
    box.value = "";
    refresh();
    send(text);
  }

  box.addEventListener("input", refresh);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return; // Enter ends an input method's word
    event.preventDefault();
    submit();
  });
  find("composer").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    submit();
  });
  find("stop").addEventListener("click", stop);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && busy && !document.querySelector("dialog[open]")) stop();
  });
  refresh();

  return {
    focus: () => box.focus(),
    /** @param {boolean} now */
    setBusy(now) {
      busy = now;
      refresh();
    },
    /** @param {boolean} now */
    setUsable(now) {
      usable = now;
      refresh();
    },
    /** Puts a message back that got no answer. @param {string} text */
    giveBack(text) {
      box.value = box.value.trim() ? `${text}\n\n${box.value}` : text;
      refresh();
    },
  };
}
