// Makes the theme's elements accessible: users of a keyboard can focus and scroll wide tables, and
// screen readers get a name for the buttons of each block of code.
const reach = () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  document.querySelectorAll(".md-code__nav").forEach((buttons, number) =>
    buttons.setAttribute("aria-label", `Code block ${number + 1}`));
};
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
