/* Shows the element and its HTML with the values of the form while the visitor changes them, and copies the HTML.
   Without this script, the form's button loads the page again. */

import { fetched } from "./fetching.js";

const form = document.querySelector("form.choice");
let latest = 0;

form.addEventListener("input", () => {
  const mine = (latest += 1);
  setTimeout(() => mine === latest && show(mine), 250);
});

async function show(mine) {
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  try {
    const { answer, parsed } = await fetched(address);
    if (mine !== latest) return;
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    for (const id of ["snippet", "preview"]) {
      document.getElementById(id).replaceWith(document.importNode(parsed.getElementById(id), true));
    }
    history.replaceState(null, "", answer.url);
    prepare();
  } catch (error) {
    console.error(error);
    location.assign(address);
  }
}

/* Colours the buttons of the element, because the page's CSP forbids attributes "style", and shows the button that
   copies the HTML. */
function prepare() {
  const { style, dataset } = document.querySelector("marginalia-comments");
  style.setProperty("--marginalia-button", dataset.button);
  const copy = document.getElementById("copy");
  copy.hidden = !navigator.clipboard; // without HTTPS, except on localhost
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.querySelector(".snippet").textContent);
    copy.nextElementSibling.textContent = copy.dataset.copied;
  });
}

prepare();
