/* The moderators' page: keys move between comments and decide on them, and the list follows the
   queue. Everything works without it. */

import { settled, swap } from "./page.js";

const EVERY = 10_000;
const queue = () => document.getElementById("queue");
const rows = () => [...queue().querySelectorAll(".waiting")];
const focused = () => document.activeElement?.closest("#queue .waiting");

/* The place of the row that had the focus last. If the row leaves the list, another takes its place. */
let place = -1;
document.addEventListener("focusin", () => {
  if (focused()) place = rows().indexOf(focused());
});

/* Whether a swap would take something away: an error, a choice, a reason, or the focus of a field. */
function busy() {
  const fields = [...queue().querySelectorAll("input:not([type=hidden])")];
  const filled = (one) => (one.type === "checkbox" ? one.checked : one.value);
  if (document.querySelector(".errors") || fields.some(filled)) return true;
  return document.hidden || fields.includes(document.activeElement);
}

async function renew() {
  if (busy()) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    await settled();
    if (!answer.ok || busy()) return;
    const list = fresh.getElementById("queue");
    if (!list) location.reload(); // the session has ended: sign in again
    else if (list.outerHTML !== queue().outerHTML) swap(fresh);
  } catch (error) {
    console.info(error); // without a connection the list stays as it is
  }
}

setInterval(renew, EVERY);
document.addEventListener("visibilitychange", renew);

function move(step) {
  const all = rows();
  const from = focused() ? all.indexOf(focused()) + step : place + Math.min(step, 0);
  land(all[Math.max(0, Math.min(from, all.length - 1))]);
}

function land(row) {
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  a: () => focused()?.querySelector("[name=approve]").click(),
  r: () => focused()?.querySelector("[name=reason]").focus(),
};

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("input:not([type=checkbox])")) {
    if (key === "Escape") land(focused());
    return;
  }
  if (!(key in KEYS) || (event.repeat && key === "a")) return;
  event.preventDefault();
  KEYS[key]();
});

/* After a decision the next page begins at the same place, where the next comment is. */
try {
  const kept = sessionStorage.getItem("decided");
  sessionStorage.removeItem("decided");
  if (kept && new URLSearchParams(location.search).has("notice")) land(rows()[kept] ?? rows().at(-1));
  document.addEventListener("submit", ({ target }) => {
    const row = target.closest(".waiting");
    if (row) sessionStorage.setItem("decided", rows().indexOf(row));
  });
} catch (error) {
  console.warn(error); // a browser that stores nothing
}

document.querySelector(".keys").hidden = false;
