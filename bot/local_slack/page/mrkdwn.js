// Slack's mrkdwn: `&lt; &gt; &amp;` are the only entities, `<…>` holds references and links.
// Every pattern excludes its own marker, so hostile text costs linear time and depth is at most 3.
import { el, link } from "./dom.js";
import { emoji, withEmoji } from "./emoji.js";
import { broadcastMention, channelMention, dateMention, userMention } from "./mentions.js";

const STYLES = [
  ["*", "strong", /\*(?=[^\s*])([^*\n]*)\*(?![\p{L}\p{N}*])/uy],
  ["_", "em", /_(?=[^\s_])([^_\n]*)_(?![\p{L}\p{N}_])/uy],
  ["~", "s", /~(?=[^\s~])([^~\n]*)~(?![\p{L}\p{N}~])/uy],
];
const REFERENCE = /<([^<>\n]+)>/y;
const CODE = /`([^`\n]+)`/y;
const EMOJI = /:([a-z0-9_+'-]+(?:::skin-tone-[2-6])?):/y;
const BARE_URL = /https?:\/\/[^\s<>|"'`]+/y;
const INTERESTING = /[<`*_~:h]/g;

/** Undo Slack's three entities, once. */
export function unescape(text) {
  return text.replace(/&(lt|gt|amp);/g, (_, name) => ({ lt: "<", gt: ">", amp: "&" })[name]);
}

function reference(body, ctx) {
  const bar = body.indexOf("|");
  const target = bar < 0 ? body : body.slice(0, bar);
  const label = bar < 0 ? "" : unescape(body.slice(bar + 1));
  if (target.startsWith("@")) return userMention(target.slice(1), label.replace(/^@/, ""), ctx);
  if (target.startsWith("#")) return channelMention(target.slice(1), label, ctx);
  if (target.startsWith("!date^")) {
    const [, seconds, format, url] = target.split("^");
    return dateMention(seconds, format, url && unescape(url), label);
  }
  if (target.startsWith("!subteam^"))
    return el("span", { class: "mention", text: label || "@group" });
  if (target.startsWith("!")) return broadcastMention(target.slice(1));
  const url = unescape(target);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url)) return document.createTextNode(unescape(`<${body}>`));
  return label && label !== url ? link(url, label) : link(url);
}

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function styled(text, at, ctx) {
  const before = at > 0 ? text[at - 1] : " ";
  if (/[\p{L}\p{N}]/u.test(before)) return null;
  for (const [marker, tag, pattern] of STYLES) {
    if (text[at] !== marker) continue;
    const found = match(pattern, text, at);
    if (!found || /\s$/.test(found[1])) return null;
    return [el(tag, {}, inline(found[1], ctx)), found[0].length];
  }
  return null;
}

function tokenAt(text, at, ctx) {
  let found;
  switch (text[at]) {
    case "<":
      found = match(REFERENCE, text, at);
      return found && [reference(found[1], ctx), found[0].length];
    case "`":
      found = match(CODE, text, at);
      return found && [el("code", { text: unescape(found[1]) }), found[0].length];
    case ":":
      found = match(EMOJI, text, at);
      return found && [emoji(found[1]), found[0].length];
    case "h":
      found = match(BARE_URL, text, at);
      return found && [link(unescape(found[0])), found[0].length];
    default:
      return styled(text, at, ctx);
  }
}

/** The nodes of one run of mrkdwn without block structure. */
export function inline(text, ctx) {
  const nodes = [];
  let plain = 0;
  INTERESTING.lastIndex = 0;
  let hit = INTERESTING.exec(text);
  while (hit) {
    const at = hit.index;
    const token = tokenAt(text, at, ctx);
    let next = at + 1;
    if (token) {
      if (at > plain) nodes.push(...withEmoji(unescape(text.slice(plain, at))));
      nodes.push(token[0]);
      next = at + token[1];
      plain = next;
    }
    INTERESTING.lastIndex = next;
    hit = INTERESTING.exec(text);
  }
  if (plain < text.length) nodes.push(...withEmoji(unescape(text.slice(plain))));
  return nodes;
}

function paragraphs(text, ctx) {
  const nodes = [];
  let quote = null;
  let open = null;
  for (const line of text.split("\n")) {
    const quoted = /^(?:&gt;|>) ?/.exec(line);
    const body = quoted ? line.slice(quoted[0].length) : line;
    if (Boolean(quoted) !== Boolean(quote) || !open) {
      quote = quoted;
      open = el(quoted ? "blockquote" : "div", { class: quoted ? "quote" : "lines" });
      nodes.push(open);
    } else {
      open.append("\n");
    }
    open.append(...inline(body, ctx));
  }
  return nodes;
}

/** The nodes of a whole mrkdwn text: fenced code, quotes and lines. */
export function mrkdwn(text, ctx) {
  const nodes = [];
  for (const [index, part] of String(text ?? "")
    .split("```")
    .entries()) {
    const fenced = index % 2 === 1;
    const body = fenced ? part.replace(/^\n|\n$/g, "") : part.replace(/^\n/, index ? "" : "\n");
    if (!body || (!fenced && !body.trim() && index > 0)) continue;
    if (fenced)
      nodes.push(el("pre", { class: "code", tabindex: "0" }, el("code", { text: unescape(body) })));
    else nodes.push(...paragraphs(body.replace(/\n$/, ""), ctx));
  }
  return el("div", { class: "mrkdwn" }, nodes);
}

/** A Block Kit text object ({type: plain_text | mrkdwn, text}) as a node. */
export function textObject(object, ctx) {
  if (object === null || object === undefined) return null;
  if (typeof object === "string") return el("span", { class: "lines", text: object });
  if (object.type === "mrkdwn") return mrkdwn(object.text, ctx);
  return el("span", { class: "lines" }, plainWithEmoji(object.text));
}

/** Plain text in which only emoji names mean something. */
export function plainWithEmoji(text) {
  return String(text ?? "")
    .split(/(:[a-z0-9_+'-]+:)/)
    .map((part, index) => (index % 2 ? emoji(part.slice(1, -1)) : withEmoji(part)));
}

/** A message's text as its author typed it, for the edit box. */
export function editable(text, ctx) {
  const plain = String(text ?? "").replace(/<([^<>\n]+)>/g, (whole, body) => {
    const [target, label] = body.split("|");
    const user = ctx.users.get(target.slice(1));
    if (target.startsWith("@"))
      return `@${user ? (user.role === "bot" ? user.name : user.real_name) : label || target}`;
    if (target.startsWith("#"))
      return `#${ctx.channels.get(target.slice(1))?.name ?? label ?? target}`;
    return target.startsWith("!") ? whole : label || target;
  });
  return unescape(plain);
}
