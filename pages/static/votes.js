/* Sends a vote without a reload. The button and the number change immediately, and change back if the
   server does not store the vote. Without this script, the form reloads the page. */

import { counted } from "./live.js";

document.addEventListener("submit", (event) => {
  const { target: form, submitter: button } = event;
  if (form.id !== "votes") return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, button));
  if (button.ariaBusy !== "true") send(form, button, body);
});

async function send(form, button, body) {
  const { name, dataset } = button;
  const before = Number(dataset.count);
  const helpful = name === "mark";
  show(form, button, helpful, Math.max(0, before + (helpful ? 1 : -1)));
  button.ariaBusy = "true";
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { Accept: "application/json" },
      body,
    });
    if (answer.redirected) return location.assign(answer.url); // to the sign-in page
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    const { count } = await answer.json();
    if (count === null) show(form, button, !helpful, before, form.dataset.refused);
    else show(form, button, helpful, count);
  } catch (error) {
    console.error(error);
    show(form, button, !helpful, before, form.dataset.failed);
  } finally {
    button.ariaBusy = null;
  }
}

function show(form, button, helpful, count, message) {
  button.ariaPressed = String(helpful);
  button.name = helpful ? "unmark" : "mark";
  button.dataset.count = count;
  const text = button.parentElement.querySelector("[role=status]");
  text.textContent = message ?? (count ? counted(JSON.parse(form.dataset.counts), count) : "");
  text.classList.toggle("error", Boolean(message));
}
