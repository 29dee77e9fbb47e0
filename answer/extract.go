package answer

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names of the tiers.
const (
	methodBlock      = "answer_block"
	methodBoxed      = "boxed"
	methodMarker     = "marker"
	methodRemark     = "remark"
	methodBare       = "bare"
	methodScan       = "fallback_bottom_scan"
	methodBack       = "taken_back"
	methodCorrection = "correction"
	methodConclusion = "conclusion"
	methodEmpty      = "empty"
)

// inReasoning ends the method of anything found in reasoning.
const inReasoning = "_in_reasoning"

// Extract finds the candidate of a reply. The same reply, task, problem and options
// give the same candidate. Reasoning never changes it, unless o.FromReasoning is
// set.
func Extract(t Task, raw string, p Problem, o Options) Extraction {
	rd := readingOf(raw, o)
	form := t.Form()
	p.Key = cmp.Or(p.Key, form.Key)
	if !form.markers.are(form.Markers) {
		form.markers = newMarkers(form.Markers) // of a task that is not of this package
	}
	s := search{task: t, form: form, problem: p, reading: &rd, room: new(room)}
	s.scratch = scratches.Get().(*scratch)
	defer scratches.Put(s.scratch)
	s.text = rd.text[:turnEnd(form.withoutOwnEnds(rd.text))]
	s.bounded = len(s.text) < len(rd.text)
	if form.Conclusions {
		s.text, s.struck = unstruck(s.text)
	}
	s.read()
	if end := s.runOn(); end < len(s.text) {
		s.text, s.bounded = s.text[:end], true
		s.read()
	}
	out := Extraction{Method: methodEmpty, Status: NoAnswer, Rules: s.form.Rules}
	s.look(&out, o)
	if s.asksWhich(&out) || s.offers(&out) || s.oneOfCases(&out) {
		s.giveUp(&out, Several)
	} else if s.mended(&out) {
		s.giveUp(&out, Withdrawn)
	}
	if out.Method == methodEmpty && rd.cut {
		out.Status = Truncated
	}
	out.Attempts = s.room.attempts[:s.room.tried]
	return out
}

// maxTurns is how many second looks of a reply are read, the last ones.
const maxTurns = 4

// read finds the fenced code of the text, and reads its end as a discourse.
func (s *search) read() {
	s.fenced = fences(s.text, s.reading.cut)
	s.discourse = discourse{}
	s.numbers.known = false
	s.discourse.read(s.text, s.inFence, s.scratch)
}

// look reads the reply as a discourse. Where it takes a second look, what it claims
// after that counts. What it claims before counts only if it does not take it back.
func (s *search) look(out *Extraction, o Options) {
	turns := s.discourse.turns
	if s.last(out, turns) {
		s.doubted(out)
		return
	}
	if out.Status == NoAnswer {
		if len(turns) == 0 && s.bare(out) {
			s.contradicted(out)
			if s.form.Verdicts && (s.reversed(out) || s.opposed(out)) {
				s.giveUp(out, Withdrawn)
			}
			return
		}
		if s.scan(out, s.reading.cut && !o.ScanCut || len(turns) > 0 && !s.form.lowest()) {
			return
		}
		if out.Status == NoAnswer && (!s.reading.cut || s.bounded) && (s.concluded(out) || s.expressed(out)) {
			return
		}
	}
	if o.FromReasoning {
		s.fromReasoning(out, o.Reasoning)
	}
}

// contradicted gives up the answer with which a reply begins, if its end concludes
// another one: "A. … So it is C."
func (s *search) contradicted(out *Extraction) {
	if !s.form.Letters && !s.form.Verdicts {
		return
	}
	d := &s.discourse
	for i := len(d.sentences) - 1; i > max(0, len(d.sentences)-maxPassed); i-- {
		sn := &d.sentences[i]
		sp, led := s.stating(sn)
		if sp.End == 0 || !led || s.adds(sn) || listMark(s.text[sn.Start:sn.End]) > 0 || d.force(sn, sp.Start, sp.Start) != asserted {
			continue
		}
		if c := s.task.Normalise(s.text[sp.Start:sp.End]); c != "" && c != out.Candidate {
			*out = Extraction{Method: methodEmpty, Status: Several, Rules: out.Rules}
			s.attempt(methodConclusion, 2, nil, "several")
		}
		return
	}
}

// last takes the last claim that nothing takes back. The status is withdrawn if a turn
// takes back what there was, and nothing is claimed after it.
func (s *search) last(out *Extraction, turns []turn) bool {
	for i := len(turns); i >= max(0, len(turns)-maxTurns); i-- {
		s.from, s.room.tried = 0, 0
		if i == 0 {
			return s.explicit(out, true)
		}
		t := turns[i-1]
		if t.prior && !s.tellsOld(t) || t.slip && s.form.Value == nil || t.near && !s.claimedBefore(t, false) {
			continue // "that is wrong" is said of something else
		}
		s.from = t.at
		if s.explicit(out, true) {
			return true
		}
		if !(t.void && t.drop) && s.confirmed(t) {
			continue
		}
		if s.form.blocks && s.speaksOfPart(t) {
			continue
		}
		if s.struck > 0 && s.struck < t.at && t.slip {
			continue // what it takes back is struck out
		}
		corrected := s.corrected(out, t)
		if !corrected && t.slip && i > 1 && s.betweenTurns(out, turns[i-2], t) {
			return true
		}
		if corrected && !(t.void && s.repeats(out, t)) {
			return true
		}
		if corrected || t.void && s.claimedBefore(t, !s.form.lowest()) {
			*out = Extraction{Method: methodEmpty, Status: Withdrawn, Rules: out.Rules}
			s.room.tried = 0
			s.attempt(methodBack, 0, nil, "withdrawn")
			return false
		}
	}
	s.from, s.room.tried = 0, 0
	return s.explicit(out, true)
}

// betweenTurns takes the value that the reply gives after one second look and before another,
// which only owns to an error: "7. No, 9. I had swapped them."
func (s *search) betweenTurns(out *Extraction, first, second turn) bool {
	if !first.void {
		return false
	}
	var x Extraction
	within := *s
	within.room, within.list, within.scratch = new(room), nil, new(scratch)
	within.text, within.bounded, within.from = s.text[:second.at], true, first.at
	within.read()
	if !within.explicit(&x, true) && !within.corrected(&x, first) {
		return false
	}
	s.forget()
	s.keep(find{value: within.taken, method: methodCorrection})
	return s.settle(out, methodCorrection)
}

// tellsOld reports whether the sentence before a turn tells which letter or name the reply
// gave earlier.
func (s *search) tellsOld(t turn) bool {
	sn := s.discourse.sentenceAt(max(0, t.at-1))
	if sn == nil {
		return false
	}
	if s.form.Verdicts {
		_, said := sn.has(useYes|useNo, sn.Start, sn.End)
		return !said // "I told you yes" gives the old one only
	}
	if s.form.Letters {
		for at := sn.Start; at < t.at; at++ {
			if letterAt(s.text[:t.at], at, s.problem).End > 0 {
				return true
			}
		}
		return false
	}
	return s.named() && len(namesIn(s.text[:t.at], &sentence{Span: Span{sn.Start, t.at}})) > 0
}

// confirmed reports whether a second look ends by confirming what was said before it: "Let
// me check … That checks out." It does not if it gives a value in so many words.
func (s *search) confirmed(t turn) bool {
	d := &s.discourse
	kept := false
	for i := range d.sentences {
		sn := &d.sentences[i]
		if sn.End <= t.at {
			continue
		}
		if _, ok := d.confirms(sn, max(sn.Start, t.at)); ok {
			kept = true
		} else if s.isCorrection(sn) {
			return false
		}
	}
	return kept
}

// isCorrection reports whether a sentence gives a value after words such as "it is" or
// "it should be".
func (s *search) isCorrection(sn *sentence) bool {
	if s.form.Value == nil {
		return false
	}
	for _, m := range sn.marks {
		if m.uses&useIt != 0 && m.uses&useIs == 0 && m.end < sn.End && m.end-m.start > 3 && s.form.Value(s.text[m.end:sn.End], s.problem).End > 0 {
			return true
		}
	}
	return false
}

// maxBack is how far before a turn the claim stands that it takes back, in bytes.
const maxBack = 2 << 10

// claimedBefore reports whether there is a claim before a turn that it can take back.
// lines says whether a line that is an answer by its form is one.
func (s *search) claimedBefore(t turn, lines bool) bool {
	var out Extraction
	return s.before(&out, t, lines)
}

// before takes the claim before a turn that it can take back.
func (s *search) before(out *Extraction, t turn, lines bool) bool {
	before := *s
	before.room, before.list, before.scratch = new(room), nil, new(scratch)
	before.text, before.bounded, before.from = s.text[:t.at], true, max(0, t.at-maxBack)
	before.read()
	return before.explicit(out, true) || before.bare(out) || lines && before.scan(out, false) || before.concluded(out)
}

// repeats reports whether a correction of a yes or no gives what it takes back: then it
// only speaks of that, "I take back my yes".
func (s *search) repeats(out *Extraction, t turn) bool {
	var old Extraction
	return s.form.Verdicts && s.before(&old, t, false) && old.Candidate == out.Candidate
}

// A search looks for the candidate in one text.
type search struct {
	task      Task
	form      Form
	problem   Problem
	reading   *reading
	text      string // the part of the reading's text that is searched
	suffix    string // of methods
	from      int    // finds before it do not count
	struck    int    // where the last part ends that the reply has struck out, or 0
	bounded   bool   // the text was cut before its end, so that its end is no cut of the reply
	fenced    []Span
	discourse discourse
	scratch   *scratch // the discourse is in it
	taken     Span     // of the candidate, in the text
	numbers   struct { // how the text writes them, if that was looked up
		known bool
		locale
	}
	finds
	*room
}

// A room holds the values that an extraction points to, so that they are allocated
// once.
type room struct {
	attempts [12]Attempt // one of each tier, and one of each tier that looks at reasoning
	at       Span        // of the candidate
	few      [2]find
	tried    int
}

// explicit tries the tiers of explicit answers, in order. own says whether the
// task's own tier is among them. What the text claims in boxes, after markers and in
// sentences is one tier, so that the last of it counts.
func (s *search) explicit(out *Extraction, own bool) bool {
	s.list = s.few[:0]
	s.forget()
	s.answerBlocks()
	if s.settle(out, methodBlock) {
		return true
	}
	if own && s.form.Find != nil {
		s.forget()
		s.own(s.form.Find)
		if s.form.blocks {
			s.answering()
		}
		if s.settle(out, s.form.Method) {
			return true
		}
	}
	s.forget()
	s.claims()
	return s.settle(out, methodMarker)
}

// claims keeps what the text claims in boxes, after markers and in sentences.
func (s *search) claims() {
	if s.form.Boxed {
		s.boxes()
	}
	s.markers()
	if s.form.Sayings {
		s.prose()
	}
	if s.form.Letters {
		s.checked()
	}
	s.sortClaims()
}

// own looks with a tier of the task's own.
func (s *search) own(look func(string, Problem) []Span) {
	for _, sp := range look(s.text, s.problem) {
		if sp.Start >= s.from {
			f := find{value: sp}
			if s.form.Letters {
				f.method = s.form.Method // the letters of several questions: all lines count
			}
			s.keep(f)
		}
	}
}

func (s *search) fromReasoning(out *Extraction, separated string) {
	rd := s.reading.reasoningText()
	if rd.text == "" {
		rd = reading{raw: separated, text: separated, cut: rd.cut, apart: true}
	}
	s.reading, s.text, s.suffix, s.from = &rd, rd.text, inReasoning, 0
	s.read()
	s.explicit(out, false)
}

// settle takes the last find of a tier, preferring finds outside code. It reports
// false if there is none, or if the last is empty.
func (s *search) settle(out *Extraction, tier string) bool {
	n, last := s.choose()
	if n == 0 {
		s.attempt(tier+s.suffix, 0, nil, "")
		return false
	}
	method := tier
	switch {
	case last.method != "":
		method = last.method
	case tier == methodMarker:
		method = labelOf(last.label)
	}
	method += s.suffix
	sp := s.valueOf(last, tier)
	candidate := ""
	if last.method != methodBoxed && s.shortened(sp) {
		s.attempt(method, n, nil, "cut")
		return false
	}
	if sp.Start < sp.End {
		sp, candidate = s.normalised(sp, last)
	}
	if candidate == "" {
		s.attempt(method, n, nil, "empty")
		return false
	}
	if t, ok := s.task.(methodNamer); ok {
		method = t.methodOf(method, s.text[sp.Start:sp.End], candidate)
	}
	out.Candidate, out.Method, out.Status = candidate, method, statusOf(candidate)
	if n > 1 && s.differ(candidate, sp, last.weak, tier) {
		out.Status = Ambiguous
	}
	s.record(out, sp)
	s.attempt(method, n, out.Span, "")
	return true
}

// normalised returns the candidate of a span. If a claim has more words than its value,
// the value counts.
func (s *search) normalised(sp Span, f find) (Span, string) {
	text := s.text[sp.Start:sp.End]
	candidate := s.normal(text)
	if s.form.Value == nil || f.label == "" || f.method != "" || s.form.amounts && len(text) <= maxPlain && isDigits(text) {
		return sp, candidate
	}
	whole := s.wellFormed(text) && !strings.ContainsFunc(text, follows)
	if whole && !s.form.formulas {
		return sp, candidate
	}
	v := s.form.Value(text, s.problem)
	if v.End == 0 || whole && !isClause(text[:v.Start]) {
		return sp, candidate
	}
	v = Span{sp.Start + v.Start, sp.Start + v.End}
	return v, s.normal(s.text[v.Start:v.End])
}

// maxPlain is how many digits a number may have that is taken as it stands.
const maxPlain = 15

// isClause reports whether the text before a formula is the beginning of a sentence: "the height
// is", "这个圆的面积是".
func isClause(head string) bool {
	words := 0
	for w := range strings.FieldsSeq(head) {
		if strings.IndexByte(w, '\\') < 0 && strings.IndexFunc(w, unicode.IsLetter) == 0 && utf8.RuneCountInString(w) > 1 {
			words++
		}
	}
	return words >= 2 || strings.ContainsFunc(head, isCJK)
}

// A methodNamer is a task that names the method by how it read what is written.
type methodNamer interface {
	methodOf(method, written, candidate string) string
}

// record notes where the candidate stands.
func (s *search) record(out *Extraction, sp Span) {
	out.Written, s.taken = s.text[sp.Start:sp.End], sp
	if raw, ok := s.reading.rawSpan(sp); ok && !s.reading.apart {
		s.room.at = raw
		out.Span = &s.room.at
		out.Written = s.reading.raw[raw.Start:raw.End]
	}
}

func (s *search) attempt(method string, found int, sp *Span, why string) {
	s.room.attempts[s.tried] = Attempt{Method: method, Found: found, Span: sp, Why: why}
	s.tried++
}

// shortened reports whether the end of a cut reply may have shortened a value: "The
// answer is 1" may have become 18.
func (s *search) shortened(sp Span) bool {
	if !s.reading.cut || s.bounded {
		return false
	}
	if sp.Start == sp.End || sp.End < len(s.text) {
		return false
	}
	c := s.text[sp.End-1]
	return isDigit(c) || isWordByte(c)
}

// skipBlanks returns the first place from i that is not a space or tab.
func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}
