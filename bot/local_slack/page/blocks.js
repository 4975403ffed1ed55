// Block Kit: one small function a block type. An unknown type becomes a grey note, never nothing.
import { el, link } from "./dom.js";
import { accessory, interactive } from "./elements.js";
import { icon } from "./icons.js";
import { inputBlock } from "./inputs.js";
import { markdown } from "./markdown.js";
import { mrkdwn, plainWithEmoji, textObject } from "./mrkdwn.js";
import { richText } from "./richtext.js";

/** An image of a foreign host is never requested: its address is shown instead. */
function imageAddress(image, title) {
  const address = image?.image_url ?? image?.slack_file?.url ?? "";
  const alt = image?.alt_text ? `${image.alt_text}: ` : "";
  return el(
    "div",
    { class: "image-address" },
    title,
    icon("file", "icon small"),
    el("span", { text: `${alt}${address}` }),
  );
}

function section(block, ctx) {
  const fields = (block.fields ?? []).map((field) =>
    el("div", { class: "field" }, textObject(field, ctx)),
  );
  const body = el("div", { class: "section-body" }, textObject(block.text, ctx));
  if (fields.length) body.append(el("div", { class: "fields" }, fields));
  if (!block.accessory) return body;
  return el("div", { class: "section" }, body, accessory(block.accessory, block.block_id, ctx));
}

function context(block, ctx) {
  const parts = (block.elements ?? []).map((element) =>
    element.type === "image" ? imageAddress(element) : textObject(element, ctx),
  );
  return el("div", { class: "context" }, parts);
}

function actions(block, ctx) {
  const elements = (block.elements ?? []).map((element) =>
    interactive(element, block.block_id, ctx),
  );
  return el("div", { class: "actions", role: "group" }, elements);
}

function cell(value, ctx) {
  if (value?.type === "rich_text") return richText(value, ctx);
  return document.createTextNode(String(value?.text ?? value?.value ?? ""));
}

function table(block, ctx) {
  const settings = block.column_settings ?? [];
  const rows = (block.rows ?? []).map((row, index) => {
    const cells = row.map((value, column) => {
      const node = el(index === 0 ? "th" : "td", {}, cell(value, ctx));
      node.style.textAlign =
        { center: "center", right: "right" }[settings[column]?.align] ?? "left";
      return node;
    });
    return el("tr", {}, cells);
  });
  const body = el("table", {}, el("thead", {}, rows.slice(0, 1)), el("tbody", {}, rows.slice(1)));
  return el("div", { class: "table-frame", tabindex: "0" }, body);
}

const TASK_WORDS = {
  pending: "Waiting",
  in_progress: "Running",
  complete: "Done",
  error: "Failed",
};

function taskMark(status) {
  const inner =
    { complete: icon("check", "icon small"), error: icon("close", "icon small") }[status] ?? null;
  const label = TASK_WORDS[status] ?? String(status ?? "");
  return el(
    "span",
    { class: "task-mark", "data-status": status, role: "img", "aria-label": label, title: label },
    inner,
  );
}

function taskCard(block, ctx) {
  const detail = ["details", "output"]
    .filter((name) => block[name])
    .map((name) => {
      const value = block[name];
      return el(
        "div",
        { class: `task-${name}` },
        typeof value === "string" ? mrkdwn(value, ctx) : richText(value, ctx),
      );
    });
  const sources = (block.sources ?? []).map((source) =>
    link(source.url ?? "", source.text ?? source.url ?? ""),
  );
  if (sources.length) detail.push(el("div", { class: "task-sources" }, sources));
  const title = el("span", { class: "task-title", text: block.title ?? "" });
  return el(
    "div",
    { class: "task-card" },
    el("div", { class: "task-head" }, taskMark(block.status), title),
    detail,
  );
}

function plan(block, ctx) {
  const title = el("div", { class: "plan-title", text: block.title ?? "" });
  return el(
    "div",
    { class: "plan" },
    title,
    (block.tasks ?? []).map((task) => taskCard(task, ctx)),
  );
}

function alertBlock(block, ctx) {
  const level = ["info", "warning", "error", "success"].includes(block.level)
    ? block.level
    : "default";
  return el(
    "div",
    { class: "alert", "data-level": level },
    icon("info"),
    textObject(block.text, ctx),
  );
}

function card(block, ctx) {
  const buttons = (block.actions ?? []).map((element) => interactive(element, block.block_id, ctx));
  return el(
    "div",
    { class: "card" },
    block.hero_image ? imageAddress(block.hero_image) : null,
    block.title ? el("div", { class: "card-title" }, textObject(block.title, ctx)) : null,
    block.subtitle ? el("div", { class: "card-subtitle" }, textObject(block.subtitle, ctx)) : null,
    block.body ? el("div", {}, textObject(block.body, ctx)) : null,
    buttons.length ? el("div", { class: "actions" }, buttons) : null,
  );
}

function container(block, ctx) {
  const title = block.rich_text_title
    ? richText(block.rich_text_title, ctx)
    : textObject(block.title, ctx);
  const children = (block.child_blocks ?? []).map((child) => renderBlock(child, ctx));
  if (!block.is_collapsible)
    return el("div", { class: "card" }, el("div", { class: "card-title" }, title), children);
  const props = { class: "card", open: !block.default_collapsed };
  return el("details", props, el("summary", { class: "card-title" }, title), children);
}

const RENDERERS = {
  rich_text: richText,
  section,
  header: (block) =>
    el(
      "div",
      { class: "block-header", role: "heading", "aria-level": "3" },
      plainWithEmoji(block.text?.text),
    ),
  divider: () => el("hr"),
  context,
  actions,
  context_actions: actions,
  markdown: (block, ctx) => markdown(block.text, ctx),
  table,
  image: (block, ctx) => imageAddress(block, block.title ? textObject(block.title, ctx) : null),
  task_card: taskCard,
  plan,
  alert: alertBlock,
  card,
  carousel: (block, ctx) =>
    el(
      "div",
      { class: "carousel" },
      (block.elements ?? []).map((element) => card(element, ctx)),
    ),
  container,
  input: inputBlock,
};

/** One block as a node. */
export function renderBlock(block, ctx) {
  const draw = Object.hasOwn(RENDERERS, block?.type) ? RENDERERS[block.type] : null;
  const node = draw
    ? draw(block, ctx)
    : el("div", {
        class: "unknown-block",
        text: `This page does not draw blocks of type “${block?.type}”.`,
      });
  node.classList.add("block");
  if (block?.block_id) node.dataset.block = block.block_id;
  return node;
}

/** The blocks of a message or view. */
export function renderBlocks(blocks, ctx) {
  return (blocks ?? []).map((block) => renderBlock(block, ctx));
}
