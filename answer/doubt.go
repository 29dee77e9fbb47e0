package answer

import (
	"slices"
	"strings"
)

// maxAddendum is how many sentences of an addendum are looked at.
const maxAddendum = 6

// doubted gives up what a reply has claimed, if it then says that the question is another
// one and gives another value. It gives up the letter of an option, if what follows does
// not leave it as it is: an addendum takes it back, or the reply ends with another letter.
// Their words need not be known: an addendum that names the letter or the answer, and denies
// or doubts something, does not confirm it.
func (s *search) doubted(out *Extraction) {
	if strings.HasPrefix(out.Method, methodMarker) && s.form.Conclusions && s.asksOther(out.Candidate) {
		s.giveUp(out, Several)
		return
	}
	if s.form.Verdicts && s.reversed(out) {
		s.giveUp(out, Withdrawn)
		return
	}
	if s.form.Verdicts && strings.HasPrefix(out.Method, methodMarker) && s.bothVerdicts() {
		s.giveUp(out, Several)
		return
	}
	if s.form.amounts && out.Method != methodCorrection && s.edited(out.Candidate) {
		s.giveUp(out, Withdrawn)
		return
	}
	if !s.form.Letters || len(out.Candidate) != 1 || out.Method == s.form.Method {
		return
	}
	d := &s.discourse
	status := Status("")
	for i := range d.sentences {
		if sn := &d.sentences[i]; sn.Start > s.taken.End && !s.inFence(sn.Start) && s.isAddendum(sn) && s.takesBack(i, out.Candidate) {
			status = Withdrawn
		}
	}
	if strings.HasPrefix(out.Method, methodMarker) && d.sentenceAt(s.taken.Start) != nil && (s.endsWithOther(out.Candidate) || s.deniesFor(out.Candidate)) {
		status = Several
	}
	if s.alsoOther(out.Candidate) {
		status = Several
	}
	if status != "" {
		s.giveUp(out, status)
	}
}

// maxAlso is how long a clause may be that gives another letter too, in bytes.
const maxAlso = 32

// alsoOther reports whether a short clause after a letter, in its sentence or the next, gives another
// one too: "B is correct, and so is C". Two letters never count for one.
func (s *search) alsoOther(letter string) bool {
	d := &s.discourse
	i := d.beginningBefore(s.taken.Start + 1)
	for k := max(i, 0); k < min(i+2, len(d.sentences)); k++ {
		sn := &d.sentences[k]
		if asks(sn) || s.inFence(sn.Start) {
			continue
		}
		text := s.text[sn.Start:sn.End]
		marks := lexicon().marks(nil, text, 0, len(text))
		for at := max(sn.Start, s.taken.End); at < sn.End; at++ {
			sp := letterAt(s.text, at, s.problem)
			if sp.End == 0 || s.task.Normalise(s.text[sp.Start:sp.End]) == letter {
				continue
			}
			from := sn.Start + clauseBefore(text, at-sn.Start)
			to := clauseAfter(s.text, sp.End, sn.End)
			if to-from > maxAlso || len(strings.Fields(s.text[from:to])) > 4 || deniedIn(text, marks, Span{sp.Start - sn.Start, sp.End - sn.Start}) {
				continue
			}
			if _, not := sn.has(useNot|useNever|useWrong|useBut|useIf, from, to); !not && slices.ContainsFunc(rows("too"), func(word string) bool { return hasWord(s.text[from:to], word) }) {
				return true
			}
		}
	}
	return false
}

// hasWord reports whether a text has a word of the table, in any case.
func hasWord(text, word string) bool {
	k := strings.Index(strings.ToLower(text), word)
	return k >= 0 && k+len(word) <= len(text) && apart(text, k, k+len(word))
}

// deniesFor reports whether one of the last sentences, after the one that claims a letter, denies that
// letter and names another one: "so it is not D but B".
func (s *search) deniesFor(letter string) bool {
	d := &s.discourse
	for i := len(d.sentences) - 1; i >= max(0, len(d.sentences)-maxAddendum); i-- {
		sn := &d.sentences[i]
		if sn.Start <= s.taken.End {
			break
		}
		if asks(sn) || sn.uses&(useNot|useNever) == 0 || sn.uses&(useIf|useSay|useWere|useMaybe) != 0 || s.inFence(sn.Start) {
			continue
		}
		denied, other := false, 0
		text := s.text[sn.Start:sn.End]
		marks := lexicon().marks(nil, text, 0, len(text))
		for at := range len(text) {
			sp := letterAt(text, at, s.problem)
			if sp.End == 0 {
				continue
			}
			switch no := deniedIn(text, marks, sp); {
			case s.task.Normalise(text[sp.Start:sp.End]) == letter:
				denied = denied || no
			case !no:
				other++
			}
		}
		if denied && other == 1 {
			return true
		}
	}
	return false
}

// reversed reports whether an addendum that takes a second look says the contrary of a yes or no:
// "Yes. Update: I read the page again, and it is not possible."
func (s *search) reversed(out *Extraction) bool {
	if out.Candidate != "yes" && out.Candidate != "no" {
		return false
	}
	contrary, same := useNo|useNever|useNot, useYes
	if out.Candidate == "no" {
		contrary, same = useYes, useNo|useNever|useNot
	}
	d := &s.discourse
	for i := range d.sentences {
		sn := &d.sentences[i]
		if sn.Start <= s.taken.End || s.inFence(sn.Start) || !s.isAddendum(sn) {
			continue
		}
		if _, again := sn.has(useWait|useSlip, sn.Start, sn.End); !again {
			continue
		}
		last := &d.sentences[min(i+1, len(d.sentences)-1)]
		_, against := last.has(contrary, last.Start, last.End)
		_, with := last.has(same, last.Start, last.End)
		if _, keeps := d.confirms(last, last.Start); against && !with && !keeps && !asks(last) {
			return true
		}
	}
	return false
}

// bothVerdicts reports whether the sentence of a yes or no has the other one at the end of another
// clause, and does not oppose the two: "before 2017 the answer is no, after that it is yes".
func (s *search) bothVerdicts() bool {
	sn := s.discourse.sentenceAt(s.taken.Start)
	if sn == nil || asks(sn) {
		return false
	}
	yes, no := -1, -1 // where their clauses begin
	for _, m := range sn.marks {
		if m.uses&useBut != 0 && m.uses&(useIs|useIt|useYes) == 0 {
			return false
		}
		if m.uses&(useYes|useNo) == 0 || m.end-m.start < 2 || m.start < s.taken.Start || !stops(s.text[m.end:]) || partOfWords(s.text, sn.marks, Span{m.start, m.end}) {
			continue
		}
		clause := clauseBefore(s.text[sn.Start:sn.End], m.start-sn.Start)
		switch yesNoOf(s.text[m.start:m.end]) {
		case "yes":
			yes = clause
		case "no":
			no = clause
		}
	}
	return yes >= 0 && no >= 0 && yes != no
}

// opposed reports whether one of the sentences after a yes or no begins with a word such as "but", and
// says the contrary in so many words: "Yes, everyone says so. But no, it is harmless."
func (s *search) opposed(out *Extraction) bool {
	contrary := useNo
	if out.Candidate == "no" {
		contrary = useYes
	}
	d := &s.discourse
	for i := 1; i < min(len(d.sentences), 1+maxAddendum); i++ {
		sn := &d.sentences[i]
		if sn.uses&useBut == 0 || sn.uses&contrary == 0 || asks(sn) || s.inFence(sn.Start) {
			continue
		}
		but, ok := sn.has(useBut, sn.Start, sn.Start+2)
		if !ok {
			continue
		}
		for _, m := range sn.marks {
			if m.uses&contrary != 0 && m.start >= but.end && m.end-m.start > 1 && stops(s.text[m.end:]) && !partOfWords(s.text, sn.marks, Span{m.start, m.end}) && len(strings.Fields(s.text[sn.Start+clauseBefore(s.text[sn.Start:m.start], m.start-sn.Start):m.start])) <= 1 {
				return true
			}
		}
	}
	return false
}

// maxWhich is how far from the beginning of a question the word may stand with which it asks, in
// bytes. Further on it belongs to what the question offers.
const maxWhich = 20

// asksWhich reports whether a reply that gives several values ends with a question which of them is
// meant: "Which format do you prefer?" Only what is not called the answer is given up.
func (s *search) asksWhich(out *Extraction) bool {
	d := &s.discourse
	if len(d.sentences) == 0 || out.Candidate == "" || s.suffix != "" {
		return false
	}
	last := &d.sentences[len(d.sentences)-1]
	if _, which := last.has(useWhich, last.Start, last.Start+maxWhich); !which || !asks(last) || last.Start < s.taken.End {
		return false
	}
	switch out.Method {
	case methodConclusion, methodCorrection:
		return s.form.amounts
	}
	return out.Status == Ambiguous && s.form.Find != nil && out.Method == s.form.Method || out.Status == Ambiguous && s.form.Extent == All
}

// giveUp makes a status of what was found.
func (s *search) giveUp(out *Extraction, status Status) {
	*out = Extraction{Method: methodEmpty, Status: status, Rules: out.Rules}
	s.room.tried = 0
	s.attempt(methodBack, 0, nil, string(status))
}

// isAddendum reports whether a sentence begins its line with a word for a second look or a
// note that leads it with a colon: "Update after your question:", "Nota:".
func (s *search) isAddendum(sn *sentence) bool {
	for _, m := range sn.marks {
		if m.uses&(useNote|useWait) != 0 && strings.Trim(s.text[sn.Start:m.start], "*_>([ ") == "" {
			if from := max(0, sn.Start-maxLead); from > 0 && strings.IndexByte(s.text[from:sn.Start], '\n') < 0 || !s.beginsLine(sn.Start) {
				return false
			}
			head := s.text[m.end:min(len(s.text), m.end+maxGap)]
			k := strings.IndexAny(head, ":\n")
			return k >= 0 && head[k] == ':' || strings.Contains(head, "：")
		}
	}
	return false
}

// edited reports whether a postscript or an edit, after a value, ends with another one to which words
// for a result lead: "Answer: 480. Edit: the contract has 10 months, so it is 400".
func (s *search) edited(value string) bool {
	d := &s.discourse
	begun := false
	for i := range d.sentences {
		sn := &d.sentences[i]
		if sn.Start <= s.taken.End || s.inFence(sn.Start) {
			continue
		}
		head := strings.TrimLeft(s.text[sn.Start:sn.End], "*_>([+ ")
		if begun = begun || s.beginsLine(sn.Start) && skipAny(head, 0, rows("edit")) > 0; !begun {
			continue
		}
		if _, keeps := d.confirms(sn, sn.Start); keeps || asks(sn) || sn.uses&(useIf|useThan|usePair) != 0 {
			return false
		}
		text := s.text[sn.Start:sn.End]
		marks := lexicon().marks(nil, text, 0, len(text))
		list := amountsIn(text, marks)
		if len(list) == 0 {
			continue
		}
		last := list[len(list)-1]
		clause := clauseBefore(text, last.Start)
		if s.normal(text[last.Start:last.End]) != value && slices.ContainsFunc(marks, func(m mark) bool {
			return m.uses&(useSo|useTotal|useIt) != 0 && m.start >= clause && m.end <= last.Start
		}) {
			return true
		}
	}
	return false
}

// takesBack reports whether the addendum that a sentence begins names the letter or the
// answer, and then denies or doubts something, and does not confirm it.
func (s *search) takesBack(i int, letter string) bool {
	d := &s.discourse
	named, denied := false, false
	for k := i; k < min(i+maxAddendum, len(d.sentences)); k++ {
		sn := &d.sentences[k]
		if k > i && s.isAddendum(sn) {
			break
		}
		if _, ok := d.confirms(sn, sn.Start); ok || asks(sn) {
			return false
		}
		for at := sn.Start; at < sn.End && !named; at++ {
			named = s.text[at] == letter[0] && apart(s.text, at, at+1)
		}
		_, own := sn.has(useNoun, sn.Start, sn.End)
		_, not := sn.has(useNot|useNever|useDrop|useMaybe, sn.Start, sn.End)
		named, denied = named || own, denied || not
	}
	return named && denied
}

// endsWithOther reports whether the last sentence of the reply, after the one that claims a
// letter, ends with another one, which nothing in it denies, compares or asks for.
func (s *search) endsWithOther(letter string) bool {
	d := &s.discourse
	sn := &d.sentences[len(d.sentences)-1]
	if sn.Start <= s.taken.End || asks(sn) || strings.HasPrefix(s.text[sn.Start:sn.End], "(") {
		return false
	}
	other, ok := s.otherLetterOf(sn)
	if !ok || other == letter {
		return false
	}
	return !s.compares(sn)
}

// otherLetterOf returns the letter with which a sentence ends, or the one that it calls right or
// chooses.
func (s *search) otherLetterOf(sn *sentence) (string, bool) {
	if m := letterLast.FindStringSubmatch(strings.TrimRight(s.text[sn.Start:sn.End], " .*_")); m != nil {
		return strings.Trim(m[1], "()[]"), true
	}
	from := sn.Start
	it, is := sn.has(useIt, sn.Start, sn.Start+1) // "It is option C that the map shows."
	if _, ok := sn.has(usePick|useRight|useNoun, sn.Start, sn.End); !ok && !is {
		return "", false
	}
	if is {
		from = min(it.end, sn.End)
	}
	sp := letterIn(s.text[from:sn.End], s.problem)
	if sp.End == 0 || is && !s.letterLed(Span{from + sp.Start, from + sp.End}) {
		return "", false
	}
	letter := s.task.Normalise(s.text[from+sp.Start : from+sp.End])
	return letter, len(letter) == 1
}

// compares reports whether words of a sentence deny, compare, suppose, attribute or confirm
// something.
func (s *search) compares(sn *sentence) bool {
	_, other := sn.has(useNot|useNever|useWrong|useThan|useOr|useIf|useSay|useMaybe|useWere|useKeep, sn.Start, sn.End)
	return other
}
