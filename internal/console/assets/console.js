// The console reads without this script. It adds keys, local times, following the
// record, and a login by the fragment of the address. It makes no markup: pages come
// from the server, and are taken over as documents.

const root = document.body.dataset.root ?? "";
const $ = (id) => document.getElementById(id);
document.documentElement.classList.add("scripted");

// A token in the fragment logs in once, and leaves the address at once.
const secret = new URLSearchParams(location.hash.slice(1)).get("token");
if (secret !== null) {
  history.replaceState(null, "", location.pathname + location.search);
  const form = $("login");
  if (form) {
    form.elements.token.value = secret;
    form.submit();
  }
}

// On a phone the rail is wider than the window: the place where one is comes into view.
{
  const rail = document.querySelector(".rail"), here = rail?.querySelector("[aria-current]");
  if (here) rail.scrollLeft = here.offsetLeft - (rail.clientWidth - here.offsetWidth) / 2;
}

// Times are shown in the reader's own zone; the full time is in the title.
function localTimes(within) {
  const today = new Date().toDateString();
  for (const el of within.querySelectorAll("time[datetime]")) {
    const at = new Date(el.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    el.title = el.dateTime;
    const two = (n) => String(n).padStart(2, "0");
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
    if (!("short" in el.dataset)) el.textContent = `${day} ${clock}:${two(at.getSeconds())}`;
    else el.textContent = at.toDateString() === today ? `${clock}:${two(at.getSeconds())}` : `${day} ${clock}`;
  }
}
localTimes(document);

// Rows: j and k move, enter opens because the focus is on a link. The row that was
// open is found again after Back.
const rows = () => [...document.querySelectorAll("a.row")];
const place = "row:" + location.pathname + location.search;
function move(step) {
  const list = rows();
  if (list.length === 0) return;
  const now = list.indexOf(document.activeElement);
  const next = now < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, now + step));
  list[next].focus();
}
document.addEventListener("click", (e) => {
  const row = e.target.closest?.("a.row");
  if (row) sessionStorage.setItem(place, row.getAttribute("href"));
});
{
  const last = sessionStorage.getItem(place);
  if (last !== null && performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
    rows().find((row) => row.getAttribute("href") === last)?.focus({ preventScroll: true });
  }
}

// A filter that is not set is not in the address.
document.querySelector("form.filter")?.addEventListener("formdata", (e) => {
  for (const [name, value] of [...e.formData]) if (value === "") e.formData.delete(name);
});

// Following: the server says when the record has grown, and the page asks for itself
// again, once at a time and at most once a second.
const list = $("list");
const button = $("live");
let stream = null, asking = false, again = false, reader = null;

function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  reader = new XMLHttpRequest();
  reader.open("GET", location.href);
  reader.responseType = "document";
  reader.onloadend = () => {
    const fresh = reader.status === 200 ? reader.response?.getElementById("list") : null;
    if (fresh && stream) take(document.importNode(fresh, true));
    setTimeout(() => {
      asking = false;
      if (again && stream) {
        again = false;
        refresh();
      }
    }, 1000);
  };
  reader.send();
}

// take puts a new list in the place of the old one. The row with the focus keeps it,
// and what the reader looks at stays where it is.
function take(fresh) {
  localTimes(fresh);
  const focus = document.activeElement?.closest?.("tr")?.id;
  const seen = scrollY > 0 ? rows().map((r) => r.closest("tr")).find((tr) => tr.getBoundingClientRect().bottom > 0) : null;
  const at = seen?.getBoundingClientRect().top;
  list.dataset.head = fresh.dataset.head;
  list.replaceChildren(...fresh.childNodes);
  if (focus) $(focus)?.querySelector("a.row")?.focus({ preventScroll: true });
  const kept = seen && $(seen.id);
  if (kept) scrollBy(0, kept.getBoundingClientRect().top - at);
}

function follow(on) {
  stream?.close();
  stream = null;
  if (on) {
    stream = new EventSource(root + ("all" in list.dataset ? "live?all" : "live"));
    stream.addEventListener("head", (e) => {
      if (e.data !== list.dataset.head) refresh();
    });
    stream.onopen = refresh;
  }
  button.setAttribute("aria-pressed", String(on));
  button.querySelector(".said").textContent = on ? button.dataset.live : button.dataset.paused;
}
if (button && list) {
  const wanted = sessionStorage.getItem("live") !== "off";
  const set = (on) => {
    sessionStorage.setItem("live", on ? "on" : "off");
    follow(on);
  };
  button.addEventListener("click", () => set(stream === null));
  addEventListener("pagehide", () => stream?.close());
  addEventListener("pageshow", (e) => e.persisted && follow(sessionStorage.getItem("live") !== "off"));
  follow(wanted);
}

// Formulas of the page are typeset.
if (document.querySelector("code.math")) import(new URL("formulas.js" + new URL(import.meta.url).search, import.meta.url)).then((m) => m.typeset(document));

// A button copies the text of an element, and says so.
document.addEventListener("click", async (e) => {
  const from = $(e.target.closest?.("[data-copy]")?.dataset.copy);
  if (!from) return;
  getSelection()?.selectAllChildren(from); // what a browser without a clipboard leaves to the reader
  const said = $("copied");
  try {
    await navigator.clipboard.writeText(from.textContent);
    if (said) said.textContent = said.dataset.text;
  } catch {
    if (said) said.textContent = "";
  }
});

// Keys.
const help = $("keys");
$("keys-open")?.addEventListener("click", () => help.showModal());
let going = false;
const open = (id) => $(id)?.click();
const keys = {
  "?": () => help?.showModal(),
  "/": () => $("search")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  "[": () => open("newer"),
  "]": () => open("older"),
  b: () => open("to-bytes"),
  r: () => open("to-raw"),
  l: () => button?.click(),
  t: () => {
    const all = [...document.querySelectorAll("details.thought")];
    const unfold = all.some((d) => !d.open);
    for (const d of all) d.open = unfold;
  },
};
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || help?.open) return;
  if (e.target.closest?.("input, select, textarea")) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  if (going) {
    going = false;
    const to = [...document.querySelectorAll(".rail [data-key]")].find((a) => a.dataset.key === e.key);
    if (to) {
      e.preventDefault();
      to.click();
      return;
    }
  }
  if (e.key === "g") {
    going = true;
    return;
  }
  if (Object.hasOwn(keys, e.key)) {
    e.preventDefault();
    keys[e.key]();
  }
});
