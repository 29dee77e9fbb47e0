package answer

import "cmp"

// Names of the tiers.
const (
	methodBlock  = "answer_block"
	methodBoxed  = "boxed"
	methodMarker = "marker"
	methodRemark = "remark"
	methodBare   = "bare"
	methodScan   = "fallback_bottom_scan"
	methodBack   = "taken_back"
	methodEmpty  = "empty"
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
	s := search{task: t, form: form, problem: p, reading: &rd, room: new(room)}
	s.text = rd.text[:turnEnd(rd.text)]
	s.bounded = len(s.text) < len(rd.text)
	s.fenced = fences(s.text, rd.cut)
	if end := s.runOn(); end < len(s.text) {
		s.text, s.bounded = s.text[:end], true
		s.fenced = fences(s.text, rd.cut)
	}
	out := Extraction{Method: methodEmpty, Status: NoAnswer, Rules: s.form.Rules}
	s.look(&out, o)
	if out.Method == methodEmpty && rd.cut {
		out.Status = Truncated
	}
	out.Attempts = s.room.attempts[:s.room.tried]
	return out
}

// look tries the tiers. Where the reply takes a second look, what it states after
// that counts. What it states before counts only if it does not take it back.
func (s *search) look(out *Extraction, o Options) {
	again, void := s.retracted()
	if again > 0 {
		s.from = again
		if s.explicit(out, true) {
			return
		}
		s.from, s.room.tried = 0, 0
	}
	if void {
		s.text, s.bounded = s.text[:again], true
		s.attempt(methodBack, 0, nil, "refused")
	} else if s.explicit(out, true) || again == 0 && s.bare(out) || s.scan(out, s.reading.cut && !o.ScanCut || again > 0 && !s.form.lowest()) {
		return
	}
	if o.FromReasoning {
		s.fromReasoning(out, o.Reasoning)
	}
}

// A search looks for the candidate in one text.
type search struct {
	task    Task
	form    Form
	problem Problem
	reading *reading
	text    string // the part of the reading's text that is searched
	suffix  string // of methods
	from    int    // finds before it do not count
	bounded bool   // the text was cut before its end, so that its end is no cut of the reply
	fenced  []Span
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
// task's own tier is among them.
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
		if s.settle(out, s.form.Method) {
			return true
		}
	}
	if s.form.Boxed {
		s.forget()
		s.boxes()
		if s.settle(out, methodBoxed) {
			return true
		}
	}
	s.forget()
	s.markers()
	if s.settle(out, methodMarker) {
		return true
	}
	if !own || s.form.Remark == nil {
		return false
	}
	s.forget()
	s.own(s.form.Remark)
	return s.settle(out, methodRemark)
}

// own looks with a tier of the task's own.
func (s *search) own(look func(string, Problem) []Span) {
	for _, sp := range look(s.text, s.problem) {
		if sp.Start >= s.from {
			s.keep(find{value: sp})
		}
	}
}

func (s *search) fromReasoning(out *Extraction, separated string) {
	rd := s.reading.reasoningText()
	if rd.text == "" {
		rd = reading{raw: separated, text: separated, cut: rd.cut, apart: true}
	}
	s.reading, s.text, s.suffix, s.from = &rd, rd.text, inReasoning, 0
	s.fenced = fences(s.text, rd.cut)
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
	method := tier + s.suffix
	if tier == methodMarker {
		method = labelOf(last.label) + s.suffix
	}
	sp := s.valueOf(last, tier)
	candidate := ""
	if s.shortened(sp, tier) {
		s.attempt(method, n, nil, "cut")
		return false
	}
	if sp.Start < sp.End {
		candidate = s.task.Normalise(s.text[sp.Start:sp.End])
	}
	if candidate == "" {
		s.attempt(method, n, nil, "empty")
		return false
	}
	if t, ok := s.task.(methodNamer); ok {
		method = t.methodOf(method, s.text[sp.Start:sp.End], candidate)
	}
	out.Candidate, out.Method, out.Status = candidate, method, OK
	if n > 1 && s.differ(candidate, last.weak, tier) {
		out.Status = Ambiguous
	}
	s.record(out, sp)
	s.attempt(method, n, out.Span, "")
	return true
}

// A methodNamer is a task that names the method by how it read what is written.
type methodNamer interface {
	methodOf(method, written, candidate string) string
}

// record notes where the candidate stands.
func (s *search) record(out *Extraction, sp Span) {
	out.Written = s.text[sp.Start:sp.End]
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
func (s *search) shortened(sp Span, tier string) bool {
	if !s.reading.cut || s.bounded || tier != methodMarker && tier != methodBlock && tier != s.form.Method && tier != methodRemark {
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
