// Times as people read them.

const DAY_MS = 86_400_000;

const at = (ts) => new Date(Number(ts) * 1000);

/** HH:MM of a Slack ts. */
export function clock(ts) {
  const moment = at(ts);
  return [moment.getHours(), moment.getMinutes()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

/** The day and time, for titles. */
export function fullTime(ts) {
  return at(ts).toLocaleString(undefined, {
    dateStyle: "full",
    timeStyle: "medium",
    hour12: false,
  });
}

function midnight(moment) {
  return new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).getTime();
}

/** "Today", "Yesterday" or the date. */
export function dayName(ts) {
  const days = Math.round((midnight(new Date()) - midnight(at(ts))) / DAY_MS);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return at(ts).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" });
}
