// A popover menu at a button: arrows move, Enter chooses, Esc and a click elsewhere close.
import { el } from "./dom.js";

let current = null;

/** Close the open menu, if there is one; the keyboard goes back to its button. */
export function closeMenu({ refocus = false } = {}) {
  if (!current) return false;
  const { node, anchor } = current;
  current = null;
  node.remove();
  anchor.setAttribute("aria-expanded", "false");
  if (refocus) anchor.focus();
  return true;
}

function place(node, anchor) {
  const box = anchor.getBoundingClientRect();
  const below = window.innerHeight - box.bottom > node.offsetHeight + 12;
  node.style.top = below
    ? `${box.bottom + 4}px`
    : `${Math.max(8, box.top - node.offsetHeight - 4)}px`;
  node.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - node.offsetWidth - 8))}px`;
}

function onKey(event) {
  const items = [...current.node.querySelectorAll("[role^=menuitem]")];
  const at = items.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (step) items[(at + step + items.length) % items.length]?.focus();
  else if (event.key === "Escape" || event.key === "Tab") closeMenu({ refocus: true });
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Open a menu of {label, content?, checked?, run} at `anchor`; `className` styles it. */
export function openMenu(anchor, items, className = "") {
  const wasMine = current?.anchor === anchor;
  closeMenu();
  if (wasMine) return;
  const rows = items.map((item) => {
    const choose = () => {
      closeMenu({ refocus: true });
      item.run();
    };
    return el(
      "button",
      {
        type: "button",
        role: item.checked === undefined ? "menuitem" : "menuitemradio",
        "aria-checked": item.checked === undefined ? undefined : String(item.checked),
        class: "menu-item",
        tabindex: "-1",
        "aria-label": item.content ? item.label : undefined,
        on: { click: choose },
      },
      item.content ?? item.label,
    );
  });
  const node = el(
    "div",
    { class: `menu ${className}`, role: "menu", on: { keydown: onKey } },
    rows,
  );
  (anchor.closest("dialog") ?? document.body).append(node);
  current = { node, anchor };
  anchor.setAttribute("aria-expanded", "true");
  place(node, anchor);
  (rows[items.findIndex((item) => item.checked)] ?? rows[0])?.focus();
}

/** Close the menu at a click elsewhere; called once by the page. */
export function closeMenuOnOutsideClick() {
  document.addEventListener("pointerdown", (event) => {
    if (current && !current.node.contains(event.target) && !current.anchor.contains(event.target))
      closeMenu();
  });
}
