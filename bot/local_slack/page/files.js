// What hangs on a message beside its text and blocks.
import { renderBlocks } from "./blocks.js";
import { el, safeHref } from "./dom.js";
import { icon } from "./icons.js";
import { mrkdwn } from "./mrkdwn.js";

/** An attachment of the older kind: a bar, a title, a text or blocks. */
export function attached(attachment, ctx) {
  const text = attachment.text ?? attachment.fallback;
  const blocks = renderBlocks(attachment.blocks, ctx);
  return el(
    "div",
    { class: "attachment" },
    attachment.pretext ? mrkdwn(attachment.pretext, ctx) : null,
    attachment.title,
    blocks.length ? blocks : mrkdwn(text, ctx),
  );
}

function size(bytes) {
  if (!Number.isFinite(bytes)) return "";
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1_048_576
    ? `${(bytes / 1024).toFixed(1)} kB`
    : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

function withToken(address, token) {
  const target = new URL(address);
  target.searchParams.set("token", token);
  return target.href;
}

/** A file of a message; only this server's own files become links, with the page's token. */
export function file(item, token) {
  const address = item.url_private_download ?? item.url_private ?? "";
  const own = safeHref(address)?.startsWith(`${location.origin}/`);
  const words = [
    el("strong", { text: item.title || item.name || "File" }),
    el("span", {
      class: "hint",
      text: [item.pretty_type ?? item.mimetype, size(item.size)].filter(Boolean).join(" · "),
    }),
  ];
  const inside = [icon("file"), el("span", { class: "file-words" }, words)];
  if (!own) return el("div", { class: "file" }, inside);
  return el(
    "a",
    {
      class: "file",
      href: withToken(address, token),
      target: "_blank",
      rel: "noopener noreferrer",
      download: item.name,
    },
    inside,
  );
}
