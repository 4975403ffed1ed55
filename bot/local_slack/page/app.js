// The page: one window is one person at one place; everything else follows from the store.
import { Api, Live } from "./api.js";
import { ChannelPane } from "./channel.js";
import { el, paint } from "./dom.js";
import { closeMenuOnOutsideClick } from "./menu.js";
import { confirmDialog, Modals } from "./modal.js";
import { readRoute, writeRoute } from "./route.js";
import { renderSidebar, renderTopBar } from "./sidebar.js";
import { Store } from "./store.js";
import { ThreadPane } from "./thread.js";
import { Unread } from "./unread.js";

const TOAST_MS = 6000;
const byId = (id) => document.getElementById(id);

class App {
  constructor() {
    this.store = new Store();
    this.unread = new Unread(this.store);
    this.route = readRoute();
    this.unfolded = new Set();
    this.editing = null;
    this.focusThread = false;
    this.channelPane = new ChannelPane(this, byId("channel"));
    this.threadPane = new ThreadPane(this, byId("thread"));
    this.modals = new Modals(this);
    this.store.listen(() => this.render());
    window.addEventListener("popstate", () => this.#arrived());
    document.addEventListener("visibilitychange", () => this.store.changed());
    closeMenuOnOutsideClick();
    this.#connect();
  }

  #connect() {
    this.api = new Api(this.route.token, this.route.user);
    this.live = new Live(this.api, {
      resync: () => this.#resync(this.api),
      onEvent: (event) => this.#onEvent(event),
      onLink: (link, problem = null) => {
        Object.assign(this.store, { link, problem });
        this.store.changed();
      },
    });
  }

  async #resync(api) {
    const snapshot = await api.snapshot();
    if (api !== this.api) return;
    const first = !this.store.loaded;
    this.store.load(snapshot);
    if (!first) return;
    this.unread.start(this.store.me.id);
    this.#settle();
    this.#announce();
  }

  /** Put the window at a place that this person can see. */
  #settle() {
    if (this.route.home || this.store.channels.has(this.route.channel)) return;
    const wasDirect = this.route.channel?.startsWith("D");
    const rooms = [...this.store.channels.values()].sort(
      (left, right) => (left.kind === "im") - (right.kind === "im"),
    );
    const place = (wasDirect && this.store.direct()) || rooms[0];
    this.go({ channel: place?.id ?? null, thread: null, home: false }, { replace: true });
  }

  /** The app learns that its Home or Messages tab is open. */
  #announce() {
    const direct = this.store.channels.get(this.route.channel)?.kind === "im";
    if (this.route.home || direct) this.act("home", { tab: this.route.home ? "home" : "messages" });
  }

  #onEvent(event) {
    if (event.type === "message") this.#maybeOpenThread(event);
    this.store.apply(event);
  }

  /** The bot's first reply to this person's message opens the thread beside the channel. */
  #maybeOpenThread({ channel, message }) {
    const root = message.thread_ts;
    const here = !this.route.home && channel === this.route.channel && root && root !== message.ts;
    if (!here || !this.store.isBot(message) || root === this.route.thread) return;
    const mine = this.store.message(channel, root)?.user === this.store.me.id;
    const first = !this.store.replies(channel, root).some((reply) => this.store.isBot(reply));
    const busy = this.route.thread && this.threadPane.composer?.hasDraft;
    if (mine && first && !busy) this.go({ thread: root }, { replace: true });
  }

  /** Go to a place; parts that are not named stay as they are. */
  go(change, options) {
    const before = this.route;
    this.route = { ...before, ...change };
    writeRoute(this.route, options);
    if (
      this.store.loaded &&
      (before.home !== this.route.home || before.channel !== this.route.channel)
    )
      this.#announce();
    this.store.changed();
  }

  goHome() {
    this.go({ home: true, channel: null, thread: null });
  }

  openThread(thread, { focus = true } = {}) {
    this.focusThread = focus;
    this.go({ thread });
  }

  closeThread() {
    this.go({ thread: null });
    this.channelPane.composer?.focus();
  }

  /** Look as another person from now on, in this window. */
  become(user) {
    this.go({ user, thread: null });
    this.#another();
  }

  #another() {
    this.live.close();
    this.store.clear();
    this.editing = null;
    this.#connect();
  }

  #arrived() {
    const before = this.route;
    this.route = readRoute();
    if (before.user !== this.route.user || before.token !== this.route.token) this.#another();
    else if (this.store.loaded) {
      this.#settle();
      if (before.home !== this.route.home || before.channel !== this.route.channel)
        this.#announce();
    }
    this.store.changed();
  }

  /** Do something as this person; the answer, or null after telling what went wrong. */
  async act(action, body) {
    try {
      return await this.api.post(action, body);
    } catch (error) {
      this.toast(error.message);
      return null;
    }
  }

  /** After a message was sent: its author sees it. */
  sent(_channel, thread) {
    (thread ? this.threadPane : this.channelPane).scroller.toEnd();
  }

  edit(key) {
    this.editing = key;
    this.store.changed();
  }

  confirm(confirm) {
    return confirmDialog(confirm, this.context());
  }

  /** What renderers need to know about people and places. */
  context() {
    return {
      me: this.store.me,
      users: this.store.users,
      channels: this.store.channels,
      openChannel: (id) => this.go({ channel: id, thread: null, home: false }),
      confirm: (confirm) => this.confirm(confirm),
    };
  }

  toast(text) {
    const node = el("div", { class: "toast", text });
    byId("toasts").append(node);
    setTimeout(() => node.remove(), TOAST_MS);
  }

  render() {
    const { store, route } = this;
    const down = store.link === "down";
    byId("link").hidden = !down;
    paint(
      byId("link"),
      `${store.problem}`,
      () =>
        store.problem ??
        "The connection to the demo server is gone; this page reconnects by itself.",
    );
    byId("app").hidden = !store.loaded;
    if (!store.loaded) return;
    if (!document.hidden && !route.home) {
      this.unread.seen(route.channel, null);
      if (route.thread) this.unread.seen(route.channel, route.thread);
    }
    renderSidebar(this, byId("sidebar"));
    renderTopBar(this, { banner: byId("banner"), switcher: byId("switcher") });
    this.channelPane.render();
    this.threadPane.render();
    this.modals.render();
    this.#title();
  }

  #title() {
    const { store, route } = this;
    const place = route.home ? "Treadle" : (store.channels.get(route.channel)?.name ?? "");
    const waiting = [...store.channels.values()].filter(
      (channel) => this.unread.channel(channel).unread,
    ).length;
    document.title = `${waiting ? `(${waiting}) ` : ""}${place} – ${store.me.real_name} – ${store.team.name}`;
  }
}

new App();
