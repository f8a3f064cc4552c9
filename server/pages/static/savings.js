/* Adds up the read capacity of all lists that this tab has shown. Also adds up what the articles' plan (see
   playground.py) would have used for these lists. */

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
    line.hidden = false;
  } catch (error) {
    console.info(error); // the browser stores nothing, so the line stays hidden
  }
}

addSavings();
