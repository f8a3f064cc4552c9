/* Adds up the read capacity of all lists that this tab has shown, and the capacity that the articles' plan (see
   playground.py) would have used for these lists. If that is more, shows both sums in the panel of the list's plan. */

import { filled } from "./live.js";

export function addSavings() {
  const plan = document.querySelector(".plan[data-full]");
  if (!plan) return;
  try {
    const kept = JSON.parse(sessionStorage.getItem("capacity") ?? "[0, 0]");
    const [ours, theirs] = [kept[0] + Number(plan.dataset.ours), kept[1] + Number(plan.dataset.full)];
    sessionStorage.setItem("capacity", JSON.stringify([ours, theirs]));
    const line = plan.querySelector(".saved");
    line.textContent = filled(line.dataset.text, { ours, theirs, saved: theirs - ours });
    line.hidden = theirs <= ours;
  } catch (error) {
    console.info(error); // the browser stores nothing, so the line with the sums stays hidden
  }
}

addSavings();
