// What one person sees of the workspace: a snapshot, then live events on top of it.

/** Slack's ts order: seconds, then the six digits. */
export function byTs(left, right) {
  return (
    Number(left.ts) - Number(right.ts) || (left.ts < right.ts ? -1 : left.ts > right.ts ? 1 : 0)
  );
}

const statusKey = (channel, threadTs) => `${channel}:${threadTs ?? ""}`;

/** Holds the state and tells its listeners, at most once a microtask, that something changed. */
export class Store {
  #listeners = [];
  #pending = false;
  #threads = new Map(); // channel -> root ts -> replies; made anew after a change

  constructor() {
    this.clear();
  }

  /** Forget everything (another person looks now). */
  clear() {
    this.#threads.clear();
    Object.assign(this, {
      loaded: false,
      link: "connecting",
      problem: null,
      me: null,
      team: null,
      bot: null,
      users: new Map(),
      channels: new Map(),
      messages: new Map(),
      ephemeral: [],
      statuses: new Map(),
      home: null,
      prompts: [],
      connected: false,
      banner: null,
      views: [],
    });
  }

  listen(listener) {
    this.#listeners.push(listener);
  }

  changed() {
    this.#threads.clear();
    if (this.#pending) return;
    this.#pending = true;
    queueMicrotask(() => {
      this.#pending = false;
      for (const listener of this.#listeners) listener();
    });
  }

  /** Take a whole snapshot; of open modals it holds the top one. */
  load(snapshot) {
    Object.assign(this, {
      loaded: true,
      problem: null,
      me: snapshot.me,
      team: snapshot.team,
      bot: snapshot.bot,
      home: snapshot.home,
      prompts: snapshot.prompts ?? [],
      connected: snapshot.connected,
      banner: snapshot.banner,
      users: new Map(snapshot.users.map((user) => [user.id, user])),
      channels: new Map(snapshot.channels.map((channel) => [channel.id, channel])),
      messages: new Map(
        Object.entries(snapshot.messages).map(([id, list]) => [id, [...list].sort(byTs)]),
      ),
      statuses: new Map(
        (snapshot.statuses ?? []).map((status) => [
          statusKey(status.channel, status.thread_ts),
          status,
        ]),
      ),
    });
    const known = new Map(this.ephemeral.map((item) => [item.id, item.after]));
    this.ephemeral = (snapshot.ephemeral ?? []).map((item) => ({
      ...item,
      after: known.get(item.id) ?? this.#place(item),
    }));
    const top = snapshot.view ?? null;
    const at = this.views.findIndex((view) => view.id === top?.id);
    this.views = top ? [...this.views.slice(0, Math.max(at, 0)), top] : [];
    this.changed();
  }

  /** Where an ephemeral message stands: its own time if it has one, else after what is there now. */
  #place(item) {
    if (/^\d+\.\d+$/.test(item.ts ?? item.id ?? "")) return item.ts ?? item.id;
    return this.messages.get(item.channel)?.at(-1)?.ts ?? "0";
  }

  /** Take one live event; unknown ones are ignored. */
  apply(event) {
    const take = {
      message: () => this.#message(event.channel, event.message),
      deleted: () => this.#deleted(event.channel, event.ts),
      ephemeral: () => this.#ephemeral(event),
      status: () => this.#status(event),
      home: () => (this.home = event.view),
      view: () => this.#view(event.view),
      view_closed: () => (this.views = this.views.filter((view) => view.id !== event.view_id)),
      connection: () => (this.connected = event.connected),
      prompts: () => (this.prompts = event.prompts ?? []),
      banner: () => (this.banner = event.banner),
    }[event.type];
    if (!take) return;
    take();
    this.changed();
  }

  #message(channel, message) {
    const list = this.messages.get(channel) ?? [];
    const at = list.findIndex((known) => known.ts === message.ts);
    if (at >= 0) list[at] = message;
    else list.push(message);
    list.sort(byTs);
    this.messages.set(channel, list);
  }

  #deleted(channel, ts) {
    this.messages.set(
      channel,
      (this.messages.get(channel) ?? []).filter((message) => message.ts !== ts),
    );
    this.ephemeral = this.ephemeral.filter((item) => item.id !== ts);
  }

  #ephemeral({ type: _, ...item }) {
    const at = this.ephemeral.findIndex((known) => known.id === item.id);
    if (at >= 0) this.ephemeral[at] = { ...item, after: this.ephemeral[at].after };
    else this.ephemeral.push({ ...item, after: this.#place(item) });
  }

  #status(event) {
    const key = statusKey(event.channel, event.thread_ts);
    if (event.status || event.stoppable) this.statuses.set(key, event);
    else this.statuses.delete(key);
  }

  #view(view) {
    const at = this.views.findIndex((open) => open.id === view.id);
    const alone = at < 0 && view.root_view_id === view.id; // a new first modal replaces all others
    if (at >= 0) this.views[at] = view;
    this.views = at >= 0 ? [...this.views] : alone ? [view] : [...this.views, view];
  }

  /** Hide an ephemeral message in this window. */
  dismiss(id) {
    this.ephemeral = this.ephemeral.filter((item) => item.id !== id);
    this.changed();
  }

  /** The messages of a channel that stand outside threads. */
  roots(channel) {
    return (this.messages.get(channel) ?? []).filter(
      (message) =>
        !message.thread_ts ||
        message.thread_ts === message.ts ||
        message.subtype === "thread_broadcast",
    );
  }

  /** The replies of a thread, oldest first. */
  replies(channel, root) {
    return this.#threadsOf(channel).get(root) ?? [];
  }

  #threadsOf(channel) {
    const known = this.#threads.get(channel);
    if (known) return known;
    const threads = new Map();
    for (const message of this.messages.get(channel) ?? []) {
      if (!message.thread_ts || message.thread_ts === message.ts) continue;
      if (!threads.has(message.thread_ts)) threads.set(message.thread_ts, []);
      threads.get(message.thread_ts).push(message);
    }
    this.#threads.set(channel, threads);
    return threads;
  }

  message(channel, ts) {
    return (this.messages.get(channel) ?? []).find((message) => message.ts === ts) ?? null;
  }

  status(channel, threadTs) {
    return this.statuses.get(statusKey(channel, threadTs)) ?? null;
  }

  isBot(message) {
    return Boolean(message.bot_id) || message.user === this.bot?.user_id;
  }

  /** The direct conversation between this person and the bot. */
  direct() {
    return [...this.channels.values()].find((channel) => channel.kind === "im") ?? null;
  }
}
