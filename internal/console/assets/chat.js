// The chat: sends messages, and shows replies as they come. The server sends an answer as
// text, and each block of it again as elements when it is complete, so that nothing is
// parsed here. What comes is put on the page once per frame.

const root = document.body.dataset.root ?? "";
const $ = (id) => document.getElementById(id);
const talk = $("talk"), thread = $("thread"), form = $("composer"), say = $("say"), model = $("model"), think = $("think");
let leaf = Number(talk.dataset.leaf), running = null;

// Elements of a rendered answer, and the one attribute that each may have.
const known = new Set("p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del table thead tbody tr th td a div img".split(" "));
function build(node, to) {
  if (typeof node === "string") {
    to.append(node);
    return;
  }
  const [name, value, ...children] = node;
  if (!known.has(name)) return;
  const el = document.createElement(name);
  if (name === "a" && /^https?:\/\//.test(value)) {
    el.href = value;
    el.rel = "nofollow noreferrer";
  } else if (name === "img") {
    if (!/^data:image\/(png|jpeg|gif|webp);base64,/.test(value)) return;
    el.src = value;
    el.alt = children.shift() ?? "";
  } else if (name === "code" && /^math( display)?$/.test(value)) el.className = value;
  else if (name === "pre") el.tabIndex = 0;
  else if (name === "ol" && /^[0-9]{1,9}$/.test(value)) el.start = Number(value);
  else if (name === "div") {
    el.className = "words";
    children.length = 0;
    el.append(value);
  }
  for (const child of children) build(child, el);
  to.append(el);
}

// Formulas are typeset by a library that is loaded when there is one.
const formulas = () => import(new URL("formulas.js" + new URL(import.meta.url).search, import.meta.url));
const typeset = (within) => within.querySelector("code.math") && formulas().then((m) => m.typeset(within));

const clone = (id) => document.importNode($(id).content, true).firstElementChild;
const bytes = (n) => {
  const short = (v) => (v < 9.95 ? v.toFixed(1) : v.toFixed(0));
  return n < 1000 ? `${n} B` : n < 1e6 ? `${short(n / 1e3)} kB` : `${short(n / 1e6)} MB`;
};
const millis = (n) => (n < 1000 ? `${Math.round(n)} ms` : n < 60000 ? `${(n / 1000).toFixed(2)} s` : `${Math.floor(n / 60000)}m${Math.round((n % 60000) / 1000)}s`);

// A Tail is a text that grows. It is in pieces, so that a frame lays out a short one.
const piece = 4096;
class Tail {
  constructor(box) {
    this.box = box;
    this.clear();
  }
  clear() {
    this.box.replaceChildren();
    this.last = null;
    this.length = 0;
  }
  append(text) {
    while (text !== "") {
      if (this.last === null) {
        this.last = document.createTextNode("");
        this.length = 0;
        const line = document.createElement("div");
        line.append(this.last);
        this.box.append(line);
      }
      let end = -1;
      if (this.length + text.length > piece) end = text.indexOf("\n", Math.max(0, piece - this.length - 1)) + 1;
      const part = end > 0 ? text.slice(0, end) : text;
      this.last.appendData(part);
      this.length += part.length;
      text = text.slice(part.length);
      if (end > 0) this.last = null;
    }
  }
}

// Steps are what an agent does for an answer, from the page that the console makes of its
// record: a call is a card with its result, as on the page of the run.
class Steps {
  constructor(el, response) {
    this.el = el;
    this.to = el.querySelector(".steps");
    this.address = `${root}chat/${talk.dataset.id}/steps?response=${encodeURIComponent(response)}`;
    this.asking = this.again = false;
  }
  soon() {
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    setTimeout(() => this.ask(), 150);
  }
  ask() {
    const reader = new XMLHttpRequest();
    reader.open("GET", this.address);
    reader.responseType = "document";
    reader.onloadend = () => {
      const list = reader.status === 200 ? reader.response?.querySelector("#steps > .trace") : null;
      if (list?.querySelector(".call, .fault, .s-gap")) this.show(document.importNode(list, true));
      this.asking = false;
      if (this.again) {
        this.again = false;
        this.soon();
      }
    };
    reader.send();
  }
  show(list) {
    const bottom = atBottom(), open = new Set([...this.to.querySelectorAll("details[open]")].map((d) => d.closest("li")?.id));
    for (const d of list.querySelectorAll("details")) if (open.has(d.closest("li")?.id)) d.open = true;
    this.to.replaceChildren(list);
    this.el.classList.add("stepped");
    if (bottom) scrollTo(0, document.documentElement.scrollHeight);
  }
}

// A Reply is one that comes in. Events wait until the next frame, and what takes longer
// than a part of a frame goes on in the one after it.
class Reply {
  constructor(el, who) {
    this.el = el;
    this.who = who;
    this.began = performance.now();
    this.events = [];
    this.planned = false;
    this.bytes = this.out = 0;
    this.first = this.firstText = null;
    this.pick = (c) => el.querySelector(c);
    this.answer = this.pick(".answer");
    this.open = document.createElement("div");
    this.open.className = "words open";
    this.answer.replaceChildren(this.open);
    this.tail = new Tail(this.open);
    this.thought = new Tail(this.pick(".thought .words"));
    this.calls = [];
    this.agent = who.startsWith("agent/");
    this.steps = null;
    el.setAttribute("aria-busy", "true");
    this.clock = setInterval(() => this.count(), 250);
  }
  take(e) {
    this.events.push(e);
    this.plan();
  }
  plan() {
    if (this.planned) return;
    this.planned = true;
    const run = () => {
      if (!this.planned) return;
      this.planned = false;
      this.flush();
    };
    requestAnimationFrame(run);
    setTimeout(run, 200); // a page in the background has no frames
  }
  flush() {
    const bottom = atBottom(), end = performance.now() + 8;
    let i = 0;
    while (i < this.events.length && performance.now() < end) {
      const e = this.events[i++];
      if (e.k === "text" || e.k === "thought" || e.k === "narration") {
        while (i < this.events.length && this.events[i].k === e.k && e.s.length < 4 * piece) {
          e.s += this.events[i].s;
          if (e.k === "thought") e.bytes += this.events[i].bytes;
          i++;
        }
      }
      this.show(e);
    }
    this.events.splice(0, i);
    if (this.events.length > 0) this.plan();
    else if (this.done) this.ended();
    if (bottom) scrollTo(0, document.documentElement.scrollHeight);
  }
  show(e) {
    switch (e.k) {
      case "text":
        this.begun(true);
        this.out += e.s.length;
        this.tail.append(e.s);
        break;
      case "block": {
        const part = document.createDocumentFragment();
        for (const node of e.nodes) build(node, part);
        this.tail.clear();
        this.open.before(part);
        typeset(this.answer);
        break;
      }
      case "thought":
        this.begun(false);
        this.out += e.s.length;
        this.bytes += e.bytes;
        this.pick(".thought").hidden = false;
        this.thought.append(e.s);
        break;
      case "named":
        if ("steps" in talk.dataset && this.agent) this.steps = new Steps(this.el, e.response);
        break;
      case "narration":
        if (this.steps) {
          this.steps.soon();
          break;
        }
        // Each line is a step: what was said, or a tool that began or ended.
        for (const [i, line] of e.s.split("\n").entries()) {
          if (i > 0 && this.pick(".narrations").childElementCount < 400) this.step = null;
          if (line.trim() === "") continue;
          if (!this.step) this.pick(".narrations").append((this.step = clone("t-narration")));
          this.step.append(line);
        }
        break;
      case "call": {
        let call = this.calls[e.i];
        if (!call) {
          call = this.calls[e.i] = clone("t-call");
          this.pick(".calls").append(call);
        }
        if (e.name) call.querySelector(".name").textContent = e.name;
        call.querySelector("pre").append(e.s);
        break;
      }
      case "end":
        this.done = e;
    }
  }
  begun(text) {
    const now = performance.now();
    this.first ??= now;
    if (text && this.firstText === null) {
      this.firstText = now;
      this.count();
    }
  }
  // count shows the size and the time of the thought, and the pace of the reply.
  count() {
    const now = performance.now();
    if (this.bytes > 0) this.pick(".figures").textContent = `${bytes(this.bytes)} · ${millis((this.firstText ?? now) - this.first)}`;
    const pace = this.first !== null && now - this.first > 500 ? `≈ ${Math.round(this.out / 4 / ((now - this.first) / 1000))} ${$("pace").dataset.rate} · ` : "";
    $("pace").textContent = pace + `${((now - this.began) / 1000).toFixed(0)} s`;
  }
  fact(name, value) {
    const el = this.pick(".f-" + name);
    el.hidden = false;
    const b = el.querySelector("b");
    if (b) b.textContent = value;
  }
  ended() {
    const e = this.done, r = e.reply;
    clearInterval(this.clock);
    this.open.remove();
    this.el.removeAttribute("aria-busy");
    this.pick(".who").textContent = r.model ?? this.who;
    if (this.bytes > 0) this.pick(".figures").textContent = `${bytes(r.thought)} · ${millis(r.thought_millis ?? 0)}`;
    if (e.stopped) this.fact("stopped");
    if (r.output) this.fact("tokens", String(r.output));
    if (e.rate > 0) this.fact("rate", e.rate.toFixed(0));
    if (r.first_thought >= 0) this.fact("thought", millis(r.first_thought));
    if (r.first_answer >= 0) this.fact("answer", millis(r.first_answer));
    this.failed(r.error || e.unkept);
    if (e.asks) {
      $("asked").textContent = e.asks;
      card(this.el, e.n);
    }
    if (e.silent) {
      this.pick(".silent").hidden = false;
      this.pick(".silent").textContent = e.silent;
    }
    this.steps?.soon();
    if (r.response && "recorded" in talk.dataset) {
      const raw = this.pick("a.raw");
      raw.href = root + "exchanges/find?id=" + encodeURIComponent(r.response);
      raw.hidden = false;
    }
    if (e.n > 0) {
      number(this.el, e.n);
      leaf = e.n;
      branches(this.pick(".at-branches"), e.beside, e.n);
      stay();
    }
    this.finished?.();
  }
  // quit ends what waits for events, of which there are none.
  quit() {
    clearInterval(this.clock);
    this.planned = false;
  }
  failed(why) {
    if (!why) return;
    this.pick(".fault").hidden = false;
    this.pick(".fault").textContent = why;
  }
}

function number(el, n) {
  el.id = "m" + n;
  el.dataset.n = n;
  el.querySelector(".who").href = `?at=${n}#m${n}`;
}

// branches links the messages that stand in the place of one.
function branches(to, list, n) {
  if (!(list?.length > 1)) return;
  const at = list.indexOf(n), nav = clone("t-branches");
  for (const [by, el] of [[-1, nav.firstElementChild], [1, nav.lastElementChild]]) {
    const other = list[at + by];
    if (other === undefined) el.remove();
    else el.href = `?at=${other}#m${other}`;
  }
  nav.querySelector(".of").textContent = `${at + 1}/${list.length}`;
  to.replaceChildren(nav);
}

// stay keeps the branch in the address, so that a reload shows what is on the page.
function stay() {
  const branched = thread.querySelector(".branches") !== null || location.search !== "";
  history.replaceState(null, "", talk.dataset.id + (branched ? `?at=${leaf}` : ""));
}

const atBottom = () => document.documentElement.scrollHeight - scrollY - innerHeight < 80;

// bounded keeps the page small: a long conversation has its beginning on other pages.
const most = 120, few = 80;
function bounded() {
  if (thread.children.length <= most) return;
  while (thread.children.length > few) thread.firstElementChild.remove();
  const n = thread.firstElementChild.dataset.parent;
  if (n > 0) {
    $("earlier").hidden = false;
    $("earlier").querySelector("a").href = `?at=${n}#m${n}`;
  }
}

// ask sends a message and shows the reply. q has its place in the conversation, and undo
// takes back what the page shows, if the server refuses the message. An answer to a question
// has another path, and shows why it was refused itself. It returns whether the server took it.
async function ask(q, user, undo, path = "send", complain = refused, who = model.value) {
  const el = clone("t-reply");
  el.querySelector(".who").textContent = who;
  document.querySelector(".begin")?.remove();
  thread.append(el);
  bounded();
  scrollTo(0, document.documentElement.scrollHeight);
  const reply = new Reply(el, who), abort = new AbortController();
  const own = (running = { reply, abort, stop: null, stopping: false });
  busy(true);
  refused("");
  reply.finished = () => busy(false);
  const body = JSON.stringify({ id: talk.dataset.id, model: who, think: reply.agent ? "" : think.value, ...q });
  if (path === "send") localStorage.setItem("chat:model", model.value);
  let why = "";
  try {
    const resp = await fetch(`${root}chat/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal: abort.signal });
    if (!resp.ok) throw new Error((why = (await resp.json().catch(() => null))?.error?.message ?? `${resp.status} ${resp.statusText}`));
    await lines(resp.body, (e) => {
      if (e.k === "begin") begun(e, el, user);
      else reply.take(e);
    });
    if (!reply.events.some((e) => e.k === "end") && !reply.done) throw new Error("the console ended the stream");
    return true;
  } catch (err) {
    if (own.stop !== null) { // the server has the question, and keeps what came
      reply.take({ k: "end", n: 0, stopped: abort.signal.aborted, rate: 0, reply: { error: abort.signal.aborted ? "" : err.message, first_thought: -1, first_answer: -1 } });
      return true;
    }
    reply.quit();
    busy(false);
    undo();
    complain(why || $("refused").dataset.unkept);
    return false;
  }
}

// lines reads lines of JSON as they come.
async function lines(stream, each) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = value.split("\n");
    for (let i = 0; i < parts.length - 1; i++) {
      rest.push(parts[i]);
      each(JSON.parse(rest.join("")));
      rest = [];
    }
    rest.push(parts[parts.length - 1]);
  }
}

// begun takes what the server says first: where the conversation is now, and how to stop.
function begun(e, el, user) {
  running.stop = e.stop;
  el.dataset.parent = e.user;
  leaf = e.user;
  talk.dataset.id = e.id;
  if (user) {
    number(user, e.user);
    branches(user.querySelector(".at-branches"), e.beside, e.user);
  }
  stay();
  if (running.stopping) stop();
}

function busy(on) {
  if (!on) running = null;
  $("stop").hidden = !on;
  $("send").hidden = on;
  for (const b of document.querySelectorAll(".ask-again, .edit-this, .ask button")) b.disabled = on;
  if (!on) {
    $("pace").textContent = "";
    if (document.activeElement === document.body || document.activeElement === $("stop")) say.focus({ preventScroll: true });
  }
}

function stop() {
  if (!running) return;
  if (running.stop === null) {
    // The question may be on its way: the reply is stopped as soon as the server names it.
    running.stopping = true;
    const one = running;
    setTimeout(() => one.stop === null && one.abort.abort(), 5000);
  } else halt(running);
}

// halt stops a reply. If another gateway writes it than the one that is asked, the connection
// is closed, which stops it too; then the page shows what was kept of it.
async function halt(one) {
  const resp = await fetch(root + "chat/stop", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ stop: one.stop }) }).catch(() => null);
  if (resp?.ok && (await resp.json()).stopped) return;
  if (running !== one) return;
  const question = leaf;
  one.abort.abort();
  for (let i = 0; i < 50; i++) {
    await new Promise((done) => setTimeout(done, 100));
    const kept = await fetch(`${root}chat/${talk.dataset.id}?format=json&at=${question}`).catch(() => null);
    if (kept?.ok && (await kept.json()).leaf !== question) break;
  }
  location.replace(`${talk.dataset.id}?at=${question}`);
}

// said shows a message of the user.
function said(text, files, parent) {
  const el = clone("t-user");
  el.dataset.parent = parent;
  el.querySelector(".words").textContent = text;
  for (const f of files) {
    const li = document.createElement("li");
    li.textContent = `${f.name} ${bytes(f.text.length)}`;
    el.querySelector(".files").append(li);
  }
  thread.append(el);
  return el;
}

// undoing remembers the page, and returns a function that shows it again as it is.
function undoing(then) {
  const all = [...thread.children], from = leaf, begin = document.querySelector(".begin"), at = location.href;
  return () => {
    thread.replaceChildren(...all);
    leaf = from;
    if (begin) thread.after(begin);
    history.replaceState(null, "", at);
    then();
  };
}

// cutFrom removes what follows a message on this branch: it stays on its own.
function cutFrom(el) {
  while (el) {
    const next = el.nextElementSibling;
    el.remove();
    el = next;
  }
}

// Files that go with the message.
let files = [];
const maxFile = 256 * 1024, maxFiles = 8;
async function attach(list) {
  for (const f of list) {
    if (files.length >= maxFiles) break;
    const text = f.size <= maxFile ? await f.text() : null;
    if (text === null || text.includes("\0") || text.includes("\uFFFD")) {
      refused(`${f.name} ${$("chosen").dataset.big}`);
      continue;
    }
    const one = { name: f.name, text };
    files.push(one);
    listed(one);
  }
}

// listed shows a file that goes with the message.
function listed(one) {
  const li = clone("t-file");
  li.querySelector(".name").textContent = one.name;
  li.querySelector(".dim").textContent = bytes(new Blob([one.text]).size);
  li.querySelector("button").addEventListener("click", () => {
    files = files.filter((o) => o !== one);
    li.remove();
    say.focus();
  });
  $("chosen").append(li);
}

function refused(why) {
  $("refused").hidden = !why;
  $("refused").textContent = why;
}

if (form) {
  const draft = "draft:" + location.pathname;
  say.value = sessionStorage.getItem(draft) ?? "";
  const fit = () => {
    say.rows = Math.min(12, Math.max(2, say.value.split("\n").length));
  };
  fit();
  say.addEventListener("input", () => {
    fit();
    sessionStorage.setItem(draft, say.value);
  });
  if (model.dataset.chosen === "") {
    const last = localStorage.getItem("chat:model");
    if (last && [...(model.options ?? [])].some((o) => o.value === last)) model.value = last;
  }
  const thinks = () => {
    think.hidden = model.value.startsWith("agent/");
  };
  thinks();
  model.addEventListener("change", thinks);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const text = say.value.trim();
    if (running || (text === "" && files.length === 0)) return;
    if (model.value === "") {
      model.focus();
      return;
    }
    const kept = files, undo = undoing(() => {
      say.value = text;
      sessionStorage.setItem(draft, text);
      files = kept;
      for (const one of kept) listed(one);
      fit();
    });
    const user = said(text, files, leaf), q = { after: leaf, text, files };
    say.value = "";
    sessionStorage.removeItem(draft);
    files = [];
    $("chosen").replaceChildren();
    fit();
    ask(q, user, undo);
  });
  say.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      form.requestSubmit();
    }
  });
  addEventListener("keydown", (e) => {
    if (e.key === "Escape" && running && !$("keys")?.open) stop();
  });
  $("stop").addEventListener("click", stop);
  $("attach").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", async () => {
    await attach($("files").files);
    $("files").value = "";
  });
  form.addEventListener("dragover", (e) => e.preventDefault());
  form.addEventListener("drop", (e) => {
    e.preventDefault();
    attach(e.dataTransfer.files);
  });
  thread.addEventListener("click", (e) => {
    const el = e.target.closest(".said");
    if (!el || running) return;
    if (e.target.closest(".ask-again")) {
      const own = el.classList.contains("user"), after = Number(own ? el.dataset.n : el.dataset.parent), undo = undoing(() => {});
      cutFrom(own ? el.nextElementSibling : el);
      ask({ after, again: true }, null, undo);
    } else if (e.target.closest(".edit-this")) edit(el);
  });
  if (talk.dataset.id === "new") say.focus({ preventScroll: true });
}

// card shows the question of a reply as it is now, from the page that the server makes.
function card(el, n, why = "") {
  const reader = new XMLHttpRequest();
  reader.open("GET", `${root}chat/${talk.dataset.id}?at=${n}`);
  reader.responseType = "document";
  reader.onloadend = () => {
    const now = reader.status === 200 ? reader.response?.querySelector(`#m${n} .asks`) : null, bottom = atBottom();
    if (now) el.querySelector(".asks").replaceWith(document.importNode(now, true));
    const ask = el.querySelector(".ask");
    if (!ask) return;
    for (const b of ask.querySelectorAll("button")) b.disabled = running !== null || !form;
    ask.querySelector(".ask-fault").hidden = why === "";
    ask.querySelector(".ask-fault").textContent = why;
    closes(ask);
    if (bottom) scrollTo(0, document.documentElement.scrollHeight);
  };
  reader.send();
}

// closes looks again at a question when the time for an answer is over.
function closes(ask) {
  const left = Date.parse(ask.dataset.until) - Date.now();
  if (ask.dataset.state === "open" && left > 0 && left < 1e9) setTimeout(() => ask.isConnected && card(ask.closest(".said"), ask.dataset.n), left + 500);
}
for (const one of thread.querySelectorAll(".ask")) closes(one);
if (!form) for (const b of thread.querySelectorAll(".ask button")) b.disabled = true; // this page has no end to go on from

// A person answers the question of an agent by a button, and by nothing else.
thread.addEventListener("click", (e) => {
  const button = e.target.closest(".ask .allow, .ask .refuse, .ask .dismiss");
  if (!button || running || !form) return;
  const one = button.closest(".ask"), el = one.closest(".said"), n = Number(one.dataset.n), agree = button.classList.contains("allow"), dismiss = button.classList.contains("dismiss"), fields = button.closest("form"), values = {};
  if (agree && !fields.reportValidity()) return;
  if (agree) for (const [name, value] of new FormData(fields)) (values[name.slice(2)] ??= []).push(value);
  const undo = undoing(() => {});
  cutFrom(el.nextElementSibling);
  ask({ at: n, question: one.dataset.question, digest: one.dataset.digest, agree, dismiss, values }, null, undo, "consent", (why) => card(el, n, why), el.querySelector(".who").textContent).then((taken) => taken && card(el, n));
});

// The enter key in a field of a question answers nothing.
thread.addEventListener("submit", (e) => e.target.matches(".ask-form") && e.preventDefault());

// edit lets the user write a message anew. It becomes a branch beside the first one.
function edit(el) {
  if (el.querySelector("form") || !el.dataset.n) return;
  const words = el.querySelector(".words"), box = clone("t-edit"), text = box.querySelector("textarea");
  text.value = words.textContent;
  text.rows = Math.min(16, Math.max(3, text.value.split("\n").length));
  words.hidden = true;
  words.after(box);
  text.focus();
  const leave = () => {
    box.remove();
    words.hidden = false;
  };
  box.querySelector(".cancel").addEventListener("click", leave);
  box.addEventListener("keydown", (e) => {
    if (e.key === "Escape") leave();
    else if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) box.requestSubmit();
  });
  box.addEventListener("submit", (e) => {
    e.preventDefault();
    const now = text.value.trim();
    if (now === "" || running) return;
    const after = Number(el.dataset.n), parent = el.dataset.parent, undo = undoing(() => text.focus());
    cutFrom(el);
    const user = said(now, [], parent);
    user.querySelector(".files").replaceWith(document.importNode(el.querySelector(".files"), true));
    ask({ after, edits: true, text: now }, user, undo);
  });
}

// A copy has what was said, without the marks of the page.
thread.addEventListener("click", async (e) => {
  const button = e.target.closest(".copy-this"), n = button?.closest(".said").dataset.n;
  if (!n) return;
  const resp = await fetch(`${root}chat/${talk.dataset.id}/text?at=${n}`).catch(() => null);
  const words = button.textContent;
  try {
    if (!resp?.ok) throw new Error("not read");
    await navigator.clipboard.writeText(await resp.text());
    button.textContent = button.dataset.done;
    setTimeout(() => (button.textContent = words), 2000);
  } catch { // a browser without a clipboard leaves it to the reader
    getSelection()?.selectAllChildren(button.closest(".said").querySelector(".answer, .words"));
  }
});

// The steps of agents are fetched when they come into view.
if ("steps" in talk.dataset) {
  const seen = new IntersectionObserver((list) => {
    for (const { isIntersecting, target } of list) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      new Steps(target, target.dataset.agent).ask();
    }
  });
  for (const el of thread.querySelectorAll("[data-agent]")) if (el.dataset.agent) seen.observe(el);
}

// A reply that is being written elsewhere is shown when it has ended.
if ("underWay" in talk.dataset) {
  const look = async () => {
    const resp = await fetch(`${root}chat/${talk.dataset.id}?format=json&at=${leaf}`).catch(() => null);
    if (resp?.ok && !(await resp.json()).under_way) location.reload();
    else setTimeout(look, 500);
  };
  setTimeout(look, 100);
}

// A thought that was kept is in the record: it is fetched when it is unfolded.
thread.addEventListener("toggle", async (e) => {
  const d = e.target;
  if (!d.open || !("recorded" in talk.dataset) || !d.dataset.response || "read" in d.dataset) return;
  d.dataset.read = "";
  const resp = await fetch(`${root}chat/${talk.dataset.id}/thought?response=${encodeURIComponent(d.dataset.response)}`).catch(() => null);
  const said = resp?.ok ? await resp.json() : null;
  const text = said?.apart ?? said?.thoughts?.join("\n\n");
  if (text) new Tail(d.querySelector(".words")).append(text);
}, true);

// A link to a message that is not on this page leads to the page that has it.
function follow() {
  const wanted = /^#m([0-9]+)$/.exec(location.hash);
  if (wanted && !$(location.hash.slice(1)) && talk.dataset.id !== "new" && new URLSearchParams(location.search).get("at") !== wanted[1]) {
    location.replace(`?at=${wanted[1]}${location.hash}`);
  }
}
addEventListener("hashchange", follow);
follow();

// A conversation opens at its end, unless the address or Back says where.
if (location.hash === "" && !("past" in talk.dataset) && performance.getEntriesByType("navigation")[0]?.type === "navigate") {
  scrollTo(0, document.documentElement.scrollHeight);
}
