// One message: author, body, files, reactions, replies, and what one may do with it.
import { actionBar, editor, reactions } from "./message_actions.js";
import { renderBlocks } from "./blocks.js";
import { attached, file } from "./files.js";
import { el } from "./dom.js";
import { foldable, isStep } from "./fold.js";
import { icon } from "./icons.js";
import { mrkdwn } from "./mrkdwn.js";
import { avatar, badge, nameOf } from "./people.js";
import { clock, fullTime } from "./time.js";

const GROUP_SECONDS = 300;
const QUIET_SUBTYPES = new Set([
  "channel_join",
  "channel_leave",
  "channel_topic",
  "channel_purpose",
  "channel_name",
]);

/** Whether a message continues the one before it: same author, soon after, nothing between. */
export function continues(before, message) {
  if (!before || before.user !== message.user || QUIET_SUBTYPES.has(before.subtype)) return false;
  if (isStep(before) !== isStep(message)) return false; // an answer stands apart from its steps
  if (before.username !== message.username || before.subtype === "tombstone") return false;
  return Number(message.ts) - Number(before.ts) < GROUP_SECONDS;
}

function contextOf(app, channel, message) {
  return {
    ...app.context(),
    step: isStep(message),
    act: (action) => app.act("click", { channel, message_ts: message.ts, ...action }),
  };
}

/** People's messages show their text (mrkdwn), the bot's their blocks. */
function body(app, channel, message) {
  const ctx = contextOf(app, channel, message);
  const blocks = app.store.isBot(message) || !message.text ? (message.blocks ?? []) : [];
  const parts = blocks.length ? renderBlocks(blocks, ctx) : [mrkdwn(message.text, ctx)];
  for (const attachment of message.attachments ?? []) parts.push(attached(attachment, ctx));
  const node = el("div", { class: "message-body" }, parts);
  if (message.streaming)
    node.append(el("span", { class: "cursor", role: "img", "aria-label": "still being written" }));
  if (message.edited)
    node.append(
      el("span", { class: "edited", title: fullTime(message.edited.ts), text: "(edited)" }),
    );
  return node;
}

function header(message, user) {
  const name = el("span", {
    class: "author",
    text: message.username || nameOf(user, message.user),
  });
  return el("div", { class: "message-head" }, name, badge(user), time(message.ts));
}

function time(ts) {
  return el("time", {
    class: "time",
    datetime: new Date(Number(ts) * 1000).toISOString(),
    title: fullTime(ts),
    text: clock(ts),
  });
}

/** "3 replies", with who wrote, whether something is new, and the live status of the thread. */
function replyLink(app, channel, message) {
  const replies = app.store.replies(channel, message.ts);
  if (!replies.length) return null;
  const people = [...new Set(replies.map((reply) => reply.user))].slice(0, 4);
  const faces = people.map((id) => avatar(app.store.users.get(id), "tiny"));
  const count = `${replies.length} ${replies.length === 1 ? "reply" : "replies"}`;
  const isNew = app.unread.thread(channel, message.ts);
  const props = {
    type: "button",
    class: `reply-link${isNew ? " has-new" : ""}`,
    "data-focus": `replies-${message.ts}`,
    on: { click: () => app.openThread(message.ts) },
  };
  const last = el("span", { class: "hint", text: `Last reply at ${clock(replies.at(-1).ts)}` });
  return el(
    "button",
    props,
    faces,
    el("span", { class: "reply-count", text: count }),
    isNew ? el("span", { class: "new-dot", role: "img", "aria-label": "new" }) : null,
    last,
  );
}

function statusLine(app, channel, message) {
  const status = app.store.status(channel, message.ts);
  return status && app.route.thread !== message.ts ? statusNode(app, status) : null;
}

/** "Treadle is thinking…" with Stop where the app can be stopped. */
export function statusNode(app, status) {
  const name = nameOf(app.store.users.get(app.store.bot.user_id), app.store.bot.name);
  const words = status.status.toLowerCase().startsWith(name.toLowerCase())
    ? status.status
    : `${name} ${status.status}`;
  const stop = () => app.act("stop", { channel: status.channel, thread_ts: status.thread_ts });
  const button = el(
    "button",
    {
      type: "button",
      class: "button plain stop",
      "data-focus": `stop-${status.thread_ts}`,
      on: { click: stop },
    },
    el("span", { class: "stop-square", "aria-hidden": "true" }),
    "Stop",
  );
  const dots = el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
  return el(
    "div",
    { class: "status", role: "status" },
    dots,
    el("span", { text: words }),
    status.stoppable ? button : null,
  );
}

function isTombstone(message) {
  return message.subtype === "tombstone" || message.hidden === true;
}

/** A message as a list item. `inThread` hides what belongs to the channel view. */
export function messageNode(app, channel, message, { compact = false, inThread = false } = {}) {
  const user = app.store.users.get(message.user) ?? {
    id: message.user ?? "?",
    name: message.username ?? message.user ?? "?",
    role: message.bot_id ? "bot" : "member",
  };
  if (isTombstone(message))
    return el(
      "article",
      { class: "message tombstone", "data-ts": message.ts },
      el("div", { class: "gutter" }, icon("trash")),
      el(
        "div",
        { class: "message-main" },
        el("em", { text: "This message was deleted." }),
        inThread ? null : replyLink(app, channel, message),
      ),
    );
  if (QUIET_SUBTYPES.has(message.subtype))
    return el(
      "article",
      { class: "message quiet", "data-ts": message.ts },
      el("div", { class: "gutter" }),
      el("div", { class: "message-main" }, mrkdwn(message.text, app.context())),
    );
  const editing = app.editing === `${channel}:${message.ts}:${inThread}`;
  const main = el("div", { class: "message-main" }, compact ? null : header(message, user));
  if (editing) main.append(editor(app, channel, message));
  else
    main.append(
      foldable(body(app, channel, message), {
        step: isStep(message),
        key: `${channel}:${message.ts}`,
        open: app.unfolded,
      }),
    );
  main.append(
    ...(message.files ?? []).map((item) => file(item, app.route.token)),
    ...[reactions(app, channel, message)].filter(Boolean),
  );
  if (!inThread)
    main.append(
      ...[replyLink(app, channel, message), statusLine(app, channel, message)].filter(Boolean),
    );
  const gutter = el("div", { class: "gutter" }, compact ? time(message.ts) : avatar(user));
  const label = `${nameOf(user)} at ${clock(message.ts)}`;
  return el(
    "article",
    {
      class: `message${compact ? " compact" : ""}`,
      "data-ts": message.ts,
      "data-author": message.user,
      "aria-label": label,
    },
    gutter,
    main,
    editing ? null : actionBar(app, channel, message, inThread),
  );
}

/** A message that only this person sees. */
export function ephemeralNode(app, item) {
  const ctx = {
    ...app.context(),
    act: (action) =>
      app.act("click", {
        channel: item.channel,
        message_ts: item.message_ts ?? item.ts ?? item.id,
        ...action,
      }),
  };
  const bot = app.store.users.get(app.store.bot.user_id);
  const parts = item.blocks?.length ? renderBlocks(item.blocks, ctx) : [mrkdwn(item.text, ctx)];
  const dismiss = el(
    "button",
    { type: "button", class: "link-button", on: { click: () => app.store.dismiss(item.id) } },
    "Dismiss",
  );
  const note = el(
    "div",
    { class: "only-you" },
    icon("eye", "icon small"),
    "Only visible to you",
    " · ",
    dismiss,
  );
  const head = el(
    "div",
    { class: "message-head" },
    el("span", { class: "author", text: nameOf(bot) }),
    badge(bot),
    Number(item.after) ? time(item.after) : null,
  );
  return el(
    "article",
    {
      class: "message ephemeral",
      "data-ephemeral": item.id,
      "aria-label": `${nameOf(bot)}, only visible to you`,
    },
    el("div", { class: "gutter" }, avatar(bot)),
    el("div", { class: "message-main" }, note, head, el("div", { class: "message-body" }, parts)),
  );
}
