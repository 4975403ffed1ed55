// Who looks, at what: all of it in the address, so a reload and a second window just work.
// /?token=T&user=U0ALICE#/C0GENERAL/1700000000.000100   or   #/app/home

const DEFAULT_USER = "U0ALICE";

function words(hash) {
  try {
    return hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent).filter(Boolean);
  } catch {
    return [];
  }
}

/** {token, user, home, channel, thread} of the window's address. */
export function readRoute() {
  const query = new URLSearchParams(location.search);
  const [first, second] = words(location.hash);
  const home = first === "app";
  return {
    token: query.get("token") ?? "",
    user: query.get("user") ?? DEFAULT_USER,
    home,
    channel: home ? null : (first ?? null),
    thread: home ? null : (second ?? null),
  };
}

/** The address of a place. */
export function addressOf({ token, user, home, channel, thread }) {
  const query = new URLSearchParams({ token, user });
  const place = home
    ? "app/home"
    : [channel, thread].filter(Boolean).map(encodeURIComponent).join("/");
  return `/?${query}#/${place}`;
}

/** Put the place into the address bar; `replace` adds no step to the back button. */
export function writeRoute(route, { replace = false } = {}) {
  const address = addressOf(route);
  if (address === `${location.pathname}${location.search}${location.hash}`) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}
