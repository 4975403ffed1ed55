// People, channels and broadcasts inside a text.
import { el, link } from "./dom.js";

/** @Name; the person who looks at the page sees their own name marked. */
export function userMention(id, fallback, ctx) {
  const user = ctx.users.get(id);
  const name = user ? user.real_name || user.name : fallback || id;
  const mine = id === ctx.me.id ? " mention-me" : "";
  return el("span", { class: `mention${mine}`, "data-user": id, text: `@${name}` });
}

/** #name; a click goes there when the person may see that channel. */
export function channelMention(id, fallback, ctx) {
  const channel = ctx.channels.get(id);
  if (!channel) return el("span", { class: "mention", text: `#${fallback || id}` });
  const open = () => ctx.openChannel(id);
  return el("button", {
    type: "button",
    class: "mention",
    on: { click: open },
    text: `#${channel.name}`,
  });
}

/** @channel, @here or @everyone: the whole room is called, so it is marked loudly. */
export function broadcastMention(range) {
  return el("span", { class: "mention mention-me broadcast", text: `@${range}` });
}

/** Slack's date token, in the reader's own time zone; the sender's fallback where it is unknown. */
export function dateMention(seconds, format, url, fallback) {
  const moment = new Date(Number(seconds) * 1000);
  if (Number.isNaN(moment.getTime())) return document.createTextNode(fallback || "");
  const day = moment.toLocaleDateString(undefined, {
    year: "numeric",
    month: "long",
    day: "numeric",
  });
  const clock = moment.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  const text = String(format || "{date_long}")
    .replace(/\{date[a-z_]*\}|\{day[a-z_]*\}|\{ago\}/g, day)
    .replace(/\{time[a-z_]*\}/g, clock);
  return url ? link(url, text) : el("time", { datetime: moment.toISOString(), text });
}
