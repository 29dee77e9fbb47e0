"""A careful reader of tags in pure Python: the rival of the library in speed.py.

It has the rules for reasoning tags of docs/design.md on whole replies: the form of a tag, code and
quotes, other names of a close, nesting, blocks that never close, prompts that opened the block, and
the white space around a block. It has no output blocks, narration, tools, special tokens or
diagnostics, so it does less than the library. What it shares with the kit says how careful it is.
"""

import re

WHITE = " \t\n\v\f\r"
NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratch_pad|scratchpad"
TAG = re.compile(
    r"<[ \t]*(/?)[ \t]*(" + NAMES + r")"
    r"((?:[ \t\n\v\f\r]+[A-Za-z_:][-\w.:]*=(?:\"[^\"]*\"|'[^']*'|[^\s\"'`<>]+?))*)[ \t\n\v\f\r]*(/?)>",
    re.IGNORECASE | re.ASCII,
)
FAMILY = {"scratch_pad": 1, "scratchpad": 1, "reasoning": 2, "reflection": 3}
FENCE = re.compile(r"[ \t\v\f\r]*(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})", re.ASCII)
RUN = re.compile(r"`+")


class Tag:
    __slots__ = ("start", "end", "close", "empty", "name", "family")

    def __init__(self, m):
        self.start, self.end = m.span()
        self.close, self.empty = bool(m[1]), bool(m[4]) and not m[1]
        self.name = m[2].lower()
        self.family = FAMILY.get(self.name, 0)


def tags_of(raw):
    found = []
    for m in TAG.finditer(raw):
        if m.end() - m.start() > 128 or m[1] and m[3]:
            continue
        before = raw[m.start() - 1 : m.start()]
        if not m[1] and m[2] != m[2].lower() and (before.isalnum() or before == "_"):
            continue  # a generic type
        found.append(Tag(m))
    return found


def quoted(raw, t):
    before, after = raw[t.start - 1 : t.start], raw[t.end : t.end + 1]
    return before == after and before in ('"', "'", "`") and before != ""


def alone(raw, t):
    before = raw[raw.rfind("\n", 0, t.start) + 1 : t.start]
    end = raw.find("\n", t.end)
    return not before.strip(WHITE) and not raw[t.end : end if end >= 0 else len(raw)].strip(WHITE)


class Reading:
    def __init__(self, raw, end):
        self.raw, self.cut = raw, end in ("cut", "aborted")
        self.stopped = end == "stopped"
        self.visible, self.thoughts = [], []
        self.blank = True  # nothing but white space is visible
        self.line = ""  # the line of the text so far
        self.fence = None
        self.before = set()  # families that had a block
        self.drop = False  # white space may be dropped
        self.last_removed = False  # only white space since a removed marker

    def text(self, piece):
        if self.drop:
            if self.blank or "".join(self.visible).endswith("\n"):
                if self.blank:
                    self.visible = []
                piece = piece.lstrip(WHITE)
            self.drop = not piece
        if not piece:
            return
        self.visible.append(piece)
        if piece.strip(WHITE + "\ufeff"):
            self.blank = self.last_removed = False
        lines = (self.line + piece).split("\n")
        self.line = lines[-1]
        for line in lines[:-1]:
            self.fences(line)

    def fences(self, line):
        if self.fence:
            mark, n = self.fence
            bare = line.strip(WHITE)
            if bare.startswith(mark * n) and not bare.lstrip(mark):
                self.fence = None
            return
        m = FENCE.match(line)
        if m:
            self.fence = (m[1][0], len(m[1]))

    def fenced(self, t):
        if not self.fence:
            return False
        mark, n = self.fence
        if re.match(r"[ \t\v\f\r]*" + mark + "{%d,}[ \t\v\f\r]*$" % n, self.line):
            return False  # the line closes it
        close = re.compile(r"\n[ \t\v\f\r]*" + mark + "{%d,}" % n + r"[ \t\v\f\r]*(?:\n|$|<)")
        return self.cut or bool(close.search(self.raw, t.end - 1))

    def in_code(self, t):
        if self.fence and self.fenced(t) or "\n" in self.raw[t.start : t.end]:
            return False
        end = self.raw.find("\n", t.end)
        line = self.line + self.raw[t.start : end if end >= 0 else len(self.raw)]
        at = len(self.line)
        runs = [m.span() for m in RUN.finditer(line)]
        i = 0
        while i < len(runs):
            n = runs[i][1] - runs[i][0]
            partner = next((j for j in range(i + 1, len(runs)) if runs[j][1] - runs[j][0] == n), None)
            if partner is None:
                i += 1
                continue
            if runs[i][1] <= at < runs[partner][0]:
                return True
            i = partner + 1
        return False

    def literal(self, t):
        return quoted(self.raw, t) or self.fenced(t) or self.in_code(t)

    def block(self, tags, i, name, family, at):
        """Read a block that begins at a place; return the tag that ends it and its index, or none."""
        raw, own, unpaid = self.raw, {name}, 0
        start = at
        while i < len(tags):
            t = tags[i]
            if t.family != family:
                i += 1
                continue
            if not t.close and not t.empty:
                if not raw[start : t.start].strip(WHITE):
                    start = t.end  # a duplicate
                elif not quoted(raw, t):
                    unpaid += 1
                    own.add(t.name)
                i += 1
                continue
            if self.ends(tags, i, own, family, unpaid):
                return start, t, i
            if t.name in own and not quoted(raw, t):
                unpaid = max(0, unpaid - 1)
            i += 1
        return start, None, i

    def ends(self, tags, i, own, family, unpaid):
        t, raw = tags[i], self.raw
        if t.name in own and not quoted(raw, t):
            if not unpaid:
                return True
            after = next((n for n in tags[i + 1 :] if n.family == family and not quoted(raw, n)), None)
            return after is None or not (after.close or after.empty)
        if t.name not in own and not quoted(raw, t) and alone(raw, t):
            return True
        for n in tags[i + 1 :]:
            if n.family != family or quoted(raw, n):
                continue
            if not n.close and not n.empty:
                return True
            if n.name in own:
                return False
        return not self.cut

    def run(self, start):
        raw, tags = self.raw, tags_of(self.raw)
        pos = i = 0
        if start == "auto":
            start = self.settle(tags)
        if start.startswith("inside"):
            name = start.partition(":")[2] or "think"
            begin, t, i = self.block(tags, 0, name, FAMILY.get(name, 0), 0)
            pos = self.leave(begin, t)
            i += 1
        while i < len(tags):
            t = tags[i]
            self.text(raw[pos : t.start])
            pos = t.start
            if t.close:
                if self.stray(t):
                    self.removed()
                    pos = t.end
                i += 1
                continue
            if self.literal(t):
                i += 1
                continue
            if t.empty:
                pos = t.end
                self.removed()
                i += 1
                continue
            begin, close, j = self.block(tags, i + 1, t.name, t.family, t.end)
            if close is None and self.stopped and self.line.strip(WHITE):
                i += 1  # prose about a tag
                continue
            pos = self.leave(begin, close)
            self.before.add(t.family)
            i = j + 1
        self.text(raw[pos:])
        return "".join(self.visible), self.thoughts

    def settle(self, tags):
        trial = Reading(self.raw, "unknown")
        at, shown = 0, False
        for t in tags:
            trial.text(self.raw[at : t.start])
            at = t.start
            if shown and t.close:
                continue
            shown = shown or not t.close and trial.fenced(t)
            if not trial.literal(t) or (t.close and trial.fenced(t) and not quoted(self.raw, t)):
                return "inside:" + t.name if t.close else "outside"
        return "outside"

    def leave(self, begin, close):
        self.thought(self.raw[begin : close.start if close else len(self.raw)])
        self.removed()
        return close.end if close else len(self.raw)

    def thought(self, text):
        text = text.strip(WHITE)
        if text:
            self.thoughts.append(text)

    def removed(self):
        self.drop = self.last_removed = True
        if self.blank:
            self.visible = []

    def stray(self, t):
        if self.blank or self.last_removed:
            return not quoted(self.raw, t)
        if self.literal(t):
            return False
        return t.family in self.before and (alone(self.raw, t) or not self.raw[t.end :].strip(WHITE))


def parse(raw, start="auto", end="unknown"):
    """Return the visible text of a whole reply, and its thoughts."""
    if "<" not in raw and not start.startswith("inside"):
        return raw, []
    return Reading(raw, end).run(start)


def strip(raw, start="auto"):
    """Return the visible text. Like the library's, it reads again until nothing changes."""
    for _ in range(5):
        text = parse(raw, start)[0]
        if text == raw:
            return text
        raw, start = text, "outside"
    return ""


class Stream:
    """A splitter for streams that knows tags and nothing of code, quotes, nesting or doubts."""

    HOLD = re.compile(r"<[ \t]*/?[ \t]*[A-Za-z_]{0,12}[^<>]{0,100}$")

    def __init__(self):
        self.held, self.name = "", None

    def feed(self, delta):
        out, text, pos = [], self.held + delta, 0
        if "<" in text:
            for m in TAG.finditer(text):
                close, name = bool(m[1]), m[2].lower()
                if (self.name is None) == close or close and name != self.name:
                    continue
                if m.start() > pos:
                    out.append((self.name is not None, text[pos : m.start()]))
                self.name, pos = None if close else name, m.end()
        hold = self.HOLD.search(text, pos)
        end = hold.start() if hold else len(text)
        if end > pos:
            out.append((self.name is not None, text[pos:end]))
        self.held = text[end:]
        return out

    def close(self):
        held, self.held = self.held, ""
        return [(self.name is not None, held)] if held else []
