/* Adds the button "Show more" to a list. The button appends the next page's comments. After a press,
   three more pages are appended, each when the visitor reaches the end of the list. Then the button waits
   for the next press, so that the visitor can reach the form below the list. */

import { fetched } from "./fetching.js";
import { counted, filled } from "./live.js";

const BY_THEMSELVES = 3; // pages that are appended without a press

/* Shows which comments are on the page, such as 1–40 of 110. Returns whether their place is known. */
export function showPlace(pager) {
  const { total, place } = pager.dataset;
  if (!total) return false;
  const last = document.querySelectorAll("#comments > .comment").length;
  pager.querySelector(".place").textContent = filled(place, { first: 1, last, count: Number(total) });
  return true;
}

export function offerMore() {
  const pager = document.querySelector("#comments .pager");
  if (!pager?.querySelector("a.onward")) return;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "more", textContent: pager.dataset.more });
  const added = document.createElement("p"); // for screen readers, except an error
  added.className = "unseen";
  added.setAttribute("role", "status");
  pager.prepend(button, added);
  let left = 0;
  const atEnd = new IntersectionObserver(([end]) => {
    if (end.isIntersecting && left > 0) more(false);
  });
  atEnd.observe(button);
  button.addEventListener("click", () => {
    left = BY_THEMSELVES + 1;
    more(true);
  });

  async function more(pressed) {
    if (button.ariaBusy === "true") return;
    const onward = pager.querySelector("a.onward");
    button.ariaBusy = "true";
    try {
      const { answer, parsed } = await fetched(onward.href);
      if (!pager.isConnected) return; // ``show`` in page.js has replaced the list
      const further = parsed.querySelector("#comments .pager");
      if (!answer.ok || !further) throw new Error(`The server answered ${answer.status}.`);
      added.className = "unseen";
      append([...parsed.querySelectorAll("#comments > .comment")], onward, further, pressed);
      left -= 1;
    } catch (error) {
      console.info(error);
      left = 0; // otherwise each scroll would send the request again
      added.textContent = pager.dataset.failed;
      added.className = "error";
    } finally {
      button.ariaBusy = null;
    }
  }

  function append(comments, onward, further, pressed) {
    const shown = [...document.querySelectorAll("#comments > .comment")];
    const known = new Set(shown.map((one) => one.dataset.comment));
    const fresh = comments.filter((one) => !known.has(one.dataset.comment));
    shown.at(-1).after(...fresh.map((one) => document.importNode(one, true)));
    added.textContent = counted(JSON.parse(pager.dataset.added), fresh.length);
    if (!showPlace(pager)) pager.querySelector(".place")?.remove();
    const next = document.importNode(further.querySelector(".onward"), true);
    onward.replaceWith(next);
    if (!next.href) {
      atEnd.disconnect();
      button.remove();
    } else {
      // Observe the button again: it may still be in the window, and an observer reports only changes.
      atEnd.unobserve(button);
      atEnd.observe(button);
    }
    if (pressed) shown.at(-1).nextElementSibling.querySelector("a")?.focus({ preventScroll: true });
  }
}

offerMore();
