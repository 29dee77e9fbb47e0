// Formulas: TeX that stands between marks in a rendered answer becomes MathML, which the
// browser typesets. The library gives a tree, and only elements and attributes that are
// named here are made of it. It is loaded when there is a formula.

const version = new URL(import.meta.url).search;
let library = null;
const load = () => (library ??= import(new URL("temml.js" + version, import.meta.url)).then((m) => m.default));

const marks = [["$$", "$$"], ["\\[", "\\]"], ["\\(", "\\)"], ["$", "$"]];
const elements = new Set(
  "math mrow mi mn mo mtext mspace ms mfrac msqrt mroot mstyle merror mpadded mphantom menclose msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd semantics span".split(" "),
);
const attributes = new Set(
  "accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form height largeop linethickness lspace mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator side stretchy symmetric voffset width".split(" "),
);
const styles = new Set("color fontWeight fontStyle textAlign paddingLeft paddingRight paddingTop paddingBottom border borderTop borderBottom borderLeft borderRight textDecoration".split(" "));
const most = 5000; // elements of one formula

// nodeOf makes an element of a node of the library's tree.
function nodeOf(tree, budget) {
  if (typeof tree.text === "string") return document.createTextNode(tree.text);
  if (budget.left-- <= 0 || (tree.type !== undefined && !elements.has(tree.type))) throw new Error("not a formula");
  const el = tree.type ? document.createElementNS("http://www.w3.org/1998/Math/MathML", tree.type) : document.createDocumentFragment();
  for (const [name, value] of Object.entries(tree.attributes ?? {})) if (tree.type && attributes.has(name)) el.setAttribute(name, value);
  for (const [name, value] of Object.entries(tree.style ?? {})) if (tree.type && value && styles.has(name)) el.style[name] = value;
  for (const child of tree.children ?? []) el.append(nodeOf(child, budget));
  return el;
}

// typeset shows the formulas in an element. What cannot be read stays as it was said.
export async function typeset(within) {
  const list = [...within.querySelectorAll("code.math:not([data-said])")];
  if (list.length === 0) return;
  const temml = await load();
  for (const el of list) {
    const said = el.textContent, [open, close] = marks.find(([o, c]) => said.startsWith(o) && said.endsWith(c) && said.length > o.length + c.length) ?? [];
    el.dataset.said = said;
    if (!open) continue;
    try {
      const tree = temml.__renderToMathMLTree(said.slice(open.length, said.length - close.length), {
        displayMode: el.classList.contains("display"), throwOnError: true, trust: false, maxSize: [50, 500], maxExpand: 500, annotate: false,
      });
      const math = nodeOf(tree, { left: most });
      el.replaceChildren(math);
      el.querySelector("math")?.setAttribute("aria-label", said);
    } catch {
      el.classList.add("unread");
    }
  }
}

// saidIn is the text of a part of the page, with its formulas as they were said.
export function saidIn(part) {
  for (const el of part.querySelectorAll("code.math[data-said]")) el.replaceChildren(el.dataset.said);
  return part;
}

// What is copied has formulas as they were said.
document.addEventListener("copy", (e) => {
  const selection = getSelection();
  if (selection.rangeCount === 0 || !document.querySelector("code.math[data-said]")) return;
  const range = selection.getRangeAt(0);
  // A selection within a formula is that formula.
  const edge = (n) => (n.nodeType === Node.ELEMENT_NODE ? n : n.parentElement)?.closest("code.math[data-said]");
  const first = edge(range.startContainer), last = edge(range.endContainer);
  if (first) range.setStartBefore(first);
  if (last) range.setEndAfter(last);
  const part = range.cloneContents();
  if (!part.querySelector("code.math")) return;
  const box = document.createElement("div");
  box.className = "copying";
  box.append(saidIn(part));
  document.body.append(box);
  e.clipboardData.setData("text/plain", box.innerText);
  box.remove();
  e.preventDefault();
});
