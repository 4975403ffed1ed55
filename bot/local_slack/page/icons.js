// Line icons, drawn here so that the page needs no font and no request.
import { svg } from "./dom.js";

const LINE = {
  fill: "none",
  stroke: "currentColor",
  "stroke-width": "1.7",
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
};

const PATHS = {
  hash: ["M7.5 3 6 17", "M14 3l-1.5 14", "M3.5 7.5h13.5", "M3 12.5h13.5"],
  close: ["M5 5l10 10", "M15 5 5 15"],
  reply: ["M3.5 5.5a2 2 0 0 1 2-2h9a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H9l-3.5 3v-3a2 2 0 0 1-2-2z"],
  smile: [
    "M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4z",
    "M7.5 8v.6",
    "M12.5 8v.6",
    "M7 11.8c1.4 2 4.6 2 6 0",
  ],
  pencil: ["M4 16l.7-3.2L13.5 4a1.6 1.6 0 0 1 2.4 2.4l-8.7 8.8z", "M12 5.5 14.5 8"],
  trash: ["M3.5 5.5h13", "M8 5.5V3.5h4v2", "M5 5.5l.8 11h8.4l.8-11", "M8.5 8.5v5", "M11.5 8.5v5"],
  send: ["M3.5 16.5 17 10 3.5 3.5 5.5 10z", "M5.5 10H11"],
  home: ["M3.5 9 10 3.5 16.5 9v7.5h-4.5v-5h-4v5H3.5z"],
  down: ["M5.5 8l4.5 4.5L14.5 8"],
  check: ["M4.5 10.5l3.5 3.5 7.5-8"],
  info: ["M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4z", "M10 9.2v4.3", "M10 6.4v.2"],
  eye: [
    "M2.5 10S5.3 5 10 5s7.5 5 7.5 5-2.8 5-7.5 5-7.5-5-7.5-5z",
    "M10 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  ],
  file: ["M5 2.8h6.5L15 6.3v10.9H5z", "M11.5 2.8v3.5H15"],
  more: ["M4.5 10h.1", "M10 10h.1", "M15.5 10h.1"],
  external: ["M8 4.5H4.5v11h11V12", "M11.5 4.5h4v4", "M15.5 4.5 9.5 10.5"],
  globe: [
    "M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4z",
    "M2.8 10h14.4",
    "M10 2.8c-3.6 4-3.6 10.4 0 14.4",
    "M10 2.8c3.6 4 3.6 10.4 0 14.4",
  ],
};

/** One of the named icons as an SVG of the text's colour. */
export function icon(name, className = "icon") {
  return svg(
    "0 0 20 20",
    PATHS[name].map((d) => ["path", { ...LINE, d }]),
    className,
  );
}
