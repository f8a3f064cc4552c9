/* Opens the popover of photos at the selected photo, and uploads the files in the comment form. Without
   scripts, the popover opens at the first photo, and the form accepts only addresses of photos. */
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-photo]");
  const box = button && document.getElementById(button.getAttribute("popovertarget"));
  if (!box) return;
  requestAnimationFrame(() => {
    box.querySelectorAll("li")[button.dataset.photo].scrollIntoView({ inline: "center" });
  });
});

/* Shows the field for files, which is hidden without scripts, when the visitor opens the photos of a form.
   This also works for forms that scripts add later. */
document.addEventListener("toggle", ({ target }) => {
  target.querySelector?.(":scope > [data-uploads][hidden]")?.removeAttribute("hidden");
}, true);
for (const field of document.querySelectorAll("details[open] > [data-uploads]")) {
  field.hidden = false;
}

document.addEventListener("change", async ({ target }) => {
  const field = target.closest?.("[data-uploads]");
  if (!field || target.type !== "file") return;
  const said = field.querySelector("[role=status]");
  const words = field.dataset;
  const rows = [...field.parentElement.querySelectorAll("input[type=url]")];
  const free = rows.filter((one) => !one.value);
  const files = [...target.files];
  const type = target.accept.split(",");
  const flaw = files.some((one) => !type.includes(one.type)) ? words.type
    : files.some((one) => one.size > Number(words.bytes)) ? words.large
    : files.length > free.length ? words.full : "";
  said.textContent = flaw || words.running;
  said.classList.toggle("error", Boolean(flaw));
  if (flaw || !files.length) return;
  target.disabled = true;
  try {
    const { form_key, grant } = target.form.elements;
    const types = files.map((one) => one.type).join(",");
    const body = new URLSearchParams({ form_key: form_key.value, types });
    if (grant) body.set("grant", grant.value); // a visitor with a link has no session
    const answer = await fetch(words.uploads, { method: "POST", body });
    if (!answer.ok) throw new Error(answer.statusText);
    const uploads = await answer.json();
    if (uploads.length !== files.length) throw new Error("The server refused a file.");
    for (const [place, { url, fields, photoUrl }] of uploads.entries()) {
      const form = new FormData();
      for (const { name, value } of fields) form.append(name, value);
      form.append("file", files[place]);
      const stored = await fetch(url, { method: "POST", body: form });
      if (!stored.ok) throw new Error(stored.statusText);
      free[place].value = photoUrl;
      free[place].dispatchEvent(new Event("input", { bubbles: true }));
    }
    said.textContent = words.done;
    target.value = "";
  } catch {
    said.textContent = words.failed;
    said.classList.add("error");
  }
  target.disabled = false;
});
