// The timeline: what the pointer or the focus is on is described below it, in one
// place, the same for both.

const card = () => document.getElementById("card");
let shown = null;

function show(e) {
  const on = e.target.closest?.(".lanes svg a, .lanes svg g, .lanes svg line.pause");
  const text = on?.querySelector("title")?.textContent ?? "";
  if (text === shown || (!on && e.type === "focusin")) return;
  shown = text;
  const at = card();
  if (at) at.textContent = text;
}
document.addEventListener("pointerover", show);
document.addEventListener("focusin", show);
