/* Without scripts, a strip opens its popover at the first photo. With them, at the chosen one. */
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-photo]");
  const box = button && document.getElementById(button.getAttribute("popovertarget"));
  if (!box) return;
  requestAnimationFrame(() => {
    box.querySelectorAll("li")[button.dataset.photo].scrollIntoView({ inline: "center" });
  });
});
