/* Adds up the cost of all lists that this tab has shown, and the cost of the articles' plan for them. */

import { number } from "./live.js";

export function addSavings() {
  const plan = document.querySelector(".plan[data-full]");
  if (!plan) return;
  try {
    const kept = JSON.parse(sessionStorage.getItem("capacity") ?? "[0, 0]");
    const [ours, theirs] = [kept[0] + Number(plan.dataset.ours), kept[1] + Number(plan.dataset.full)];
    sessionStorage.setItem("capacity", JSON.stringify([ours, theirs]));
    const line = plan.querySelector(".saved");
    const values = { ours: number(ours), theirs: number(theirs), saved: number(theirs - ours) };
    line.textContent = line.dataset.text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
    line.hidden = false;
  } catch (error) {
    console.info(error); // a browser that stores nothing
  }
}

addSavings();
