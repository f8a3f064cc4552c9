/* The moderators' page: keyboard shortcuts, and a list that is updated every ten seconds while the moderator
   is not working in it. The page also works without this script. */

import { fetched } from "./fetching.js";
import { settled, swap } from "./page.js";

const EVERY = 10_000;
const queue = () => document.getElementById("queue");
const rows = () => [...queue().querySelectorAll(".waiting")];
const focused = () => document.activeElement?.closest("#queue .waiting");

/* The index of the row that had the focus last. If this row has left the list, the keys j and k continue
   from the row that is now at this index. */
let place = -1;
document.addEventListener("focusin", () => {
  if (focused()) place = rows().indexOf(focused());
});

/* Returns whether the list must stay as it is: the moderator is working in it, or the tab is hidden. */
function busy() {
  const fields = [...queue().querySelectorAll("input:not([type=hidden])")];
  const filled = (one) => (one.type === "checkbox" ? one.checked : one.value);
  if (document.querySelector("div.errors") || fields.some(filled)) return true;
  return document.hidden || fields.includes(document.activeElement);
}

/* The notice that the list could not be updated. */
const stale = document.getElementById("stale");
let failures = 0;
let timer = null;

/* Updates the list, and plans the next update. After each failure, the pause doubles, up to 5 minutes. */
async function renew() {
  clearTimeout(timer);
  try {
    await update();
    failures = 0;
  } catch (error) {
    console.info(error); // the list stays as it is
    failures += 1;
  }
  stale.hidden = !failures;
  clearTimeout(timer);
  timer = setTimeout(renew, Math.min(EVERY * 2 ** failures, 300_000));
}

async function update() {
  if (busy()) return;
  const { answer, parsed: fresh } = await fetched(location.href);
  await settled();
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  if (busy()) return;
  const list = fresh.getElementById("queue");
  if (!list) location.reload(); // the session has ended, so the server redirects to the sign-in page
  else if (list.outerHTML !== queue().outerHTML) swap(fresh);
}

timer = setTimeout(renew, EVERY);
stale.querySelector("button").addEventListener("click", renew);
document.addEventListener("visibilitychange", () => failures || renew());

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

/* After a decision, the next comment gets the focus. */
try {
  const kept = sessionStorage.getItem("decided");
  sessionStorage.removeItem("decided");
  if (kept && new URLSearchParams(location.search).has("notice")) land(rows()[kept] ?? rows().at(-1));
  document.addEventListener("submit", ({ target }) => {
    const row = target.closest(".waiting");
    if (row) sessionStorage.setItem("decided", rows().indexOf(row));
  });
} catch (error) {
  console.warn(error); // the browser stores nothing, so the focus does not move
}

for (const keys of document.querySelectorAll(".keys")) keys.hidden = false;
