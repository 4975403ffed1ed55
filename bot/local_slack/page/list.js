// A list of messages that stays at its end while the reader is there.
import { el, reconcile } from "./dom.js";
import { continues, ephemeralNode, messageNode } from "./message.js";
import { dayName } from "./time.js";

const NEAR_PX = 90;

/** Rows for `reconcile`: day lines, messages and the ephemeral ones where they arrived. */
export function messageRows(app, channel, messages, ephemeral, { inThread }) {
  const rows = [];
  let before = null;
  const waiting = [...ephemeral];
  const takeEphemeral = (limit) => {
    while (waiting.length && Number(waiting[0].after) < limit) {
      const item = waiting.shift();
      rows.push({
        key: `e${item.id}`,
        version: JSON.stringify(item),
        build: () => ephemeralNode(app, item),
      });
      before = null;
    }
  };
  for (const message of messages) {
    takeEphemeral(Number(message.ts));
    const day = dayName(message.ts);
    if (
      !inThread &&
      (!before || dayName(before.ts) !== day) &&
      !rows.some((row) => row.key === `d${day}`)
    ) {
      rows.push({
        key: `d${day}`,
        version: day,
        build: () => el("div", { class: "day", role: "separator" }, el("span", { text: day })),
      });
      before = null;
    }
    rows.push(messageRow(app, channel, message, continues(before, message), inThread));
    before = message;
  }
  takeEphemeral(Infinity);
  return rows;
}

function messageRow(app, channel, message, compact, inThread) {
  const around = inThread
    ? []
    : [
        app.store.replies(channel, message.ts).map((reply) => [reply.ts, reply.user]),
        app.store.status(channel, message.ts),
        app.unread.thread(channel, message.ts),
        app.route.thread === message.ts,
      ];
  const version = JSON.stringify([
    message,
    compact,
    around,
    app.editing === `${channel}:${message.ts}:${inThread}`,
    app.store.me.id,
  ]);
  return {
    key: `m${message.ts}`,
    version,
    build: () => messageNode(app, channel, message, { compact, inThread }),
  };
}

/** The scrolling region around a list: shows the newest rows unless the reader went up. */
export class Scroller {
  constructor(node, list) {
    this.node = node;
    this.list = list;
    this.pinned = true;
    node.addEventListener("scroll", () => (this.pinned = this.#nearEnd()), { passive: true });
    new ResizeObserver(() => this.#follow()).observe(list);
    new ResizeObserver(() => this.#follow()).observe(node);
  }

  #nearEnd() {
    return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < NEAR_PX;
  }

  #follow() {
    if (this.pinned) this.node.scrollTop = this.node.scrollHeight;
  }

  toEnd() {
    this.pinned = true;
    this.#follow();
  }

  show(rows) {
    reconcile(this.list, rows);
    this.#follow();
  }
}
