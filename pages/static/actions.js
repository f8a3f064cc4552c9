/* Lets visitors write, edit, delete, reply and report without leaving the list. A new comment appears at the
   top of the list. For all other actions, the form from the comment's own page opens in the comment's card. The
   list shows the change before the server responds. If the server refuses the change, the form comes back. */

import { fetched } from "./fetching.js";
import { announce, counted, number } from "./live.js";

/* The section with the form of a new comment, as it was loaded. */
const blank = document.getElementById("write");

/* Shows the length of each text in a form next to the maximum length. */
function count(within) {
  for (const room of within.querySelectorAll(".room[data-counts]")) {
    const field = room.closest("form").elements[room.dataset.counts];
    const said = room.textContent;
    const show = () => {
      const size = [...field.value].length;
      room.textContent = size ? `${number(size)} / ${number(Number(room.dataset.most))}` : said;
    };
    field.addEventListener("input", show);
    show();
  }
}

async function page(address, kind, options) {
  const url = new URL(address, location.href);
  url.searchParams.set("card", kind);
  const { answer, parsed } = await fetched(url, options);
  return { answer, parsed: document.importNode(parsed.body, true) };
}

/* Opens the form to which an action's link leads, at the end of the comment's card. Removes any form that is
   already open in a card. */
async function open(link) {
  const card = link.closest(".comment");
  card.setAttribute("aria-busy", "true");
  const { parsed } = await page(link.href, link.dataset.act);
  const form = parsed.querySelector(link.hash);
  if (!form) throw new Error(`The page has no ${link.hash}.`);
  document.querySelector(".in-place")?.remove();
  put(card, form, link);
  card.removeAttribute("aria-busy");
}

function put(card, form, link) {
  form.classList.add("in-place");
  form.lang = document.documentElement.lang;
  card.append(form);
  if (!form.elements) return form.querySelector("a").focus(); // the link to the sign-in page
  const cancel = document.createElement("button");
  Object.assign(cancel, { type: "button", className: "quiet", textContent: form.dataset.cancel });
  cancel.addEventListener("click", () => {
    form.remove();
    link.focus();
  });
  form.querySelector("[type=submit]").after(cancel);
  count(form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(card, form, link, event.submitter);
  });
  const error = form.querySelector(".errors");
  const field = form.querySelector("input:checked") ?? form.querySelector("[required]");
  (error ?? field ?? cancel).focus();
}

/* Sends a form. Returns the notice and the card in the next page, the refused form, or an error message.
   Reads the form's address by getAttribute, because a form may have a field named ``action``. In such a form,
   ``form.action`` is the field. */
async function sent(form, kind, submitter) {
  let message = form.dataset.failed;
  try {
    const body = new URLSearchParams(new FormData(form, submitter));
    const { answer, parsed } = await page(form.getAttribute("action"), kind, { method: "POST", body });
    const url = new URL(answer.url);
    if (answer.ok && url.searchParams.has("notice")) {
      const stays = url.pathname.includes("/comments/"); // otherwise the comment is deleted or waits for approval
      return { notice: parsed.querySelector("#notice"), fresh: stays && parsed.querySelector(".comment") };
    }
    const refused = parsed.querySelector(form.id ? `#${form.id}` : "#write");
    if (refused) return { refused };
    message = parsed.querySelector("main .lead p")?.textContent ?? message;
  } catch (error) {
    console.info(error); // there is no connection, so show the form's own message
  }
  return { message };
}

async function send(card, form, link, submitter) {
  const expected = expect(card, form);
  const { notice, fresh, refused, message } = await sent(form, link.dataset.act, submitter);
  if (notice) {
    card.remove();
    settle(expected, notice, fresh);
    return;
  }
  expected.remove();
  card.hidden = false;
  if (refused) {
    form.remove();
    put(card, refused, link);
  } else complain(form, message);
}

function complain(form, message) {
  form.querySelector(".errors")?.remove();
  const errors = document.createElement("div");
  Object.assign(errors, { className: "errors", tabIndex: -1, textContent: message });
  errors.setAttribute("role", "alert");
  form.prepend(errors);
  errors.focus();
}

/* Sends a new comment, and shows it at the top of the list. */
async function add(form) {
  const sample = document.getElementById("new-comment").content;
  const expected = document.importNode(sample, true).querySelector(".comment");
  const { language, another, title } = form.elements;
  fill(expected, form);
  if (!title.value) expected.querySelector("h3").remove();
  const name = language.value.includes("*") ? another.value : language.selectedOptions[0].text;
  expected.querySelector(".byline > span").textContent = name;
  expected.setAttribute("aria-busy", "true");
  document.querySelector("#comments > :is(.comment, .empty)").before(expected);
  expected.scrollIntoView({ block: "center" });
  // Clicks do nothing until the server responds, and for at least 0.4 seconds. The list has scrolled, so the
  // second press of a double click would hit another element.
  const main = document.querySelector("main");
  main.inert = true;
  const [outcome] = await Promise.all([sent(form, "product"), new Promise((done) => setTimeout(done, 400))]);
  main.inert = false;
  const { notice, fresh, refused, message } = outcome;
  if (!notice) {
    expected.remove();
    if (!refused) return complain(form, message);
    document.getElementById("write").replaceWith(refused);
    count(refused);
    refused.querySelector(".errors").focus();
    return;
  }
  if (fresh && document.querySelector("#comments > .empty")) first();
  settle(expected, notice, fresh);
  announce();
  // Replace the form by the form that the page first had, because ``reset`` does not empty the texts of a
  // refused form. The next comment needs a new idempotency key.
  const next = blank.querySelector("form");
  next.elements.form_key.value = form.elements.form_key.value;
  next.elements.key.value = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
  document.getElementById("write").replaceWith(blank);
  clear(next);
}

/* Replaces the texts about an empty list, after the list's first comment was added. */
function first() {
  document.querySelector("#comments > .empty").remove();
  const { many } = document.getElementById("news").dataset;
  document.querySelector("#comments .found").textContent = counted(JSON.parse(many), 1);
  document.querySelector(".verdict > p:not(.score)")?.remove();
}

/* Empties a comment's form. The dispatched events update the numbers of characters and the stored draft. */
export function clear(form) {
  form.querySelector(".errors")?.remove();
  form.reset();
  for (const name of ["title", "text"]) {
    form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/* Hides the card, which still contains the form. Shows a copy of the card with the expected change, and
   returns the copy. */
function expect(card, form) {
  const copy = card.cloneNode(true);
  copy.querySelector(".in-place").remove();
  copy.setAttribute("aria-busy", "true");
  if (form.id === "edit") fill(copy, form);
  const reply = copy.querySelector(".reply .text");
  if (form.id === "write-reply" && reply) reply.textContent = form.elements.text.value;
  card.after(copy);
  card.hidden = true;
  return copy;
}

/* Shows the values of a comment's form in a card. */
function fill(card, form) {
  const { title, text, rating } = form.elements;
  const heading = card.querySelector(":is(h2, h3) a") ?? card.querySelector("h3");
  if (heading) heading.textContent = title.value;
  const old = card.querySelector(":scope > .text");
  if (old) old.textContent = text.value;
  const lit = card.querySelector(".stars svg");
  lit.setAttribute("width", 20 * rating.value);
  lit.setAttribute("viewBox", `0 0 ${20 * rating.value} 20`);
}

/* Shows the card and the notice of the server's response in place of the expected card. If the comment has
   left the list, ``fresh`` is empty, and only the notice is shown. */
function settle(expected, notice, fresh) {
  notice.removeAttribute("id");
  notice.tabIndex = -1;
  if (fresh) {
    expected.replaceWith(fresh);
    fresh.append(notice);
  } else expected.replaceWith(notice);
  notice.focus();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("#write form[data-draft]")) return;
  event.preventDefault();
  add(form);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-act]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  open(link).catch((error) => {
    console.info(error);
    location.assign(link.href);
  });
});

count(document);
