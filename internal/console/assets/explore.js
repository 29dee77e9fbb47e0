// A time is picked by dragging over the plot, or by the arrow keys, and is then asked for:
// it goes into the form, whose address holds all of it. Without this script a click on the
// plot asks for the part of the time that it is on.

const plot = document.getElementById("plot");
const pick = document.getElementById("pick");
const said = document.getElementById("picked");
const form = document.querySelector("form.filter");
const parts = plot ? [...plot.querySelectorAll("rect.bucket")] : [];
let from = -1, to = -1, dragging = false, moved = false;

const least = () => Math.min(from, to);
const most = () => Math.max(from, to);

function show() {
  if (from < 0) {
    pick.setAttribute("width", "0");
    said.textContent = said.dataset.usual;
    return;
  }
  const first = parts[least()], last = parts[most()];
  pick.setAttribute("x", first.getAttribute("x"));
  pick.setAttribute("width", String(Number(last.getAttribute("x")) + Number(last.getAttribute("width")) - Number(first.getAttribute("x"))));
  const at = (text) => new Date(text).toLocaleString();
  said.textContent = `${at(first.dataset.from)} – ${at(last.dataset.to)}. ${said.dataset.picked}`;
}

function ask() {
  form.elements.from.value = parts[least()].dataset.from;
  form.elements.to.value = parts[most()].dataset.to;
  form.requestSubmit();
}

// under is the part of the time below a pointer.
function under(e) {
  const box = plot.getBoundingClientRect();
  const x = Math.min(Math.max((e.clientX - box.left) / box.width, 0), 1) * 1000;
  const i = parts.findIndex((p) => x < Number(p.getAttribute("x")) + Number(p.getAttribute("width")));
  return i < 0 ? parts.length - 1 : i;
}

plot?.addEventListener("pointerdown", (e) => {
  if (e.button !== 0) return;
  dragging = true;
  moved = false;
  from = to = under(e);
  e.preventDefault();
  plot.focus({ preventScroll: true });
});
addEventListener("pointermove", (e) => {
  if (!dragging) return;
  const now = under(e);
  if (now === to) return;
  moved = true;
  to = now;
  show();
});
addEventListener("pointerup", () => {
  if (!dragging) return;
  dragging = false;
  if (moved) ask();
});
addEventListener("pointercancel", () => {
  dragging = false;
  from = to = -1;
  if (plot) show();
});
// A drag that ends where it began is not a click on a part.
plot?.addEventListener("click", (e) => {
  if (moved) e.preventDefault();
});
plot?.addEventListener("dragstart", (e) => e.preventDefault());

plot?.addEventListener("keydown", (e) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (step !== undefined) {
    to = from < 0 ? (step > 0 ? 0 : parts.length - 1) : Math.min(parts.length - 1, Math.max(0, to + step));
    if (!e.shiftKey || from < 0) from = to;
  } else if (e.key === "Escape") {
    from = to = -1;
  } else if (e.key === "Enter" && from >= 0) {
    ask();
  } else {
    return;
  }
  e.preventDefault();
  show();
});
