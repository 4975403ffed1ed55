// Dialogs: the app's modals (views) and the confirmation that an element may ask for.
import { renderBlocks } from "./blocks.js";
import { el } from "./dom.js";
import { readValues, submittedValues } from "./inputs.js";
import { textObject } from "./mrkdwn.js";

/** Ask yes or no with a Block Kit confirm object; true for yes. */
export function confirmDialog(confirm, ctx) {
  return new Promise((resolve) => {
    const yes = el(
      "button",
      { type: "submit", class: `button ${confirm.style === "danger" ? "danger" : "primary"}` },
      confirm.confirm?.text ?? "Yes",
    );
    const no = el("button", { type: "button", class: "button plain" }, confirm.deny?.text ?? "No");
    const title = el("h2", { id: "confirm-title", text: confirm.title?.text ?? "Are you sure?" });
    const form = el(
      "form",
      { method: "dialog" },
      title,
      el("div", { class: "modal-body" }, textObject(confirm.text, ctx)),
      el("footer", {}, no, yes),
    );
    const dialog = el("dialog", { class: "modal small", "aria-labelledby": "confirm-title" }, form);
    const end = (answer) => {
      dialog.remove();
      resolve(answer);
    };
    no.addEventListener("click", () => end(false));
    dialog.addEventListener("cancel", () => end(false));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      end(true);
    });
    document.body.append(dialog);
    dialog.showModal();
    yes.focus();
  });
}

/** Shows the top of the stack of open views. */
export class Modals {
  constructor(app) {
    this.app = app;
    this.dialog = null;
    this.shown = null;
    this.inputs = [];
    this.typed = new Map(); // what stands in the inputs of each open view
    this.busy = false;
  }

  render() {
    const view = this.app.store.views.at(-1) ?? null;
    if (!view) this.#hide();
    else if (this.shown !== view) this.#show(view);
  }

  #hide() {
    this.dialog?.remove();
    this.typed.clear();
    Object.assign(this, { dialog: null, shown: null, inputs: [] });
  }

  #show(view) {
    const sameView = this.shown?.id === view.id;
    if (this.shown) this.typed.set(this.shown.id, readValues(this.inputs));
    const kept = this.typed.get(view.id) ?? {};
    const focused = sameView ? document.activeElement?.dataset?.action : null;
    this.shown = view;
    this.inputs = [];
    if (!this.dialog) this.#open();
    this.dialog.replaceChildren(this.#form(view, kept));
    const target = focused
      ? this.dialog.querySelector(`[data-action="${CSS.escape(focused)}"]`)
      : this.dialog.querySelector(".modal-body :is(input, textarea, select)");
    target?.focus();
  }

  #open() {
    this.dialog = el("dialog", { class: "modal", "aria-labelledby": "modal-title" });
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#close();
    });
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  #form(view, kept) {
    const ctx = {
      ...this.app.context(),
      inputs: this.inputs,
      kept,
      act: (action) => this.app.act("click", { view_id: view.id, ...action }),
    };
    const problem = el("div", { class: "input-error", role: "alert", hidden: true });
    const close = el(
      "button",
      { type: "button", class: "button plain", on: { click: () => this.#close() } },
      view.close?.text ?? "Cancel",
    );
    const submit = view.submit
      ? el("button", { type: "submit", class: "button primary" }, view.submit.text)
      : null;
    const form = el(
      "form",
      { novalidate: true },
      el("h2", { id: "modal-title", text: view.title?.text ?? "" }),
      el("div", { class: "modal-body" }, renderBlocks(view.blocks, ctx), problem),
      el("footer", {}, close, submit),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(view, form, problem);
    });
    return form;
  }

  async #close() {
    const view = this.shown;
    await this.app.act("close", { view_id: view.id });
    this.app.store.apply({ type: "view_closed", view_id: view.id });
  }

  #missing(view) {
    const values = readValues(this.inputs);
    const errors = {};
    for (const block of view.blocks ?? []) {
      if (block.type !== "input" || block.optional) continue;
      const value = values[block.block_id]?.[block.element?.action_id];
      const given = Object.entries(value ?? {}).find(([name]) => name !== "type")?.[1];
      if (given === null || given === undefined || given.length === 0)
        errors[block.block_id] = "Please complete this required field.";
    }
    return errors;
  }

  async #submit(view, form, problem) {
    if (this.busy) return;
    const missing = this.#missing(view);
    this.#errors(form, missing);
    if (Object.keys(missing).length) return;
    this.busy = true;
    form.querySelector("[type=submit]")?.setAttribute("aria-busy", "true");
    try {
      const answer = await this.app.api.post("submit", {
        view_id: view.id,
        values: submittedValues(this.inputs),
      });
      this.#errors(form, answer.errors ?? {});
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    } finally {
      this.busy = false;
      form.querySelector("[type=submit]")?.removeAttribute("aria-busy");
    }
  }

  #errors(form, errors) {
    for (const block of form.querySelectorAll(".input-block")) {
      const place = block.querySelector(".input-error");
      const text = errors[block.dataset.block] ?? "";
      place.textContent = text;
      place.hidden = !text;
      const control = block.querySelector("input, textarea, select");
      if (text) control?.setAttribute("aria-invalid", "true");
      else control?.removeAttribute("aria-invalid");
    }
    form.querySelector("[aria-invalid]")?.focus();
  }
}
