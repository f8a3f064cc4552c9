/* Makes the product page smoother: a toggle or a page link swaps the parts that change, without a
   reload and with the history kept. Everything works without it. */

import { listen } from "./live.js";

const filters = () => document.querySelector("form#filters");
const here = () => location.pathname + location.search;
let latest = 0;
let shown = here();

/* Shows the page at an address. A slower answer to an earlier question is dropped. */
async function show(address, { push, landing }) {
  const mine = (latest += 1);
  document.body.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const text = await answer.text();
    if (mine !== latest) return;
    const fresh = new DOMParser().parseFromString(text, "text/html");
    if (!answer.ok || !fresh.querySelector("[data-part]")) {
      location.assign(address);
      return;
    }
    if (push) history.pushState(null, "", answer.url);
    swap(fresh, landing);
    shown = here();
    listen();
  } catch (error) {
    if (mine !== latest) return;
    console.error(error);
    location.assign(address);
  } finally {
    if (mine === latest) document.body.removeAttribute("aria-busy");
  }
}

/* Takes the parts over, and the focus with them: it stays on the toggle that was used, or goes to
   the heading that a page link leads to. */
function swap(fresh, landing) {
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
  const target = focused ? document.getElementById(focused) : null;
  target?.focus({ preventScroll: !landing });
  if (landing) target?.scrollIntoView();
}

/* The address of the form as it stands, in the order that the server gives an address. */
function chosen(form) {
  const values = new FormData(form);
  const query = new URLSearchParams();
  for (const name of ["rating", "language", "from", "to", "order"]) {
    for (const value of values.getAll(name).sort()) if (value) query.append(name, value);
  }
  return query.size ? `${form.action}?${query}` : form.action;
}

if (filters()) {
  /* A toggle acts at once. A date waits for the button: it is typed in parts. */
  document.addEventListener("change", ({ target }) => {
    if (target.form !== filters() || target.type === "date") return;
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
    if (here() !== shown) show(location.href, { push: false }); // not for a mere #fragment
  });
}

document.querySelector(".errors")?.focus();
