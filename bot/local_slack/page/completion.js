// "@", "#" and "/" completion in a message box.
import { el } from "./dom.js";
import { avatar, nameWithRole } from "./people.js";

const WORD = /(?:^|\s)([@#])([\p{L}\p{N}._-]*)$/u;
const COMMANDS = ["/treadle"];

function userChoices(app, prefix) {
  const people = [...app.store.users.values()].filter((user) => user.id !== app.store.me.id);
  people.sort((left, right) => (right.role === "bot") - (left.role === "bot"));
  return people
    .filter((user) =>
      [user.name, user.real_name].some((name) => name?.toLowerCase().startsWith(prefix)),
    )
    .map((user) => ({
      insert: `@${user.name} `,
      label: nameWithRole(user),
      face: avatar(user, "small"),
    }));
}

function channelChoices(app, prefix) {
  return [...app.store.channels.values()]
    .filter((channel) => channel.kind === "channel" && channel.name.startsWith(prefix))
    .map((channel) => ({ insert: `#${channel.name} `, label: `#${channel.name}`, face: null }));
}

function choicesFor(app, before, inThread) {
  const found = WORD.exec(before);
  if (found) {
    const prefix = found[2].toLowerCase();
    const choices = found[1] === "@" ? userChoices(app, prefix) : channelChoices(app, prefix);
    return { choices: choices.slice(0, 6), length: found[2].length + 1 };
  }
  if (!inThread && /^\/\w*$/.test(before)) {
    const commands = COMMANDS.filter((command) => command.startsWith(before) && command !== before);
    return {
      choices: commands.map((insert) => ({ insert: `${insert} `, label: insert, face: null })),
      length: before.length,
    };
  }
  return { choices: [], length: 0 };
}

/** The list of choices above a message box. `key(event)` is true when it used the key. */
export class Completion {
  constructor(app, box, inThread) {
    this.app = app;
    this.box = box;
    this.inThread = inThread;
    this.choices = [];
    this.at = 0;
    this.node = el("div", {
      class: "completion",
      role: "listbox",
      id: `${box.id}-choices`,
      "aria-label": "Suggestions",
      hidden: true,
    });
    box.setAttribute("aria-controls", this.node.id);
    box.setAttribute("aria-autocomplete", "list");
    box.addEventListener("blur", () => this.close());
  }

  /** Look at what stands before the caret. */
  update() {
    const before = this.box.value.slice(0, this.box.selectionStart);
    const { choices, length } = choicesFor(this.app, before, this.inThread);
    Object.assign(this, { choices, length, at: 0 });
    this.#draw();
  }

  close() {
    this.choices = [];
    this.#draw();
  }

  #draw() {
    const rows = this.choices.map((choice, index) => {
      const row = el(
        "div",
        {
          class: "completion-row",
          role: "option",
          id: `${this.node.id}-${index}`,
          "aria-selected": String(index === this.at),
        },
        choice.face,
        choice.label,
      );
      row.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.#take(choice);
      });
      return row;
    });
    this.node.replaceChildren(...rows);
    this.node.hidden = rows.length === 0;
    if (rows.length) this.box.setAttribute("aria-activedescendant", rows[this.at].id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #take(choice) {
    const caret = this.box.selectionStart;
    this.box.setRangeText(choice.insert, caret - this.length, caret, "end");
    this.close();
    this.box.dispatchEvent(new Event("input"));
  }

  key(event) {
    if (!this.choices.length) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.at = (this.at + step + this.choices.length) % this.choices.length;
    else if (event.key === "Escape") this.choices = [];
    else if ((event.key === "Enter" && !event.shiftKey) || event.key === "Tab") {
      this.#take(this.choices[this.at]);
      return true;
    } else return false;
    this.#draw();
    return true;
  }
}
