// A small Markdown reader for `markdown` blocks. It builds nodes and never reads HTML: tags are text.
import { el, link, safeHref } from "./dom.js";
import { emoji, withEmoji } from "./emoji.js";
import { channelMention, userMention } from "./mentions.js";

const MAX_DEPTH = 6;
const INTERESTING = /[\\`*_~[!<:h]/g;
const LINK = /!?\[([^[\]\n]*)\]\(([^()\s]*)(?:\s+"[^"\n]*")?\)/y;
const ANGLE = /<(https?:[^<>\s]+|mailto:[^<>\s]+|[@#][A-Z0-9]+(?:\|[^<>\n]*)?)>/y;
const EMOJI = /:([a-z0-9_+-]+):/y;
const BARE_URL = /https?:\/\/[^\s<>"'`)\]]+/y;
const CODE = /(`+)([^`\n](?:[^\n]*?[^`\n])?)\1(?!`)/y;
const PAIRS = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "s"],
  ["*", "em"],
  ["_", "em"],
  ["~", "s"],
];

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function paired(text, at, ctx, depth) {
  for (const [sign, tag] of PAIRS) {
    if (!text.startsWith(sign, at)) continue;
    if (sign[0] === "_" && at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1])) return null;
    const end = text.indexOf(sign, at + sign.length + 1);
    const body = end < 0 ? "" : text.slice(at + sign.length, end);
    if (!body || body !== body.trim()) continue;
    return [el(tag, {}, inline(body, ctx, depth + 1)), end + sign.length - at];
  }
  return null;
}

function angle(body, ctx) {
  if (body[0] === "@") return userMention(body.slice(1).split("|")[0], body.split("|")[1], ctx);
  if (body[0] === "#") return channelMention(body.slice(1).split("|")[0], body.split("|")[1], ctx);
  return link(body);
}

function linked(found, ctx, depth) {
  const [whole, label, url] = found;
  if (whole[0] === "!")
    return el("span", { class: "image-address", text: `${label || "image"} (${url})` });
  if (safeHref(url) === null)
    return el("span", { class: "unsafe-link", text: `${label} (${url})` });
  return link(url, inline(label || url, ctx, depth + 1));
}

function tokenAt(text, at, ctx, depth) {
  const sign = text[at];
  let found;
  if (sign === "\\")
    return at + 1 < text.length && /[^\w\s]/.test(text[at + 1]) ? [text[at + 1], 2] : null;
  if (sign === "`") found = match(CODE, text, at);
  if (found) return [el("code", { text: found[2] }), found[0].length];
  if (sign === "[" || sign === "!") found = match(LINK, text, at);
  if (found) return [linked(found, ctx, depth), found[0].length];
  if (sign === "<") found = match(ANGLE, text, at);
  if (found) return [angle(found[1], ctx), found[0].length];
  if (sign === ":") found = match(EMOJI, text, at);
  if (found) return [emoji(found[1]), found[0].length];
  if (sign === "h") found = match(BARE_URL, text, at);
  if (found) return [link(found[0]), found[0].length];
  return "*_~".includes(sign) ? paired(text, at, ctx, depth) : null;
}

function inline(text, ctx, depth = 0) {
  if (depth > MAX_DEPTH) return [text];
  const nodes = [];
  let plain = 0;
  for (let at = 0; at < text.length;) {
    INTERESTING.lastIndex = at;
    const hit = INTERESTING.exec(text);
    if (!hit) break;
    const token = tokenAt(text, hit.index, ctx, depth);
    at = hit.index + (token ? token[1] : 1);
    if (!token) continue;
    if (hit.index > plain) nodes.push(...withEmoji(text.slice(plain, hit.index)));
    nodes.push(token[0]);
    plain = at;
  }
  if (plain < text.length) nodes.push(...withEmoji(text.slice(plain)));
  return nodes;
}

const FENCE = /^\s*(`{3,}|~{3,})\s*([\w+#.-]*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/;

function cells(line) {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());
}

function isTableStart(lines, at) {
  return (
    lines[at].includes("|") &&
    (lines[at + 1] ?? "").length < 500 &&
    /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1] ?? "") &&
    lines[at + 1].includes("|")
  );
}

function table(lines, at, ctx) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const row = (tag) => (line) =>
    el(
      "tr",
      {},
      cells(line).map((cell) => el(tag, {}, inline(cell, ctx))),
    );
  const head = el("thead", {}, row("th")(lines[at]));
  const body = el("tbody", {}, lines.slice(at + 2, end).map(row("td")));
  return [el("div", { class: "table-frame" }, el("table", {}, head, body)), end];
}

function fence(lines, at) {
  const [, sign, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(sign)) end += 1;
  const code = el("code", { text: lines.slice(at + 1, end).join("\n") });
  const label = language ? el("span", { class: "code-language", text: language }) : null;
  return [
    el("div", { class: "code-frame" }, label, el("pre", { class: "code", tabindex: "0" }, code)),
    end + 1,
  ];
}

function item(found, ctx) {
  const [, space, sign, box, body] = found;
  const shown = box === undefined ? (/\d/.test(sign) ? sign : "•") : box === " " ? "☐" : "☑";
  const node = el(
    "li",
    {},
    el("span", { class: "list-marker", "aria-hidden": "true", text: shown }),
  );
  node.append(el("span", { class: "lines list-body" }, inline(body, ctx)));
  node.style.marginInlineStart = `${Math.min(Math.floor(space.length / 2), 8) * 24}px`;
  return node;
}

function list(lines, at, ctx) {
  const node = el("ul", { class: "rich-list" });
  let end = at;
  for (; end < lines.length; end += 1) {
    const found = ITEM.exec(lines[end]);
    if (found) node.append(item(found, ctx));
    else if (lines[end].trim() && /^\s+/.test(lines[end])) {
      node.lastElementChild.lastElementChild.append("\n", ...inline(lines[end].trim(), ctx));
    } else break;
  }
  return [node, end];
}

function quote(lines, at, ctx) {
  let end = at;
  while (end < lines.length && /^\s*>/.test(lines[end])) end += 1;
  const body = lines.slice(at, end).map((line) => line.replace(/^\s*> ?/, ""));
  return [
    el(
      "blockquote",
      { class: "quote" },
      body.map((line) => el("div", {}, inline(line, ctx))),
    ),
    end,
  ];
}

function startsBlock(line) {
  return (
    FENCE.test(line) ||
    ITEM.test(line) ||
    /^#{1,6}\s/.test(line) ||
    /^\s*>/.test(line) ||
    !line.trim()
  );
}

function paragraph(lines, at, ctx) {
  let end = at + 1;
  while (end < lines.length && !startsBlock(lines[end])) end += 1;
  return [el("p", { class: "lines" }, inline(lines.slice(at, end).join("\n"), ctx)), end];
}

function blockAt(lines, at, ctx) {
  const line = lines[at];
  const heading = /^(#{1,6})\s+(.*?)#*$/.exec(line);
  if (!line.trim()) return [null, at + 1];
  if (FENCE.test(line)) return fence(lines, at);
  if (heading)
    return [
      el(
        "div",
        { class: "md-heading", role: "heading", "aria-level": "4" },
        inline(heading[2], ctx),
      ),
      at + 1,
    ];
  if (/^\s*([-*_])(?:\s*\1){2,}\s*$/.test(line)) return [el("hr"), at + 1];
  if (isTableStart(lines, at)) return table(lines, at, ctx);
  if (ITEM.test(line)) return list(lines, at, ctx);
  if (/^\s*>/.test(line)) return quote(lines, at, ctx);
  return paragraph(lines, at, ctx);
}

/** The nodes of a Markdown text. */
export function markdown(text, ctx) {
  const lines = String(text ?? "")
    .replace(/\r\n?/g, "\n")
    .split("\n");
  const root = el("div", { class: "markdown" });
  for (let at = 0; at < lines.length;) {
    const [node, next] = blockAt(lines, at, ctx);
    if (node) root.append(node);
    at = next;
  }
  return root;
}
