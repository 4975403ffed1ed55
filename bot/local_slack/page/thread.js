// The pane on the right: one thread, its status line and its own message box.
import { Composer } from "./composer.js";
import { el, paint } from "./dom.js";
import { icon } from "./icons.js";
import { messageRows, Scroller } from "./list.js";
import { statusNode } from "./message.js";

export class ThreadPane {
  constructor(app, root) {
    this.app = app;
    this.root = root;
    this.head = el("header", { class: "pane-head" });
    this.list = el("div", {
      class: "messages",
      role: "log",
      "aria-label": "Replies",
      "aria-live": "polite",
    });
    this.status = el("div", { class: "status-slot" });
    this.scroll = el("div", { class: "scroll", tabindex: "-1" }, this.list);
    this.foot = el("div", { class: "foot" });
    this.scroller = new Scroller(this.scroll, this.list);
    this.composer = null;
    this.place = null;
    root.append(this.head, this.scroll, this.status, this.foot);
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") app.closeThread();
    });
  }

  render() {
    const { app } = this;
    const { channel, thread } = app.route;
    const open = Boolean(channel && thread && app.store.channels.has(channel));
    this.root.hidden = !open;
    document.body.classList.toggle("with-thread", open);
    if (!open) {
      this.place = null;
      return;
    }
    const place = `${app.store.me.id}:${channel}:${thread}`;
    if (this.place !== place) this.#enter(channel, thread, place);
    this.#messages(channel, thread);
    const status = app.store.status(channel, thread);
    paint(this.status, JSON.stringify(status), () => (status ? statusNode(app, status) : null));
  }

  #enter(channel, thread, place) {
    const { app } = this;
    this.place = place;
    const where = app.store.channels.get(channel);
    const close = el(
      "button",
      {
        type: "button",
        class: "tool",
        "aria-label": "Close thread",
        title: "Close (Esc)",
        on: { click: () => app.closeThread() },
      },
      icon("close"),
    );
    const name = where.kind === "im" ? "Treadle" : `#${where.name}`;
    this.head.replaceChildren(
      el("h2", { text: "Thread" }),
      el("span", { class: "topic", text: name }),
      el("span", { class: "spring" }),
      close,
    );
    this.list.replaceChildren();
    this.composer = new Composer(app, { channel, thread, placeholder: "Reply…" });
    this.foot.replaceChildren(this.composer.node);
    this.composer.grow();
    this.scroller.toEnd();
    if (app.focusThread) this.composer.focus();
    app.focusThread = false;
  }

  #messages(channel, thread) {
    const { app } = this;
    const root = app.store.message(channel, thread);
    const replies = app.store.replies(channel, thread);
    const ephemeral = app.store.ephemeral.filter(
      (item) => item.channel === channel && item.thread_ts === thread,
    );
    const words = replies.length
      ? `${replies.length} ${replies.length === 1 ? "reply" : "replies"}`
      : "No replies yet";
    const line = {
      key: "count",
      version: words,
      build: () =>
        el("div", { class: "reply-divider", role: "separator" }, el("span", { text: words })),
    };
    const first = root
      ? messageRows(app, channel, [root], [], { inThread: true })
      : [
          {
            key: "gone",
            version: "",
            build: () =>
              el(
                "div",
                { class: "message tombstone" },
                el("em", { text: "The message that began this thread was deleted." }),
              ),
          },
        ];
    this.scroller.show([
      ...first,
      line,
      ...messageRows(app, channel, replies, ephemeral, { inThread: true }),
    ]);
  }
}
