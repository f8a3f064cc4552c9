/* Lets visitors write, edit, delete, reply and report without leaving the list. A new comment appears at the
   top of the list. For all other actions, the form from the comment's own page opens in the comment's card. The
   list shows the change before the server responds. If the server refuses the change, the form comes back. */

import { fetched } from "./fetching.js";
import { announce, counted, number } from "./live.js";
import { showPlace } from "./more.js";

/* The section with the form of a new comment, as it was loaded. */
const blank = document.getElementById("write");

/* Shows the length of each text in a form next to the maximum length, in characters as the server counts them.
   The browser does not send a longer text. */
function count(within) {
  for (const room of within.querySelectorAll(".room[data-counts]")) {
    const field = room.closest("form").elements[room.dataset.counts];
    const said = room.textContent;
    const show = () => {
      const size = [...field.value.trim()].length;
      const most = Number(room.dataset.most);
      const over = size > most ? counted(JSON.parse(room.dataset.over), size, { most }) : "";
      field.setCustomValidity(over);
      room.classList.toggle("error", over !== "");
      room.textContent = over || (size ? `${number(size)} / ${number(most)}` : said);
    };
    field.addEventListener("input", show);
    show();
  }
}

/* Removes the error of a field when the visitor has corrected the field. */
document.addEventListener("input", ({ target }) => {
  const field = target.closest("[aria-invalid]") ?? target.closest(".field")?.querySelector("[aria-invalid]");
  if (!field || !target.validity.valid || (!target.value.trim() && target.required)) return;
  const ids = field.getAttribute("aria-describedby")?.split(" ") ?? [];
  const wrong = ids.filter((id) => document.getElementById(id)?.matches(".error"));
  for (const id of wrong) document.getElementById(id).remove();
  field.removeAttribute("aria-invalid");
  const rest = ids.filter((id) => !wrong.includes(id));
  if (rest.length) field.setAttribute("aria-describedby", rest.join(" "));
  else field.removeAttribute("aria-describedby");
  if (!target.form.querySelector("[aria-invalid]")) target.form.querySelector(".errors[data-fields]")?.remove();
});

/* Opens the form to which an action's link leads, at the end of the comment's card. Removes any form that is
   already open in a card. */
async function open(link) {
  const card = link.closest(".comment");
  card.setAttribute("aria-busy", "true");
  const { parsed } = await fetched(link.href);
  const form = parsed.querySelector(link.hash);
  if (!form) throw new Error(`The page has no ${link.hash}.`);
  document.querySelector(".in-place")?.remove();
  put(card, document.importNode(form, true), link);
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

/* Sends a form. The server answers with the list of the current page, so that one request brings the notice, the
   comment's card and the new counts. Returns this page, the refused form, or an error message. Reads the form's
   address by getAttribute, because a form may have a field named ``action``. In such a form, ``form.action`` is the
   field. */
async function sent(form, submitter) {
  let message = form.dataset.failed;
  try {
    const body = new URLSearchParams(new FormData(form, submitter));
    const address = new URL(form.getAttribute("action"), location.href);
    address.searchParams.set("list", location.pathname + location.search);
    const { answer, parsed } = await fetched(address, { method: "POST", body });
    if (answer.ok && new URL(answer.url).searchParams.has("notice")) return { page: parsed };
    const refused = parsed.querySelector(form.id ? `#${form.id}` : "#write");
    if (refused) return { refused: document.importNode(refused, true) };
    message = parsed.querySelector("main .lead p")?.textContent ?? message;
  } catch (error) {
    console.info(error); // there is no connection, so show the form's own message
  }
  return { message };
}

async function send(card, form, link, submitter) {
  const expected = expect(card, form);
  const { page, refused, message } = await sent(form, submitter);
  if (page) {
    card.remove();
    settle(expected, page);
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
  const [outcome] = await Promise.all([sent(form), new Promise((done) => setTimeout(done, 400))]);
  main.inert = false;
  const { page, refused, message } = outcome;
  if (!page) {
    expected.remove();
    if (!refused) return complain(form, message);
    document.getElementById("write").replaceWith(refused);
    count(refused);
    refused.querySelector(".errors").focus();
    return;
  }
  settle(expected, page);
  announce();
  // Replace the form by the form that the page first had, because ``reset`` does not empty the texts of a
  // refused form. The next comment needs a new idempotency key.
  const next = blank.querySelector("form");
  next.elements.form_key.value = form.elements.form_key.value;
  next.elements.key.value = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
  document.getElementById("write").replaceWith(blank);
  clear(next);
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

/* Shows the notice, the card and the counts of the server's response. If the comment has left the list, the
   response has no card, and only the notice replaces the expected card. */
function settle(expected, page) {
  const take = (selector, within = page) => {
    const found = within.querySelector(selector);
    return found && document.importNode(found, true);
  };
  const notice = take("#notice");
  notice.removeAttribute("id");
  notice.tabIndex = -1;
  const fresh = page.getElementById("fresh");
  const card = fresh && take(".comment", fresh.content);
  expected.replaceWith(card ?? notice);
  card?.append(notice);
  const parts = [...document.querySelectorAll(".lead [id]")].map(({ id }) => id).concat("filters", "found");
  // The response has the first page of the list, with a heading and highlights.
  if (!document.querySelector("#comments .pager a.back")) {
    document.title = page.title;
    parts.push("list-head", "summary");
  }
  const open = document.querySelector("#fold")?.open;
  for (const part of parts) {
    const fitting = take(`#${part}`);
    if (fitting) document.getElementById(part)?.replaceWith(fitting);
  }
  if (open) document.querySelector("#fold").open = true;
  const empty = document.querySelector("#comments > .empty");
  if (card) empty?.remove();
  else if (!empty && take("#comments > .empty")) notice.after(take("#comments > .empty"));
  const pager = document.querySelector("#comments .pager[data-total]");
  if (pager) {
    const whole = page.querySelectorAll("#comments > .comment").length; // a list that fits on a page has no pager
    pager.dataset.total = page.querySelector("#comments .pager")?.dataset.total ?? whole;
    showPlace(pager);
  }
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
