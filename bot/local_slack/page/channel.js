// The middle: a channel, or the bot's direct messages, or the app's Home tab.
import { Composer } from "./composer.js";
import { el, paint } from "./dom.js";
import { renderBlocks } from "./blocks.js";
import { icon } from "./icons.js";
import { messageRows, Scroller } from "./list.js";
import { avatar, nameOf } from "./people.js";

const FIRST_TRIES = ["what is 17 * 23?", "write notes.txt: hello then read notes.txt", "run ls -l"];

export class ChannelPane {
  constructor(app, root) {
    this.app = app;
    this.root = root;
    this.head = el("header", { class: "pane-head" });
    this.tabs = el("div", {
      class: "tabs",
      role: "tablist",
      "aria-label": "Treadle",
      hidden: true,
    });
    this.list = el("div", {
      class: "messages",
      role: "log",
      "aria-label": "Messages",
      "aria-live": "polite",
    });
    this.hint = el("div", { class: "empty" });
    this.scroll = el(
      "div",
      { class: "scroll", tabindex: "-1" },
      el("div", { class: "push" }),
      this.hint,
      this.list,
    );
    this.home = el("div", { class: "scroll home", tabindex: "-1", hidden: true });
    this.prompts = el("div", { class: "prompts", hidden: true });
    this.foot = el("div", { class: "foot" });
    this.scroller = new Scroller(this.scroll, this.list);
    this.composer = null;
    this.place = null;
    root.append(this.head, this.tabs, this.scroll, this.home, this.prompts, this.foot);
  }

  render() {
    const { app } = this;
    const direct = app.store.direct();
    const channel = app.route.home ? direct : app.store.channels.get(app.route.channel);
    const isApp = app.route.home || channel?.kind === "im";
    this.#head(channel, isApp);
    this.tabs.hidden = !isApp;
    this.home.hidden = !app.route.home;
    for (const node of [this.scroll, this.foot]) node.hidden = app.route.home;
    if (app.route.home) this.#home();
    else if (channel) this.#channel(channel, isApp);
    this.prompts.hidden = app.route.home || !isApp || !app.store.prompts.length;
    if (!this.prompts.hidden) this.#prompts();
  }

  #head(channel, isApp) {
    const { store, route } = this.app;
    paint(this.head, JSON.stringify([channel, isApp, store.connected, store.bot]), () => {
      if (isApp) {
        const bot = store.users.get(store.bot.user_id);
        const words = store.connected ? "connected" : "not connected";
        const mark = el("span", {
          class: "presence",
          "data-on": String(store.connected),
          role: "img",
          "aria-label": words,
          title: words,
        });
        return [avatar(bot, "small"), el("h1", { text: nameOf(bot, store.bot.name) }), mark];
      }
      const topic = channel?.topic ? el("span", { class: "topic", text: channel.topic }) : null;
      return [el("h1", {}, icon("hash"), channel?.name ?? ""), topic];
    });
    if (!isApp) return;
    paint(this.tabs, JSON.stringify([route.home, store.me.id]), () => {
      const tab = (label, selected, go) =>
        el(
          "button",
          {
            type: "button",
            role: "tab",
            class: "tab",
            "aria-selected": String(selected),
            "data-focus": `tab-${label}`,
            on: { click: go },
          },
          label,
        );
      return [
        tab("Home", route.home, () => this.app.goHome()),
        store.direct()
          ? tab("Messages", !route.home, () =>
              this.app.go({ channel: store.direct().id, thread: null, home: false }),
            )
          : null,
      ];
    });
  }

  #home() {
    const { store } = this.app;
    this.place = null;
    const view = store.home;
    paint(this.home, JSON.stringify([view, store.me.id]), () => {
      if (!view)
        return el(
          "div",
          { class: "empty" },
          el("p", { text: "The app has published no Home tab for you yet." }),
        );
      const ctx = {
        ...this.app.context(),
        act: (action) => this.app.act("click", { view_id: view.id, ...action }),
      };
      return el("div", { class: "home-view" }, renderBlocks(view.blocks, ctx));
    });
  }

  #channel(channel, isApp) {
    const { app } = this;
    const place = `${app.store.me.id}:${channel.id}`;
    if (this.place !== place) this.#enter(channel, place);
    const roots = app.store.roots(channel.id);
    const ephemeral = app.store.ephemeral.filter(
      (item) => item.channel === channel.id && !item.thread_ts,
    );
    this.#hint(channel, isApp, roots.length === 0);
    this.scroller.show(messageRows(app, channel.id, roots, ephemeral, { inThread: false }));
  }

  #enter(channel, place) {
    const { app } = this;
    this.place = place;
    this.list.replaceChildren();
    const placeholder =
      channel.kind === "im"
        ? `Message ${nameOf(app.store.users.get(app.store.bot.user_id))}`
        : `Message #${channel.name}`;
    this.composer = new Composer(app, { channel: channel.id, placeholder });
    this.foot.replaceChildren(this.composer.node);
    this.composer.grow();
    this.scroller.toEnd();
    if (!app.route.thread) this.composer.focus();
  }

  #hint(channel, isApp, empty) {
    const { app } = this;
    const chips = [...FIRST_TRIES, ...app.store.prompts.map((prompt) => prompt.message)];
    const version = JSON.stringify([channel, isApp, empty, app.store.me.id, isApp ? "" : chips]);
    paint(this.hint, version, () => {
      const title = isApp ? "Your direct messages with Treadle" : `#${channel.name}`;
      const words = isApp
        ? "Write anything here; no mention is needed."
        : `This is the very beginning of #${channel.name}.${channel.name === "general" ? " Mention the bot, and it answers in a thread." : ""}`;
      const head = [el("h2", { text: title }), el("p", { text: words })];
      if (!empty || isApp || channel.name !== "general") return head;
      const fill = (text) => () => this.composer.fill(text);
      const rows = [...new Set(chips)].slice(0, 4).map((text) => {
        const whole = text.startsWith("@") ? text : `@treadle ${text}`;
        return el("button", { type: "button", class: "chip", on: { click: fill(whole) } }, whole);
      });
      return [
        ...head,
        el("div", { class: "chips" }, el("span", { class: "hint", text: "Try:" }), rows),
      ];
    });
  }

  #prompts() {
    const { app } = this;
    const { prompts } = app.store;
    paint(this.prompts, JSON.stringify([prompts, app.route.channel]), () =>
      prompts.map((prompt) => {
        const send = () => app.act("post", { channel: app.route.channel, text: prompt.message });
        return el(
          "button",
          { type: "button", class: "chip", title: prompt.message, on: { click: send } },
          prompt.title || prompt.message,
        );
      }),
    );
  }
}
