// Which conversations hold something new for a person. Marks live in localStorage, per person,
// so that two windows of one person agree and a reload remembers.

const KEY = (user) => `treadle-read-${user}`;

/** Read marks of one person: place ("C0GENERAL" or "C0GENERAL:thread") to the newest ts seen. */
export class Unread {
  constructor(store) {
    this.store = store;
    this.user = null;
    this.marks = {};
  }

  /** Load the marks; what exists at somebody's very first look counts as read. */
  start(user) {
    this.user = user;
    try {
      this.marks = JSON.parse(localStorage.getItem(KEY(user))) ?? {};
    } catch {
      this.marks = {};
    }
    if (!this.marks.base) {
      const newest = [...this.store.messages.values()].map((list) => list.at(-1)?.ts ?? "0");
      this.marks.base = newest.reduce((top, ts) => (Number(ts) > Number(top) ? ts : top), "0.1");
      this.#save();
    }
  }

  #save() {
    localStorage.setItem(KEY(this.user), JSON.stringify(this.marks));
  }

  #isNew(message, place) {
    const mark = Math.max(Number(this.marks[place] ?? 0), Number(this.marks.base ?? 0));
    return message.user !== this.user && Number(message.ts) > mark;
  }

  /** The person looks at this place now. */
  seen(channel, thread) {
    const list = thread ? this.store.replies(channel, thread) : this.store.roots(channel);
    const newest = list.at(-1)?.ts;
    const place = thread ? `${channel}:${thread}` : channel;
    if (!newest || Number(this.marks[place] ?? 0) >= Number(newest)) return;
    this.marks[place] = newest;
    this.#save();
  }

  /** Whether a thread has replies that the person has not seen. */
  thread(channel, root) {
    return this.store
      .replies(channel, root)
      .some((message) => this.#isNew(message, `${channel}:${root}`));
  }

  /** {unread, mentions} of a conversation, threads included. */
  channel(channel) {
    let unread = false;
    let mentions = 0;
    const direct = channel.kind === "im";
    for (const message of this.store.messages.get(channel.id) ?? []) {
      const inThread = message.thread_ts && message.thread_ts !== message.ts;
      if (!this.#isNew(message, inThread ? `${channel.id}:${message.thread_ts}` : channel.id))
        continue;
      unread = true;
      if (direct || (message.text ?? "").includes(`<@${this.user}>`)) mentions += 1;
    }
    return { unread, mentions };
  }
}
