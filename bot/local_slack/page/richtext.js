// rich_text blocks: sections, nested lists, preformatted text and quotes, with every inline style.
import { el, link } from "./dom.js";
import { emoji, withEmoji } from "./emoji.js";
import { broadcastMention, channelMention, dateMention, userMention } from "./mentions.js";

const STYLE_TAGS = {
  bold: "strong",
  italic: "em",
  strike: "s",
  underline: "u",
  highlight: "mark",
  client_highlight: "mark",
  code: "code",
};

function styled(node, style) {
  let wrapped = node;
  for (const [name, tag] of Object.entries(STYLE_TAGS)) {
    if (style?.[name]) wrapped = el(tag, {}, wrapped);
  }
  return wrapped;
}

const COLOR = /^#[0-9a-f]{3,8}$/i;

function color(value) {
  const swatch = el("span", { class: "swatch" });
  if (COLOR.test(value)) swatch.style.backgroundColor = value;
  return el("span", {}, swatch, value);
}

function bareElement(element, ctx) {
  switch (element.type) {
    case "text":
      return el("span", {}, withEmoji(element.text ?? ""));
    case "link":
      return element.text && element.text !== element.url
        ? link(element.url, element.text)
        : link(element.url);
    case "emoji":
      return emoji(element.name ?? "");
    case "user":
      return userMention(element.user_id, "", ctx);
    case "channel":
      return channelMention(element.channel_id, "", ctx);
    case "broadcast":
      return broadcastMention(element.range);
    case "usergroup":
      return el("span", { class: "mention", text: `@${element.usergroup_id}` });
    case "team":
      return el("span", { class: "mention", text: element.team_id });
    case "date":
      return dateMention(element.timestamp, element.format, element.url, element.fallback);
    case "color":
      return color(String(element.value ?? ""));
    default:
      return el("span", { class: "unknown-inline", text: `[${element.type}]` });
  }
}

function inline(elements, ctx) {
  return (elements ?? []).map((element) => styled(bareElement(element, ctx), element.style));
}

/** The characters that a preformatted element holds: links show their address or text, unclickable. */
function preformattedText(elements) {
  return (elements ?? []).map((element) => element.text ?? element.url ?? "").join("");
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"];

function marker(element, position) {
  const indent = element.indent ?? 0;
  if (element.style !== "ordered") return ["•", "◦", "▪"][indent % 3];
  const number = position + 1 + (element.offset ?? 0);
  if (indent % 3 === 1) return `${LETTERS[(number - 1) % 26]}.`;
  if (indent % 3 === 2) return `${ROMAN[number - 1] ?? number}.`;
  return `${number}.`;
}

function list(element, ctx) {
  const node = el(element.style === "ordered" ? "ol" : "ul", {
    class: `rich-list${element.border ? " bordered" : ""}`,
    "data-indent": element.indent ?? 0,
  });
  node.style.marginInlineStart = `${Math.min(element.indent ?? 0, 8) * 26}px`;
  for (const [position, item] of (element.elements ?? []).entries()) {
    const sign = el("span", {
      class: "list-marker",
      "aria-hidden": "true",
      text: marker(element, position),
    });
    node.append(
      el("li", {}, sign, el("span", { class: "lines list-body" }, inline(item.elements, ctx))),
    );
  }
  return node;
}

function preformatted(element) {
  const code = el("code", { text: preformattedText(element.elements).replace(/\n$/, "") });
  const language = element.language
    ? el("span", { class: "code-language", text: element.language })
    : null;
  return el(
    "div",
    { class: "code-frame" },
    language,
    el("pre", { class: "code", tabindex: "0" }, code),
  );
}

/** The lines of a section, as lists of elements. */
function linesOf(elements) {
  const lines = [[]];
  for (const element of elements ?? []) {
    const texts = element.type === "text" ? String(element.text ?? "").split("\n") : [null];
    for (const [index, text] of texts.entries()) {
      if (index) lines.push([]);
      lines.at(-1).push(text === null ? element : { ...element, text });
    }
  }
  return lines;
}

const SIZE = / \([\d,. ]+ lines?, [\d,. ]+ characters?\)$/;

/** A section of a step: each line is its own node, so that each can be cut at the edge. */
function stepSection(element, ctx) {
  return linesOf(element.elements).map((line) => {
    if (!line[0]?.text?.startsWith("→"))
      return el("div", { class: "step-line" }, inline(line, ctx));
    const last = line.at(-1);
    const size = SIZE.exec(last.text ?? "")?.[0] ?? "";
    const rest = [
      ...line.slice(0, -1),
      { ...last, text: last.text.slice(0, last.text.length - size.length) },
    ];
    return el(
      "div",
      { class: "gist" },
      el("span", { class: "step-line" }, inline(rest, ctx)),
      el("span", { class: "gist-size", text: size }),
    );
  });
}

function part(element, ctx) {
  switch (element.type) {
    case "rich_text_section":
      return el(
        "div",
        { class: "lines" },
        ctx.step ? stepSection(element, ctx) : inline(element.elements, ctx),
      );
    case "rich_text_list":
      return list(element, ctx);
    case "rich_text_preformatted":
      return preformatted(element);
    case "rich_text_quote":
      return el("blockquote", { class: "quote lines" }, inline(element.elements, ctx));
    default:
      return el("div", {
        class: "unknown-block",
        text: `This page does not draw ${element.type}.`,
      });
  }
}

/** A whole rich_text block. */
export function richText(block, ctx) {
  return el(
    "div",
    { class: "rich-text" },
    (block.elements ?? []).map((element) => part(element, ctx)),
  );
}
