// The server's control API, and the live connection that comes back by itself.

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;
const SILENT =
  "The demo server does not answer; look whether it still runs, this page reconnects by itself.";

async function answerOf(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  if (response.ok && body && body.ok !== false) return body;
  if (response.status === 403)
    throw new Error("This address is not valid any more; open the one that the demo printed last.");
  throw new Error(body?.error ?? `The demo server answered ${response.status}.`);
}

/** Calls for one person. Every failure is an Error whose message is a sentence. */
export class Api {
  constructor(token, user) {
    this.token = token;
    this.user = user;
  }

  async #send(path, options) {
    let response;
    try {
      response = await fetch(path, {
        ...options,
        headers: { "X-Page-Token": this.token, "Content-Type": "application/json" },
      });
    } catch {
      throw new Error(SILENT);
    }
    return answerOf(response);
  }

  /** The whole snapshot for this person. */
  snapshot() {
    return this.#send(`/control/state?${new URLSearchParams({ user: this.user })}`, {});
  }

  /** One action of this person. */
  post(action, body = {}) {
    return this.#send(`/control/${action}`, {
      method: "POST",
      body: JSON.stringify({ user: this.user, ...body }),
    });
  }

  /** The address of the live connection. */
  liveAddress() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return `${scheme}//${location.host}/control/live?${new URLSearchParams({ user: this.user, token: this.token })}`;
  }
}

/**
 * One person's live events. Each (re)connection first calls `resync` (which loads a snapshot);
 * events that arrive meanwhile wait and are applied after it, in order, so none is lost.
 */
export class Live {
  #socket = null;
  #timer = 0;
  #wait = FIRST_WAIT_MS;
  #closed = false;

  constructor(api, { resync, onEvent, onLink }) {
    this.api = api;
    this.handlers = { resync, onEvent, onLink };
    this.retryNow = () => {
      if (!this.#socket && !document.hidden) this.#connect();
    };
    document.addEventListener("visibilitychange", this.retryNow);
    this.#connect();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.retryNow);
    this.#socket?.close();
  }

  #connect() {
    clearTimeout(this.#timer);
    const socket = new WebSocket(this.api.liveAddress());
    this.#socket = socket;
    let early = [];
    let opened = false;
    socket.addEventListener("message", ({ data }) => {
      const event = JSON.parse(data);
      if (early) early.push(event);
      else this.handlers.onEvent(event);
    });
    socket.addEventListener("open", async () => {
      opened = true;
      try {
        await this.handlers.resync();
      } catch (error) {
        this.handlers.onLink("down", error.message);
        socket.close();
        return;
      }
      if (this.#closed) return;
      this.#wait = FIRST_WAIT_MS;
      const waiting = early;
      early = null;
      for (const event of waiting) this.handlers.onEvent(event);
      this.handlers.onLink("up");
    });
    socket.addEventListener("close", () => this.#lost(opened));
  }

  /** A refused socket gives no reason; asking for the snapshot does. */
  async #lost(opened) {
    this.#socket = null;
    if (this.#closed) return;
    this.handlers.onLink("down");
    if (!opened)
      await this.api.snapshot().catch((error) => this.handlers.onLink("down", error.message));
    if (this.#closed || this.#socket) return;
    this.#timer = setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }
}
