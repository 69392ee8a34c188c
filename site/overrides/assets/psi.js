// What the theme's scripts add to a page lacks what people without a mouse or a screen need.
function complete() {
  for (const scroller of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) scroller.tabIndex = 0; // wide tables
  for (const buttons of document.querySelectorAll("nav.md-code__nav:not([role])")) buttons.role = "none"; // not a landmark
  for (const version of document.querySelectorAll(".md-version__current:not([aria-label^=Version])")) version.ariaLabel = `Version ${version.textContent}`;
}
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
complete();
