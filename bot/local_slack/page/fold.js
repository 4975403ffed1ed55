// Long messages are folded, with "Show more". A step of the bot folds to its three lines: the
// thought, the tool with its key argument, and the gist of the observation, each cut at the edge.
import { el } from "./dom.js";

const LINES = 24;
const SLACK_PX = 12;

/** Whether the message shows steps of a turn, which its delivery key says (".…#c3", "#c3.1" or "#o4"). */
export function isStep(message) {
  const { event_type: type, event_payload: payload } = message.metadata ?? {};
  return type === "treadle_delivery" && /#[co]\d+(\.\d+)?$/.test(payload?.key ?? "");
}

const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) measure(target.closest(".fold"));
});

const isCut = (node) =>
  node.scrollWidth > node.clientWidth || node.scrollHeight > node.clientHeight + 2;

function measure(fold) {
  if (!fold || fold.dataset.open === "true") return;
  const clip = fold.firstElementChild;
  const step = fold.classList.contains("step");
  const hidden = step
    ? [...clip.querySelectorAll(".step-line, .code")].some(isCut)
    : clip.scrollHeight - clip.clientHeight > SLACK_PX;
  fold.dataset.folded = String(hidden);
  fold.lastElementChild.hidden = !hidden;
}

/** Wrap a message's body; `open` holds the keys of what somebody unfolded. */
export function foldable(body, { step, key, open }) {
  const clip = el("div", { class: "fold-clip" }, body);
  clip.style.setProperty("--fold-lines", String(LINES));
  const button = el("button", {
    type: "button",
    class: "link-button fold-button",
    hidden: true,
    "data-focus": `fold-${key}`,
  });
  const fold = el("div", { class: step ? "fold step" : "fold" }, clip, button);
  const show = (isOpen) => {
    fold.dataset.open = String(isOpen);
    button.textContent = isOpen ? "Show less" : "Show more";
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) button.hidden = false;
  };
  button.addEventListener("click", () => {
    const isOpen = !open.has(key);
    if (isOpen) open.add(key);
    else open.delete(key);
    show(isOpen);
    if (!isOpen) measure(fold);
  });
  show(open.has(key));
  observer.observe(body);
  observer.observe(clip);
  return fold;
}
