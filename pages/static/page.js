/* Changes filters and pages of a product's list without a reload: fetches the new page, and replaces the
   parts that are marked with data-part. The buttons Back and Forward still work. This script also shares
   links and keeps drafts. The pages also work without it. */

import { clear } from "./actions.js";
import { fetched, inLanguage } from "./fetching.js";
import { listen } from "./live.js";
import { offerMore } from "./more.js";
import "./photos.js";
import { addSavings } from "./savings.js";
import "./votes.js";

const filters = () => document.querySelector("form#filters");
const here = () => location.pathname + location.search;
let latest = 0;
let shown = here();
let requested = location.href;

/* While the pointer is down, no part is replaced. Otherwise the click would be lost, because a click must begin
   and end on the same element. */
let release = () => {};
let released = null;
export const settled = () => released;
addEventListener("pointerdown", ({ button }) => {
  release();
  if (!button) released = new Promise((done) => (release = done));
});
for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, () => setTimeout(release)); // after the event click, which follows pointerup
}

/* Shows the page at an address. If the visitor requests another page meanwhile, ignores the response. */
async function show(to, { push, landing }) {
  const address = inLanguage(to);
  const mine = (latest += 1);
  requested = address;
  document.body.setAttribute("aria-busy", "true");
  try {
    const { answer, parsed: fresh } = await fetched(address);
    await settled();
    if (mine !== latest) return;
    if (!answer.ok || !fresh.querySelector("[data-part]")) {
      location.assign(address);
      return;
    }
    if (push) history.pushState(null, "", answer.url);
    swap(fresh, landing);
    shown = here();
    requested = location.href;
    listen();
    offerMore();
    addSavings();
  } catch (error) {
    if (mine !== latest) return;
    console.error(error);
    location.assign(address);
  } finally {
    if (mine === latest) document.body.removeAttribute("aria-busy");
  }
}

/* Replaces the parts of the page that are marked with data-part. The focus stays on the element that
   the visitor has used, or moves to the element with the id ``landing``. */
export function swap(fresh, landing) {
  const focused = landing ?? document.activeElement?.id;
  const kept = landing ? "#plan[open]" : "[data-part] details[id][open]";
  const open = [...document.querySelectorAll(kept)].map((one) => one.id);
  for (const part of document.querySelectorAll("[data-part]")) {
    part.replaceWith(document.importNode(fresh.getElementById(part.id), true));
  }
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  document.title = fresh.title;
  for (const kind of ["canonical", "prev", "next"]) {
    document.head.querySelector(`link[rel=${kind}]`)?.remove();
    const link = fresh.head.querySelector(`link[rel=${kind}]`);
    if (link) document.head.append(document.importNode(link));
  }
  /* After signing in or out, visitors return to the list that they see now. */
  const ways = "a[href*='/sign-in?next='], input[name=next]";
  const current = fresh.querySelectorAll(ways);
  for (const [place, one] of document.querySelectorAll(ways).entries()) {
    if (current[place]) one.replaceWith(document.importNode(current[place], true));
  }
  const target = focused ? document.getElementById(focused) : null;
  target?.focus({ preventScroll: !landing });
  if (landing) target?.scrollIntoView();
}

/* Returns the address of the list with the selected filters. The parameters have the server's order.
   Variants, order and size come from the address that was requested last, because its page may not be shown
   yet. */
function chosen(form) {
  const values = new FormData(form);
  const query = new URLSearchParams();
  const kept = ["variants", "order", "show"];
  for (const name of new Set(values.keys())) {
    if (kept.includes(name)) continue;
    for (const value of values.getAll(name).sort()) if (value) query.append(name, value);
  }
  const before = new URL(requested).searchParams;
  for (const name of kept) {
    if (before.has(name)) query.append(name, before.get(name));
  }
  return query.size ? `${form.action}?${query}` : form.action;
}

/* Deselects the language of a selected region, and the regions of a selected language. A language also finds
   the comments of its regions, so a region that is selected with its language would not change the list. */
function narrow({ value, dataset }) {
  for (const other of filters().querySelectorAll("[name=language]")) {
    if (other.value === dataset.parent || other.dataset.parent === value) other.checked = false;
  }
}

if (document.querySelector("#comments[data-part]")) {
  /* A checkbox changes the list immediately. A date or a word changes the list only after a press of the button,
     because visitors type a date in parts. */
  document.addEventListener("change", ({ target }) => {
    if (!filters() || target.form !== filters() || target.type !== "checkbox") return;
    if (target.name === "language" && target.checked) narrow(target);
    show(chosen(filters()), { push: true });
  });
  document.addEventListener("submit", (event) => {
    if (event.target !== filters()) return;
    event.preventDefault();
    show(chosen(filters()), { push: true });
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-swap]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    show(link.href, { push: true, landing: "comments-heading" });
  });
  addEventListener("popstate", () => {
    if (here() !== shown) show(location.href, { push: false }); // if only the #fragment changed, both are equal
  });
}

/* Shares a link: opens the phone's menu for sharing, or copies the address. */
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-copy]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (!navigator.clipboard) return; // without HTTPS, except on localhost: the browser follows the link
  event.preventDefault();
  const phone = matchMedia("(pointer: coarse)").matches && navigator.share;
  if (phone) return void navigator.share({ url: link.href }).catch(() => {});
  await navigator.clipboard.writeText(link.href).then(() => copied(link), () => location.assign(link.href));
});

/* Shows "Copied" in the link, and in an element that screen readers read aloud. */
const aloud = document.createElement("p");
aloud.className = "unseen";
aloud.setAttribute("role", "status");
document.querySelector("main").append(aloud);

function copied(link) {
  if (link.dataset.copied) return; // the notice is still shown
  link.dataset.copied = link.textContent;
  link.textContent = aloud.textContent = link.dataset.copy;
  setTimeout(() => {
    link.textContent = link.dataset.copied;
    aloud.textContent = "";
    delete link.dataset.copied;
  }, 2000);
}

/* This browser stores the draft of a comment until the comment is published or the draft is discarded. */
const DRAFT = ["rating", "language", "another", "title", "text"];
const viewer = document.querySelector(".viewer bdi")?.textContent;
const writing = () => viewer && document.querySelector("form[data-draft]");
const key = (form) => `draft:${viewer}:${form.dataset.draft}`;

function keep(form) {
  const values = Object.fromEntries(DRAFT.map((name) => [name, form.elements[name].value]));
  if (values.title || values.text) localStorage.setItem(key(form), JSON.stringify(values));
  else localStorage.removeItem(key(form));
}

function restore(form) {
  const values = JSON.parse(localStorage.getItem(key(form)));
  const notice = form.querySelector(".draft");
  if (!values || !notice || form.elements.text.value || form.elements.title.value) return;
  for (const name of DRAFT) form.elements[name].value = values[name];
  for (const name of ["title", "text"]) form.elements[name].dispatchEvent(new Event("input"));
  notice.hidden = false;
  form.addEventListener("reset", () => (notice.hidden = true));
  notice.querySelector("button").addEventListener("click", () => clear(form));
}

try {
  if (writing()) {
    restore(writing());
    keep(writing()); // store what the visitor typed before this script ran
    document.addEventListener("input", ({ target }) => {
      if (target.form?.matches("[data-draft]")) keep(target.form);
    });
  }
} catch (error) {
  console.warn(error); // the browser stores nothing, so it keeps no drafts
}

document.querySelector(".errors")?.focus();
