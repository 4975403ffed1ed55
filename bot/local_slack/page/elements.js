// Interactive elements of sections and action blocks. Each reports through ctx.act.
import { el, link, safeHref } from "./dom.js";
import { icon } from "./icons.js";
import { inputElement, isInput, selectedOf } from "./inputs.js";
import { plainWithEmoji } from "./mrkdwn.js";
import { openMenu } from "./menu.js";

/** Ask first where the element wants it, then tell the app; the control is held meanwhile. */
async function act(node, element, blockId, extra, ctx) {
  if (element.confirm && !(await ctx.confirm(element.confirm))) return;
  node.disabled = true;
  try {
    await ctx.act({ block_id: blockId, action_id: element.action_id, ...extra });
  } finally {
    node.disabled = false;
  }
}

function button(element, blockId, ctx) {
  const style = ["primary", "danger"].includes(element.style) ? element.style : "plain";
  const node = el(
    "button",
    {
      type: "button",
      class: `button ${style}`,
      "data-action": element.action_id,
      "data-focus": `${blockId}/${element.action_id}/${element.value ?? ""}`,
      "aria-label": element.accessibility_label,
    },
    plainWithEmoji(element.text?.text),
  );
  node.addEventListener("click", () => act(node, element, blockId, { value: element.value }, ctx));
  if (!element.url) return node;
  return el(
    "span",
    { class: "button-with-link" },
    node,
    safeHref(element.url) ? link(element.url, icon("external")) : null,
  );
}

function overflow(element, blockId, ctx) {
  const node = el(
    "button",
    {
      type: "button",
      class: "button plain icon-only",
      "aria-label": "More actions",
      "aria-haspopup": "menu",
    },
    icon("more"),
  );
  const choose = (option) => act(node, element, blockId, { selected: option.value }, ctx);
  node.addEventListener("click", () => {
    const items = (element.options ?? []).map((option) => ({
      label: option.text?.text ?? "",
      run: () => choose(option),
    }));
    openMenu(node, items);
  });
  node.dataset.action = element.action_id;
  return node;
}

function feedback(element, blockId, ctx) {
  const choices = [element.positive_button, element.negative_button].filter(Boolean);
  return el(
    "span",
    { class: "actions" },
    choices.map((choice) => button({ ...choice, action_id: element.action_id }, blockId, ctx)),
  );
}

function iconButton(element, blockId, ctx) {
  const visible = element.visible_to_user_ids;
  if (visible && !visible.includes(ctx.me.id)) return null;
  const label = element.text?.text ?? element.accessibility_label ?? "Delete";
  const node = el(
    "button",
    {
      type: "button",
      class: "button plain icon-only",
      "aria-label": label,
      title: label,
      "data-action": element.action_id,
    },
    icon("trash"),
  );
  node.addEventListener("click", () => act(node, element, blockId, { value: element.value }, ctx));
  return node;
}

/** A select, picker or group outside a form: its choice is an action at once. */
function choosing(element, blockId, ctx) {
  const { node, read, control } = inputElement(element, blockId, ctx);
  const send = () => act(control ?? node, element, blockId, { selected: selectedOf(read()) }, ctx);
  node.addEventListener("change", send);
  return node;
}

/** One interactive element. */
export function interactive(element, blockId, ctx) {
  switch (element.type) {
    case "button":
    case "workflow_button":
      return button(element, blockId, ctx);
    case "overflow":
      return overflow(element, blockId, ctx);
    case "feedback_buttons":
      return feedback(element, blockId, ctx);
    case "icon_button":
      return iconButton(element, blockId, ctx);
    default:
      if (isInput(element.type)) return choosing(element, blockId, ctx);
      return el("span", {
        class: "unknown-block",
        text: `This page does not draw “${element.type}”.`,
      });
  }
}

/** The element beside a section's text. */
export function accessory(element, blockId, ctx) {
  if (element.type === "image") {
    return el("div", {
      class: "image-address",
      text: `${element.alt_text ?? "image"}: ${element.image_url ?? ""}`,
    });
  }
  return el("div", { class: "accessory" }, interactive(element, blockId, ctx));
}
