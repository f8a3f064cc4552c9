/* Edit, delete, reply and report in the list: the form of the comment's own page opens in its card.
   The card shows at once what is sent, and the form comes back if the server refuses it. */

import { number } from "./live.js";

/* Shows the length of a text next to its maximum. */
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
  const answer = await fetch(url, { headers: { Accept: "text/html" }, ...options });
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  return { answer, parsed: document.importNode(parsed.body, true) };
}

/* Opens a link's form at the end of its card, in place of a form that is open there. */
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
  if (!form.elements) return form.querySelector("a").focus(); // the way to sign in
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

/* ``form.action`` would be the hidden field of this name. */
async function send(card, form, link, submitter) {
  const expected = expect(card, form);
  let message = form.dataset.failed;
  try {
    const body = new URLSearchParams(new FormData(form, submitter));
    const { answer, parsed } = await page(form.getAttribute("action"), link.dataset.act, { method: "POST", body });
    const url = new URL(answer.url);
    if (answer.ok && url.searchParams.has("notice")) {
      const stays = url.pathname.includes("/comments/"); // otherwise it is deleted or waits
      settle(card, expected, parsed.querySelector("#notice"), stays && parsed.querySelector(".comment"));
      return;
    }
    const refused = parsed.querySelector(`#${form.id}`);
    if (refused) {
      back(card, expected);
      form.remove();
      put(card, refused, link);
      return;
    }
    message = parsed.querySelector("main .lead p")?.textContent ?? message;
  } catch (error) {
    console.info(error); // no connection
  }
  back(card, expected);
  form.querySelector(".errors")?.remove();
  const errors = document.createElement("div");
  Object.assign(errors, { className: "errors", tabIndex: -1, textContent: message });
  errors.setAttribute("role", "alert");
  form.prepend(errors);
  errors.focus();
}

/* Puts a copy with the expected change in place of the card, which keeps the form. */
function expect(card, form) {
  const copy = card.cloneNode(true);
  copy.querySelector(".in-place").remove();
  copy.setAttribute("aria-busy", "true");
  const { title, text, rating } = form.elements;
  const heading = copy.querySelector(":is(h2, h3) a");
  if (form.id === "edit") {
    if (heading) heading.textContent = title.value;
    const old = copy.querySelector(":scope > .text");
    if (old) old.textContent = text.value;
    const lit = copy.querySelector(".stars svg");
    lit.setAttribute("width", 20 * rating.value);
    lit.setAttribute("viewBox", `0 0 ${20 * rating.value} 20`);
  }
  const reply = copy.querySelector(".reply .text");
  if (form.id === "write-reply" && reply) reply.textContent = text.value;
  card.after(copy);
  card.hidden = true;
  return copy;
}

function back(card, expected) {
  expected.remove();
  card.hidden = false;
}

/* Shows the card as the server returned it, or only its sentence if the comment left the list. */
function settle(card, expected, notice, fresh) {
  notice.removeAttribute("id");
  notice.tabIndex = -1;
  card.remove();
  if (fresh) {
    expected.replaceWith(fresh);
    fresh.append(notice);
  } else expected.replaceWith(notice);
  notice.focus();
}

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
