package answer

import "strings"

// Names of the tiers.
const (
	methodBlock  = "answer_block"
	methodBoxed  = "boxed"
	methodMarker = "marker"
	methodScan   = "fallback_bottom_scan"
	methodEmpty  = "empty"
)

// inReasoning ends the method of anything found in reasoning.
const inReasoning = "_in_reasoning"

// Extract finds the candidate of a reply. The same reply, task, problem and options
// give the same candidate. Reasoning never changes it, unless o.FromReasoning is
// set.
func Extract(t Task, raw string, p Problem, o Options) Extraction {
	rd := read(raw, o)
	s := search{task: t, form: t.Form(), problem: p, reading: &rd, room: new(room)}
	s.text = rd.text[:runOn(rd.text, s.form.Stops)]
	out := Extraction{Method: methodEmpty, Status: NoAnswer, Rules: s.form.Rules}
	if !s.explicit(&out, true) && !s.scan(&out, rd.cut && !o.ScanCut) && o.FromReasoning {
		s.fromReasoning(&out)
	}
	if out.Method == methodEmpty && rd.cut {
		out.Status = Truncated
	}
	out.Attempts = s.room.attempts[:s.room.tried]
	return out
}

// A search looks for the candidate in one text.
type search struct {
	task    Task
	form    Form
	problem Problem
	reading *reading
	text    string // the part of the reading's text that is searched
	suffix  string // of methods
	fenced  []Span
	finds
	*room
}

// A room holds the values that an extraction points to, so that they are allocated
// once.
type room struct {
	attempts [8]Attempt // one of each tier, and one of each tier that looks at reasoning
	at       Span       // of the candidate
	few      [2]find
	tried    int
}

// explicit tries the tiers of explicit answers, in order. own says whether the
// task's own tier is among them.
func (s *search) explicit(out *Extraction, own bool) bool {
	s.fenced = fences(s.text, s.reading.cut)
	s.list = s.few[:0]
	s.answerBlocks()
	if s.settle(out, methodBlock) {
		return true
	}
	if own && s.form.Find != nil {
		s.forget()
		for _, sp := range s.form.Find(s.text, s.problem) {
			s.keep(find{value: sp})
		}
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
	return s.settle(out, methodMarker)
}

func (s *search) fromReasoning(out *Extraction) {
	rd := s.reading.reasoningText()
	s.reading, s.text, s.suffix = &rd, rd.text, inReasoning
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
	if sp.Start < sp.End {
		candidate = s.task.Normalise(s.text[sp.Start:sp.End])
	}
	if candidate == "" {
		s.attempt(method, n, nil, "empty")
		return false
	}
	out.Candidate, out.Method, out.Status = candidate, method, OK
	if n > 1 && s.differ(candidate, last.weak, tier) {
		out.Status = Ambiguous
	}
	s.take(out, sp)
	s.attempt(method, n, out.Span, "")
	return true
}

// take records where the candidate stands.
func (s *search) take(out *Extraction, sp Span) {
	out.Written = s.text[sp.Start:sp.End]
	if raw, ok := s.reading.rawSpan(sp); ok {
		s.room.at = raw
		out.Span = &s.room.at
		out.Written = s.reading.raw[raw.Start:raw.End]
	}
}

func (s *search) attempt(method string, found int, sp *Span, why string) {
	s.room.attempts[s.tried] = Attempt{Method: method, Found: found, Span: sp, Why: why}
	s.tried++
}

// runOn returns where the text ends for the task: before the first line that begins
// with a stop and follows some other text.
func runOn(text string, stops []string) int {
	if len(stops) == 0 {
		return len(text)
	}
	for at := skipWhite(text, 0, len(text)); ; {
		k := strings.IndexByte(text[at:], '\n')
		if k < 0 {
			return len(text)
		}
		at += k + 1
		line := skipBlanks(text, at)
		for _, stop := range stops {
			if strings.HasPrefix(text[line:], stop) {
				return at
			}
		}
	}
}

// skipBlanks returns the first place from i that is not a space or tab.
func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}
