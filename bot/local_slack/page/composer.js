// The message box: Enter sends, Shift+Enter makes a line, drafts survive a reload of the window.
import { Completion } from "./completion.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";

let serial = 0;

/** One message box for one place: {node, fill, focus, hasDraft}. */
export class Composer {
  constructor(app, { channel, thread = null, placeholder }) {
    Object.assign(this, { app, channel, thread });
    this.draftKey = `treadle-draft-${app.store.me.id}-${channel}${thread ? `:${thread}` : ""}`;
    this.box = el("textarea", {
      id: `composer-${(serial += 1)}`,
      rows: 1,
      placeholder,
      "aria-label": placeholder,
      spellcheck: "true",
    });
    this.box.value = sessionStorage.getItem(this.draftKey) ?? "";
    this.completion = new Completion(app, this.box, Boolean(thread));
    this.button = el(
      "button",
      { type: "submit", class: "send", "aria-label": "Send", title: "Send" },
      icon("send"),
    );
    const hint = el(
      "span",
      { class: "composer-hint" },
      el("kbd", { text: "Enter" }),
      " to send, ",
      el("kbd", { text: "Shift+Enter" }),
      " for a new line",
    );
    const form = el(
      "form",
      { class: "composer-frame" },
      this.box,
      el("div", { class: "composer-bar" }, hint, this.button),
    );
    this.node = el("div", { class: "composer" }, this.completion.node, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.box.addEventListener("input", () => this.#typed());
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.#typed();
    this.completion.close();
  }

  get hasDraft() {
    return this.box.value.trim() !== "";
  }

  focus() {
    this.box.focus({ preventScroll: true });
  }

  /** Put a text into the box for the person to send or change. */
  fill(text) {
    this.box.value = text;
    this.#typed();
    this.completion.close();
    this.focus();
  }

  #typed() {
    if (this.box.value) sessionStorage.setItem(this.draftKey, this.box.value);
    else sessionStorage.removeItem(this.draftKey);
    this.button.disabled = !this.hasDraft;
    this.completion.update();
    this.grow();
  }

  /** As high as the text, up to the limit that the style sets. */
  grow() {
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }

  #key(event) {
    if (event.isComposing) return;
    if (this.completion.key(event)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey)
      return;
    event.preventDefault();
    this.send();
  }

  async send() {
    const written = this.box.value;
    const text = written.trim();
    if (!text) return;
    this.box.value = "";
    this.#typed();
    const sent = written.startsWith("/") ? await this.#command(text) : await this.#post(text);
    if (sent) this.app.sent(this.channel, this.thread);
    else if (!this.box.value) this.fill(written);
  }

  #post(text) {
    return this.app.act("post", {
      channel: this.channel,
      text,
      thread_ts: this.thread ?? undefined,
    });
  }

  async #command(text) {
    if (this.thread) {
      this.app.toast("Commands work in the channel's message box, not in a thread.");
      return null;
    }
    const [command] = text.split(/\s/, 1);
    return this.app.act("slash", {
      channel: this.channel,
      command,
      text: text.slice(command.length).trim(),
    });
  }
}
