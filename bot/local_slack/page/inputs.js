// Input elements of modals and Home tabs. Each gives a node and `read()`, Slack's state value.
import { el } from "./dom.js";
import { textObject } from "./mrkdwn.js";

let serial = 0;

const TEXT_TYPES = {
  plain_text_input: "text",
  email_text_input: "email",
  url_text_input: "url",
  number_input: "text",
  datepicker: "date",
  timepicker: "time",
  datetimepicker: "datetime-local",
};
const ONE_OF = {
  static_select: "selected_option",
  users_select: "selected_user",
  radio_buttons: "selected_option",
  conversations_select: "selected_conversation",
  channels_select: "selected_channel",
};
const MANY_OF = {
  multi_static_select: "selected_options",
  checkboxes: "selected_options",
  multi_users_select: "selected_users",
  multi_conversations_select: "selected_conversations",
  multi_channels_select: "selected_channels",
};
const DATE_FIELDS = { datepicker: "selected_date", timepicker: "selected_time" };

/** Whether this page can draw the element type as an input. */
export function isInput(type) {
  return (
    [TEXT_TYPES, ONE_OF, MANY_OF].some((table) => Object.hasOwn(table, type)) ||
    type === "rich_text_input"
  );
}

function fieldOf(type) {
  return (
    ONE_OF[type] ??
    MANY_OF[type] ??
    DATE_FIELDS[type] ??
    (type === "datetimepicker" ? "selected_date_time" : "value")
  );
}

function initialOf(element) {
  const field = fieldOf(element.type);
  return element[field === "value" ? "initial_value" : field.replace("selected_", "initial_")];
}

/** What stands in the element now: what a person chose before an update, else the initial value. */
function currentOf(element, blockId, ctx) {
  const kept = ctx.kept?.[blockId]?.[element.action_id];
  return kept?.type === element.type ? kept[fieldOf(element.type)] : initialOf(element);
}

function localMinute(seconds) {
  const at = new Date(Number(seconds) * 1000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function textInput(element, current, names) {
  const multiline = element.multiline || element.type === "rich_text_input";
  const seconds = element.type === "datetimepicker" && current ? localMinute(current) : current;
  const node = el(multiline ? "textarea" : "input", {
    ...names,
    class: "text-input",
    type: multiline ? undefined : TEXT_TYPES[element.type],
    rows: multiline ? 4 : undefined,
    inputmode: element.type === "number_input" ? "decimal" : undefined,
    placeholder: element.placeholder?.text,
    maxlength: element.max_length,
  });
  node.value = typeof seconds === "string" ? seconds : "";
  return { node, control: node, raw: () => (node.value === "" ? null : node.value) };
}

function richTextValue(text) {
  const section = { type: "rich_text_section", elements: [{ type: "text", text }] };
  return { type: "rich_text", elements: [section] };
}

function optionsOf(element, ctx) {
  const named = (id, text) => ({ id, text });
  if (/users_select$/.test(element.type)) {
    return [...ctx.users.values()].map((user) => named(user.id, user.real_name || user.name));
  }
  if (/(conversations|channels)_select$/.test(element.type)) {
    return [...ctx.channels.values()]
      .filter((channel) => channel.kind === "channel")
      .map((channel) => named(channel.id, `#${channel.name}`));
  }
  const groups = element.option_groups ?? [{ options: element.options ?? [] }];
  return groups.flatMap((group) =>
    (group.options ?? []).map((option) => ({
      id: option.value,
      option,
      text: option.text?.text ?? option.value,
      group: group.label?.text,
      description: option.description,
    })),
  );
}

const idOf = (value) => (value && typeof value === "object" ? value.value : value);
const valueOf = (choice) => (choice ? (choice.option ?? choice.id) : null);

function selectInput(element, current, names, ctx) {
  const choices = optionsOf(element, ctx);
  const node = el(
    "select",
    { ...names, class: "select" },
    el("option", { value: "", text: element.placeholder?.text ?? "Choose…" }),
  );
  const groups = new Map();
  for (const [index, choice] of choices.entries()) {
    const option = el("option", { value: index, text: choice.text });
    if (!choice.group) node.append(option);
    else {
      if (!groups.has(choice.group))
        groups.set(choice.group, node.appendChild(el("optgroup", { label: choice.group })));
      groups.get(choice.group).append(option);
    }
  }
  const at = choices.findIndex((choice) => choice.id === idOf(current));
  node.value = at < 0 ? "" : String(at);
  return {
    node,
    control: node,
    raw: () => (node.value === "" ? null : valueOf(choices[Number(node.value)])),
  };
}

function boxes(element, current, names, ctx, many) {
  const chosen = new Set([current ?? []].flat().map(idOf));
  const group = `group-${names.id}`;
  const choices = optionsOf(element, ctx).map((choice) => {
    const box = el("input", {
      type: many ? "checkbox" : "radio",
      name: group,
      checked: chosen.has(choice.id),
    });
    return { choice, box };
  });
  const rows = choices.map(({ choice, box }) => {
    const description = choice.description
      ? el("span", { class: "hint" }, textObject(choice.description, ctx))
      : null;
    const text = choice.option?.text ? textObject(choice.option.text, ctx) : choice.text;
    return el("label", { class: "choice" }, box, el("span", {}, text, description));
  });
  const node = el(
    "div",
    {
      class: "choices",
      role: many ? "group" : "radiogroup",
      "data-action": names["data-action"],
      "aria-labelledby": `${names.id}-label`,
    },
    rows,
  );
  const picked = () =>
    choices.filter(({ box }) => box.checked).map(({ choice }) => valueOf(choice));
  return { node, control: null, raw: () => (many ? picked() : (picked()[0] ?? null)) };
}

function drawn(element, current, names, ctx) {
  if (Object.hasOwn(MANY_OF, element.type)) return boxes(element, current, names, ctx, true);
  if (element.type === "radio_buttons") return boxes(element, current, names, ctx, false);
  if (Object.hasOwn(ONE_OF, element.type)) return selectInput(element, current, names, ctx);
  return textInput(element, current, names);
}

/** Draw an input element: {node, control, read, id}; `control` is the one focusable part, if so. */
export function inputElement(element, blockId, ctx) {
  const label = element.placeholder?.text ?? element.action_id;
  const id = `input-${(serial += 1)}`;
  const names = {
    id,
    "data-action": element.action_id,
    "aria-label": ctx.labelled ? undefined : label,
  };
  const { node, control, raw } = drawn(element, currentOf(element, blockId, ctx), names, ctx);
  const read = () => {
    const value = raw();
    if (element.type === "rich_text_input")
      return { type: element.type, rich_text_value: richTextValue(value ?? "") };
    const seconds =
      element.type === "datetimepicker" && value
        ? Math.floor(new Date(value).getTime() / 1000)
        : value;
    return { type: element.type, [fieldOf(element.type)]: seconds };
  };
  ctx.inputs?.push({ blockId, actionId: element.action_id, read });
  return { node, control, read, id };
}

/** The chosen value as the server wants it: one word, or a list for elements of many choices. */
export function selectedOf(value) {
  if (value.selected_option !== undefined) return value.selected_option?.value ?? null;
  if (value.selected_options !== undefined)
    return value.selected_options.map((option) => option.value);
  const entry = Object.entries(value).find(([name]) => name !== "type");
  return entry ? entry[1] : null;
}

/** A whole input block: label, element, hint and the place for an error. */
export function inputBlock(block, ctx) {
  const element = block.element ?? {};
  const optional = block.optional ? el("span", { class: "hint", text: " (optional)" }) : null;
  if (!isInput(element.type))
    return el("div", {
      class: "unknown-block",
      text: `This page does not draw “${element.type}”.`,
    });
  const { node, control, read, id } = inputElement(element, block.block_id, {
    ...ctx,
    labelled: true,
  });
  const label = el(
    control ? "label" : "div",
    { class: "input-label", for: control ? id : undefined, id: `${id}-label` },
    textObject(block.label, ctx),
    optional,
  );
  const hint = block.hint ? el("div", { class: "hint" }, textObject(block.hint, ctx)) : null;
  const error = el("div", { class: "input-error", id: `${id}-error`, role: "alert", hidden: true });
  control?.setAttribute("aria-describedby", `${id}-error`);
  const send = () =>
    ctx.act({
      block_id: block.block_id,
      action_id: element.action_id,
      selected: selectedOf(read()),
    });
  if (block.dispatch_action) node.addEventListener("change", send);
  return el("div", { class: "input-block" }, label, node, hint, error);
}

/** The values of a submission: typed text as it is, choices in Slack's form. */
export function submittedValues(inputs) {
  const values = {};
  for (const { blockId, actionId, read } of inputs) {
    const value = read();
    (values[blockId] ??= {})[actionId] = "value" in value ? (value.value ?? "") : value;
  }
  return values;
}

/** Slack's `view.state.values` of the inputs that were drawn. */
export function readValues(inputs) {
  const values = {};
  for (const { blockId, actionId, read } of inputs) (values[blockId] ??= {})[actionId] = read();
  return values;
}
