// What the theme adds to a page, for keyboards and screen readers: tables that scroll sideways can be
// reached, and the buttons of each block of code have a name.
const reach = () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  document.querySelectorAll(".md-code__nav").forEach((buttons, number) =>
    buttons.setAttribute("aria-label", `Code block ${number + 1}`));
};
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
