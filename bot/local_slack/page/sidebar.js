// The left side and the top bar: conversations, the app, who one is, whether the bot is there.
import { el, paint } from "./dom.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";
import { avatar, nameOf, nameWithRole } from "./people.js";
import { addressOf } from "./route.js";

function entry(app, { key, label, mark, selected, unread = false, mentions = 0, go }) {
  const count = mentions
    ? el("span", { class: "count", "aria-label": `${mentions} for you`, text: mentions })
    : null;
  const props = {
    type: "button",
    class: `entry${unread ? " unread" : ""}`,
    "aria-current": selected ? "page" : undefined,
    "data-focus": key,
    "data-place": key,
  };
  return el(
    "li",
    {},
    el(
      "button",
      { ...props, on: { click: go } },
      mark,
      el("span", { class: "entry-name", text: label }),
      unread && !mentions ? el("span", { class: "sr-only", text: "unread" }) : null,
      count,
    ),
  );
}

function conversation(app, channel, botUser) {
  const { unread, mentions } = app.unread.channel(channel);
  const direct = channel.kind === "im";
  return entry(app, {
    key: channel.id,
    label: direct ? nameOf(botUser, channel.name) : channel.name,
    mark: direct ? avatar(botUser, "tiny") : icon("hash"),
    selected: app.route.channel === channel.id,
    unread,
    mentions,
    go: () => app.go({ channel: channel.id, thread: null, home: false }),
  });
}

/** The sidebar's lists. */
export function renderSidebar(app, root) {
  const { store, route } = app;
  const channels = [...store.channels.values()];
  const marks = channels.map((channel) => app.unread.channel(channel));
  const version = JSON.stringify([route, channels, marks, store.connected, store.team, store.me]);
  paint(root, version, () => {
    const bot = store.users.get(store.bot.user_id);
    const rooms = channels.filter((channel) => channel.kind === "channel");
    const directs = channels.filter((channel) => channel.kind === "im");
    const group = (title, entries) =>
      entries.length ? el("section", {}, el("h2", { text: title }), el("ul", {}, entries)) : null;
    return [
      el("div", { class: "workspace", text: store.team.name }),
      group(
        "Channels",
        rooms.map((channel) => conversation(app, channel, bot)),
      ),
      group(
        "Direct messages",
        directs.map((channel) => conversation(app, channel, bot)),
      ),
      group("Apps", [
        entry(app, {
          key: "app",
          label: nameOf(bot, store.bot.name),
          mark: icon("home"),
          selected: route.home,
          go: () => app.goHome(),
        }),
      ]),
      el("div", { class: "spring" }),
      connection(store),
    ];
  });
}

function connection(store) {
  const words = store.connected ? "Treadle is connected" : "The bot is not connected";
  return el(
    "div",
    { class: "connection", role: "status" },
    el("span", { class: "presence", "data-on": String(store.connected), "aria-hidden": "true" }),
    words,
  );
}

/** The top bar: the banner's text and the person switcher. */
export function renderTopBar(app, { banner, switcher }) {
  const { store } = app;
  paint(banner, String(store.banner ?? ""), () =>
    store.banner ? [icon("info", "icon small"), el("span", { text: store.banner })] : null,
  );
  banner.hidden = !store.banner;
  paint(switcher, JSON.stringify([store.me, [...store.users.values()]]), () => {
    const button = el(
      "button",
      {
        type: "button",
        class: "switcher",
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        "data-focus": "switcher",
      },
      avatar(store.me, "small"),
      el("span", { class: "switcher-label", text: "You are: " }),
      el("strong", { text: nameWithRole(store.me) }),
      icon("down", "icon small"),
    );
    button.addEventListener("click", () => openMenu(button, switcherItems(app), "people-menu"));
    return button;
  });
}

function switcherItems(app) {
  const people = [...app.store.users.values()].filter((user) => user.role !== "bot");
  const be = people.map((user) => ({
    label: nameWithRole(user),
    content: [avatar(user, "small"), nameWithRole(user)],
    checked: user.id === app.store.me.id,
    run: () => app.become(user.id),
  }));
  const other = people.find((user) => user.id !== app.store.me.id);
  const beside = {
    label: `Second window as ${nameOf(other)}`,
    content: [icon("external"), `Second window as ${nameOf(other)}`],
    run: () =>
      window.open(addressOf({ ...app.route, user: other.id, thread: null }), "_blank", "noopener"),
  };
  return other ? [...be, beside] : be;
}
