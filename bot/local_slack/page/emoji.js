// Slack's emoji names. The few that the product uses are drawn, so they look right where the
// machine has no emoji font; the rest are characters; an unknown name stays ":name:".
import { el, svg } from "./dom.js";

const CIRCLE = (fill) => ["circle", { cx: "10", cy: "10", r: "8", fill }];
const MARK = (d, stroke, width = "2.6") => [
  "path",
  {
    d,
    fill: "none",
    stroke,
    "stroke-width": width,
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
  },
];

const SKIN = "#fcc21b";
const DRAWN = {
  x: [MARK("M4.5 4.500l11 11M15.5 4.500l-11 11", "#dd2e44", "3.4")],
  octagonal_sign: [
    ["path", { d: "M6.7 2h6.600L18 6.700v6.600L13.3 18H6.700L2 13.300V6.700z", fill: "#dd2e44" }],
    ["rect", { x: "5.5", y: "8.7", width: "9", height: "2.6", rx: ".6", fill: "#fff" }],
  ],
  no_entry: [
    CIRCLE("#dd2e44"),
    ["rect", { x: "5", y: "8.5", width: "10", height: "3", rx: ".8", fill: "#fff" }],
  ],
  white_check_mark: [
    ["rect", { x: "2", y: "2", width: "16", height: "16", rx: "3.5", fill: "#4a9d3c" }],
    MARK("M5.6 10.400l3.2 3.2 5.8-7", "#fff"),
  ],
  heavy_check_mark: [MARK("M3.5 10.500l4.2 4.500L16.5 5", "#4a9d3c", "3.2")],
  eyes: [
    [
      "ellipse",
      {
        cx: "5.8",
        cy: "10",
        rx: "4",
        ry: "6",
        fill: "#fff",
        stroke: "#8899a6",
        "stroke-width": "1",
      },
    ],
    [
      "ellipse",
      {
        cx: "14.2",
        cy: "10",
        rx: "4",
        ry: "6",
        fill: "#fff",
        stroke: "#8899a6",
        "stroke-width": "1",
      },
    ],
    ["ellipse", { cx: "4.7", cy: "11", rx: "1.9", ry: "2.8", fill: "#292f33" }],
    ["ellipse", { cx: "13.1", cy: "11", rx: "1.9", ry: "2.8", fill: "#292f33" }],
  ],
  thumbsup: [
    [
      "path",
      {
        d: "M7 9l3.2-6.600c1.6-.3 2.6 1 2.3 2.500L12 7.500h4c1.5 0 2.2 1.2 1.8 2.400l-1.9 6c-.3 1-1 1.6-2.1 1.600H9.500L7 16.500z",
        fill: SKIN,
      },
    ],
    ["rect", { x: "2", y: "8.5", width: "4.2", height: "9", rx: "1", fill: "#5c913b" }],
  ],
  warning: [
    ["path", { d: "M10 2l8.6 15.500H1.400z", fill: "#ffcc4d", "stroke-linejoin": "round" }],
    MARK("M10 8v4.300M10 15v.1", "#292f33", "1.9"),
  ],
  hourglass_flowing_sand: [
    [
      "path",
      {
        d: "M5 2h10v2c0 3-3.3 4.4-3.3 6S15 13 15 16v2H5v-2c0-3 3.3-4.4 3.3-6S5 7 5 4z",
        fill: "#bddaf0",
      },
    ],
    [
      "path",
      {
        d: "M6.5 16.500c.5-2 3.5-2 3.5-4.5 0 2.5 3 2.5 3.5 4.500zM7 5.500h6c-.6 1.6-3 2-3 3.5 0-1.5-2.4-1.9-3-3.500z",
        fill: "#e8a33d",
      },
    ],
  ],
  heart: [
    [
      "path",
      {
        d: "M10 17.5C4 13 1.8 10.2 1.8 7.200A4.4 4.4 0 0 1 10 5a4.4 4.4 0 0 1 8.2 2.200c0 3-2.2 5.8-8.2 10.300z",
        fill: "#dd2e44",
      },
    ],
  ],
  large_green_circle: [CIRCLE("#4a9d3c")],
  red_circle: [CIRCLE("#dd2e44")],
  large_yellow_circle: [CIRCLE("#fdcb58")],
  white_circle: [CIRCLE("#ccd6dd")],
  lock: [
    ["rect", { x: "3.5", y: "9", width: "13", height: "9", rx: "1.8", fill: "#ffac33" }],
    MARK("M6.5 9V6.200a3.5 3.5 0 0 1 7 0V9", "#99aab5", "1.9"),
  ],
  wrench: [
    [
      "path",
      {
        d: "M13.6 2.2a5 5 0 0 0-6.4 6.400L2.2 13.600a2.7 2.7 0 0 0 0 3.9 2.7 2.7 0 0 0 3.9 0l5-5a5 5 0 0 0 6.5-6.300l-3 3-2.9-.8-.8-2.900z",
        fill: "#7d8e9b",
      },
    ],
  ],
  robot_face: [
    ["rect", { x: "3", y: "6", width: "14", height: "11.5", rx: "2.5", fill: "#99aab5" }],
    MARK("M10 6V3.2", "#99aab5", "1.6"),
    ["circle", { cx: "10", cy: "2.8", r: "1.5", fill: "#dd2e44" }],
    ["circle", { cx: "7", cy: "10.5", r: "1.7", fill: "#fff" }],
    ["circle", { cx: "13", cy: "10.5", r: "1.7", fill: "#fff" }],
    MARK("M7 14.500h6", "#fff", "1.4"),
  ],
  stop_button: [
    ["rect", { x: "2", y: "2", width: "16", height: "16", rx: "3", fill: "#3b88c3" }],
    ["rect", { x: "6", y: "6", width: "8", height: "8", rx: "1", fill: "#fff" }],
  ],
};
DRAWN["+1"] = DRAWN.thumbsup;
DRAWN.hourglass = DRAWN.hourglass_flowing_sand;
DRAWN.heavy_multiplication_x = DRAWN.x;

const CHARACTERS = {
  "-1": "👎",
  thumbsdown: "👎",
  tada: "🎉",
  rocket: "🚀",
  fire: "🔥",
  wave: "👋",
  pray: "🙏",
  clap: "👏",
  smile: "😄",
  slightly_smiling_face: "🙂",
  grinning: "😀",
  joy: "😂",
  thinking_face: "🤔",
  sob: "😭",
  cry: "😢",
  sweat_smile: "😅",
  wink: "😉",
  sunglasses: "😎",
  raised_hands: "🙌",
  ok_hand: "👌",
  point_right: "👉",
  point_left: "👈",
  point_up: "☝️",
  muscle: "💪",
  bulb: "💡",
  memo: "📝",
  pencil: "📝",
  pencil2: "✏️",
  hammer: "🔨",
  hammer_and_wrench: "🛠️",
  gear: "⚙️",
  tools: "🛠️",
  mag: "🔍",
  mag_right: "🔎",
  file_folder: "📁",
  open_file_folder: "📂",
  page_facing_up: "📄",
  clipboard: "📋",
  books: "📚",
  book: "📖",
  link: "🔗",
  key: "🔑",
  unlock: "🔓",
  shield: "🛡️",
  bell: "🔔",
  no_bell: "🔕",
  clock1: "🕐",
  alarm_clock: "⏰",
  stopwatch: "⏱️",
  calendar: "📅",
  date: "📅",
  chart_with_upwards_trend: "📈",
  bar_chart: "📊",
  moneybag: "💰",
  package: "📦",
  computer: "💻",
  keyboard: "⌨️",
  desktop_computer: "🖥️",
  floppy_disk: "💾",
  bug: "🐛",
  zap: "⚡",
  sparkles: "✨",
  star: "⭐",
  boom: "💥",
  rotating_light: "🚨",
  construction: "🚧",
  question: "❓",
  grey_question: "❔",
  exclamation: "❗",
  bangbang: "‼️",
  information_source: "ℹ️",
  no_entry_sign: "🚫",
  recycle: "♻️",
  arrow_right: "➡️",
  arrow_left: "⬅️",
  arrow_up: "⬆️",
  arrow_down: "⬇️",
  arrows_counterclockwise: "🔄",
  double_vertical_bar: "⏸️",
  black_square_for_stop: "⏹️",
  arrow_forward: "▶️",
  speech_balloon: "💬",
  thought_balloon: "💭",
  brain: "🧠",
  abacus: "🧮",
  1234: "🔢",
  globe_with_meridians: "🌐",
  earth_africa: "🌍",
  snake: "🐍",
  coffee: "☕",
  house: "🏠",
  bust_in_silhouette: "👤",
  busts_in_silhouette: "👥",
  100: "💯",
  large_blue_circle: "🔵",
  black_circle: "⚫",
  orange_heart: "🧡",
  green_heart: "💚",
  blue_heart: "💙",
};

const BY_CHARACTER = new Map([
  ["❌", "x"],
  ["✖️", "x"],
  ["🛑", "octagonal_sign"],
  ["⛔", "no_entry"],
  ["✅", "white_check_mark"],
  ["✔️", "heavy_check_mark"],
  ["👀", "eyes"],
  ["👍", "thumbsup"],
  ["⚠️", "warning"],
  ["⏳", "hourglass_flowing_sand"],
  ["⌛", "hourglass"],
  ["❤️", "heart"],
  ["🟢", "large_green_circle"],
  ["🔴", "red_circle"],
  ["🟡", "large_yellow_circle"],
  ["⚪", "white_circle"],
  ["🔒", "lock"],
  ["🔧", "wrench"],
  ["🤖", "robot_face"],
  ["⏹️", "stop_button"],
]);
const CHARACTER = /(\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F)/u;

/** Text as nodes and strings, with the drawn emojis in place of their characters. */
export function withEmoji(text) {
  if (!CHARACTER.test(text)) return [text];
  return text
    .split(CHARACTER)
    .map((part) => (BY_CHARACTER.has(part) ? emoji(BY_CHARACTER.get(part)) : part));
}

/** The emojis that a person may add by hand (the server takes any name). */
export const PICKABLE = ["thumbsup", "eyes", "white_check_mark", "x", "octagonal_sign", "heart"];

/** A node for Slack's emoji name, with the name as its accessible label. */
export function emoji(rawName) {
  const name = rawName.split("::")[0];
  const label = { role: "img", "aria-label": `:${name}:`, title: `:${name}:`, "data-emoji": name };
  if (Object.hasOwn(DRAWN, name)) {
    return el("span", { class: "emoji", ...label }, svg("0 0 20 20", DRAWN[name], "emoji-drawing"));
  }
  if (Object.hasOwn(CHARACTERS, name)) {
    return el("span", { class: "emoji emoji-char", ...label, text: CHARACTERS[name] });
  }
  return el("span", { class: "emoji-name", text: `:${rawName}:` });
}
