// How people and the bot look: name, avatar, badge.
import { el } from "./dom.js";

const COLORS = ["#3f7fc1", "#2f855a", "#b7472a", "#7a4fb5", "#a35d00", "#0f7c86", "#b03060"];
const ROLE_WORDS = {
  member: "member",
  admin: "admin",
  guest: "guest",
  external: "other company",
  bot: "app",
};

/** The name under which somebody writes. */
export function nameOf(user, fallback = "Somebody") {
  return user?.real_name || user?.name || fallback;
}

/** "Ada (admin)". */
export function nameWithRole(user) {
  return `${nameOf(user)} (${ROLE_WORDS[user?.role] ?? user?.role ?? "?"})`;
}

function colorOf(id) {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + letter.codePointAt(0)) % 9973;
  return COLORS[sum % COLORS.length];
}

/** A rounded square with the initial; the bot has its own mark. */
export function avatar(user, size = "") {
  const name = nameOf(user, "?");
  const bot = user?.role === "bot";
  const node = el("span", {
    class: `avatar ${size}${bot ? " avatar-bot" : ""}`,
    "aria-hidden": "true",
    text: [...name][0]?.toUpperCase(),
  });
  if (!bot) node.style.backgroundColor = colorOf(user?.id ?? name);
  return node;
}

/** The badge behind a name: APP, Guest, or the other company. */
export function badge(user) {
  const text = { bot: "APP", guest: "GUEST", external: "EXTERNAL" }[user?.role];
  return text ? el("span", { class: `badge badge-${user.role}`, text }) : null;
}
