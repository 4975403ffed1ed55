// What a person may do with a message: react, reply, edit, delete.
import { el } from "./dom.js";
import { emoji, PICKABLE } from "./emoji.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";
import { editable } from "./mrkdwn.js";
import { nameOf } from "./people.js";

function toggle(app, channel, message, name) {
  const mine = (message.reactions ?? []).some(
    (reaction) => reaction.name === name && reaction.users.includes(app.store.me.id),
  );
  return app.act(mine ? "unreact" : "react", { channel, ts: message.ts, name });
}

function pick(app, channel, message, anchor) {
  const items = PICKABLE.map((name) => ({
    label: name.replaceAll("_", " "),
    content: emoji(name),
    run: () => toggle(app, channel, message, name),
  }));
  openMenu(anchor, items, "emoji-menu");
}

/** The reactions under a message; a click adds or takes away one's own. */
export function reactions(app, channel, message) {
  if (!message.reactions?.length) return null;
  const pills = message.reactions.map((reaction) => {
    const mine = reaction.users.includes(app.store.me.id);
    const who = reaction.users.map((id) => nameOf(app.store.users.get(id), id)).join(", ");
    const label = `:${reaction.name}: ${reaction.count}, by ${who}`;
    const props = {
      type: "button",
      class: "reaction",
      "aria-pressed": String(mine),
      "aria-label": label,
      title: label,
      "data-reaction": reaction.name,
      "data-focus": `react-${message.ts}-${reaction.name}`,
    };
    return el(
      "button",
      { ...props, on: { click: () => toggle(app, channel, message, reaction.name) } },
      emoji(reaction.name),
      el("span", { text: reaction.count }),
    );
  });
  return el("div", { class: "reactions" }, pills);
}

function tool(label, drawing, key, run) {
  return el(
    "button",
    {
      type: "button",
      class: "tool",
      "aria-label": label,
      title: label,
      "data-focus": key,
      on: { click: run },
    },
    icon(drawing),
  );
}

async function remove(app, channel, message) {
  const text = "Delete this message? This cannot be undone.";
  const sure = await app.confirm({
    title: { text: "Delete message" },
    text: { type: "plain_text", text },
    confirm: { text: "Delete" },
    deny: { text: "Cancel" },
    style: "danger",
  });
  if (sure) await app.act("delete", { channel, ts: message.ts });
}

/** The bar that appears while the pointer or the keyboard is at a message. */
export function actionBar(app, channel, message, inThread) {
  const own = message.user === app.store.me.id;
  const key = `${inThread ? "t" : "c"}-${message.ts}`;
  const react = tool("Add reaction", "smile", `smile-${key}`, (event) =>
    pick(app, channel, message, event.currentTarget),
  );
  react.setAttribute("aria-haspopup", "menu");
  return el(
    "div",
    { class: "toolbar", role: "group", "aria-label": "Message actions" },
    react,
    inThread
      ? null
      : tool("Reply in thread", "reply", `reply-${key}`, () =>
          app.openThread(message.thread_ts ?? message.ts, { focus: true }),
        ),
    own
      ? tool("Edit message", "pencil", `edit-${key}`, () =>
          app.edit(`${channel}:${message.ts}:${inThread}`),
        )
      : null,
    own || app.store.me.role === "admin"
      ? tool("Delete message", "trash", `delete-${key}`, () => remove(app, channel, message))
      : null,
  );
}

/** The edit box in place of a message's body: Enter saves, Esc gives up. */
export function editor(app, channel, message) {
  const box = el("textarea", {
    class: "text-input edit-box",
    "aria-label": "Edit message",
    rows: 2,
    "data-focus": `editing-${message.ts}`,
  });
  box.value = editable(message.text, app.context());
  const done = () => {
    delete node.dataset.keep;
    app.edit(null);
  };
  const save = async () => {
    const text = box.value.trim();
    if (!text) return;
    if (await app.act("edit", { channel, ts: message.ts, text })) done();
  };
  box.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) save();
    else if (event.key === "Escape") done();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const cancel = el(
    "button",
    { type: "button", class: "button plain", on: { click: done } },
    "Cancel",
  );
  const ok = el("button", { type: "button", class: "button primary", on: { click: save } }, "Save");
  const node = el(
    "div",
    { class: "editor", "data-keep": true },
    box,
    el("div", { class: "actions" }, cancel, ok),
  );
  queueMicrotask(() => {
    box.focus();
    box.setSelectionRange(box.value.length, box.value.length);
  });
  return node;
}
