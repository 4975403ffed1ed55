// DOM building without innerHTML: every text of a message, name or view becomes a text node.

const SVG = "http://www.w3.org/2000/svg";
const SAFE_SCHEMES = new Set(["http:", "https:", "mailto:"]);

function isChild(child) {
  return child !== null && child !== undefined && child !== false;
}

/** Make an element. `on` holds listeners, `text` the text; other properties become attributes. */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    } else if (name === "text") {
      node.textContent = value;
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children.flat(Infinity).filter(isChild));
  return node;
}

/** Make an SVG element from [tag, attributes] shapes. */
export function svg(viewBox, shapes, className) {
  const root = document.createElementNS(SVG, "svg");
  root.setAttribute("viewBox", viewBox);
  root.setAttribute("class", className);
  root.setAttribute("aria-hidden", "true");
  for (const [tag, attributes] of shapes) {
    const shape = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
    root.append(shape);
  }
  return root;
}

/** The address if it may become a link, else null: `javascript:` and `data:` stay text. */
export function safeHref(url) {
  try {
    const parsed = new URL(url);
    return SAFE_SCHEMES.has(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

/** A link that opens elsewhere and tells the other side nothing; text where the address is unsafe. */
export function link(url, ...label) {
  const href = safeHref(url);
  if (href === null) {
    const shown = label.length ? [...label, ` (${url})`] : [url];
    return el("span", { class: "unsafe-link", title: "This address is not opened" }, shown);
  }
  const props = { href, target: "_blank", rel: "noopener noreferrer", title: href };
  return el("a", props, label.length ? label : url);
}

const versions = new WeakMap();

function focusKeyInside(node) {
  const active = document.activeElement;
  return node.contains(active) ? (active.dataset.focus ?? null) : null;
}

function restoreFocus(node, key) {
  if (key === null) return;
  for (const candidate of node.querySelectorAll("[data-focus]")) {
    if (candidate.dataset.focus === key) {
      candidate.focus({ preventScroll: true });
      return;
    }
  }
}

function freshNode(row, old) {
  if (old && (versions.get(old) === row.version || old.querySelector("[data-keep]"))) return old;
  const node = row.build();
  node.dataset.key = row.key;
  versions.set(node, row.version);
  return node;
}

/**
 * Make a container's children equal `rows` ({key, version, build}). A child of the same key and
 * version stays the same node, and so does one that holds an open editor (data-keep).
 */
export function reconcile(container, rows) {
  const before = new Map([...container.children].map((node) => [node.dataset.key, node]));
  const focused = focusKeyInside(container);
  let at = container.firstElementChild;
  for (const row of rows) {
    const old = before.get(row.key);
    const node = freshNode(row, old);
    before.delete(row.key);
    if (old && old !== node) {
      if (at === old) at = node;
      old.replaceWith(node);
    }
    if (node === at) at = node.nextElementSibling;
    else container.insertBefore(node, at);
  }
  for (const stale of before.values()) stale.remove();
  if (focused !== null && !container.contains(document.activeElement)) {
    restoreFocus(container, focused);
  }
}

/** Rebuild a region when its version differs, keeping the keyboard where it was. */
export function paint(container, version, build) {
  if (versions.get(container) === version) return false;
  const focused = focusKeyInside(container);
  container.replaceChildren(...[build()].flat(Infinity).filter(isChild));
  versions.set(container, version);
  restoreFocus(container, focused);
  return true;
}
