package answer

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A value of JSON, or a program, stands in a block or within a sentence. What the reply does with
// it stands in the sentence that leads to it and in the one after it. These functions
// read that: a sample, a quotation, or what the reply advises against is not an answer, and
// of alternatives none is.

// maxBlocks is how many finds at the end of a reply are looked at in their sentences.
const maxBlocks = 16

// maxLeadBlanks is how much white space and marks of a fence may stand before a block, in bytes.
const maxLeadBlanks = 256

// A block is a find and the sentences around it. A sentence that does not exist is nil.
type block struct {
	Span
	inline       bool      // words stand before it in its sentence, and no colon
	lead, trail  *sentence // that lead to it, and that follow it
	from, behind int       // where the lead ends, and the trail begins
}

// blockAt returns the block of a find.
func (s *search) blockAt(sp Span) block {
	d := &s.discourse
	b := block{Span: sp}
	fenced := s.inFence(sp.Start)
	b.from = s.leadEnd(sp.Start, fenced)
	if i := d.beginningBefore(b.from); i >= 0 && !s.inFence(d.sentences[i].Start) {
		sn := &d.sentences[i]
		if strings.IndexByte(s.text[max(sn.Start, b.from-maxSentence):b.from], '\n') < 0 && hasLetters(s.text[sn.Start:min(b.from, len(s.text))]) {
			b.lead = sn
		}
	}
	if b.lead != nil && !fenced {
		last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s.text[b.lead.Start:b.from], " `*_"))
		b.inline = b.lead.Start < sp.Start && last != ':' && last != '：' && strings.IndexByte(s.text[b.from:sp.Start], '\n') < 0
	}
	b.behind = sp.End
	if fenced {
		b.behind = min(len(s.text), lineEnd(s.text, sp.End)+1) // the line of the fence
		if at := trimmed(s.text, Span{sp.End, b.behind}); !isFence(s.text[at.Start:at.End]) {
			b.behind = min(len(s.text), lineEnd(s.text, b.behind)+1)
		}
	}
	if i := d.beginningBefore(b.behind); i >= 0 && d.sentences[i].End > b.behind && hasLetters(s.text[b.behind:d.sentences[i].End]) {
		b.trail = &d.sentences[i]
	} else if i+1 < len(d.sentences) && !s.inFence(d.sentences[i+1].Start) && !isFence(s.text[d.sentences[i+1].Start:d.sentences[i+1].End]) {
		b.trail = &d.sentences[i+1]
	}
	if b.trail != nil && labelText(s.text[max(b.behind, b.trail.Start):b.trail.End]) != "" {
		b.trail = nil // it leads to what follows
	}
	return b
}

// leadEnd returns where the text before a block ends: before white space, marks, and the line of
// its fence.
func (s *search) leadEnd(at int, fenced bool) int {
	if fenced {
		at = strings.LastIndexByte(s.text[:at], '\n')
		at = max(0, strings.LastIndexByte(s.text[:max(at, 0)], '\n'))
	}
	for least := max(0, at-maxLeadBlanks); at > least && strings.IndexByte(white+"`*_>", s.text[at-1]) >= 0; {
		at--
	}
	return at
}

// beginningBefore returns the last sentence that begins before a place, or -1.
func (d *discourse) beginningBefore(at int) int {
	i, _ := slices.BinarySearchFunc(d.sentences, at, func(sn sentence, at int) int { return sn.Start - at })
	return i - 1
}

func hasLetters(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

// leads returns the first mark of a use before the block, in the sentence that leads to it.
func (b *block) leads(uses use) (mark, bool) {
	if b.lead == nil {
		return mark{}, false
	}
	return b.lead.has(uses, b.lead.Start, b.from)
}

// trails returns the first mark of a use in the sentence after the block.
func (b *block) trails(uses use) (mark, bool) {
	if b.trail == nil {
		return mark{}, false
	}
	return b.trail.has(uses, b.behind, b.trail.End)
}

// answering removes the finds that the reply does not give as its answer.
func (s *search) answering() {
	from := max(0, len(s.list)-maxBlocks)
	lacks := s.asksForMore()
	kept := s.list[:from]
	for _, f := range s.list[from:] {
		if b := s.blockAt(f.value); !f.weak && s.unmeant(&b, lacks) {
			s.strong--
			continue
		}
		kept = append(kept, f)
	}
	s.list = kept
}

// unmeant reports whether a block is a sample, a quotation, supposed, denied, or advised against.
func (s *search) unmeant(b *block, lacks bool) bool {
	if b.inline {
		return s.mentioned(b)
	}
	if _, sample := b.leads(useSample); lacks && sample {
		return true
	}
	if bad, ok := b.leads(useDummy | useAvoid | useTrap | useTheirs); ok && !b.mends(bad, useVoid|useDrop|useSlip|useRight|useKeep|useBut|usePick) {
		_, form := b.leads(useSample) // "in the format that you sent"
		return bad.uses&useTheirs == 0 || !form
	}
	m, bad := b.trails(useAvoid | useDummy)
	if !bad || strings.Contains(s.text[b.behind:b.trail.End], "`") || asks(b.trail) {
		return false
	}
	_, limits := b.trail.has(useIf|useBut, m.end, b.trail.End)
	end := clauseAfter(s.text, m.end, b.trail.End)
	return !limits && len(strings.Fields(s.text[m.end:end])) <= 2
}

// mends reports whether the sentence that leads to a block puts something right, apart from the words
// that would make the block a bad one.
func (b *block) mends(bad mark, uses use) bool {
	if b.lead == nil {
		return false
	}
	for _, m := range b.lead.marks {
		apart := m.end <= bad.start || m.start >= bad.end
		if m.end <= b.from && apart && m.uses&useNo == 0 && m.uses&uses != 0 {
			return true
		}
	}
	return false
}

// mentioned reports whether a sentence speaks of a value within it, and does not give it.
func (s *search) mentioned(b *block) bool {
	d := &s.discourse
	if m, sample := b.leads(useSample | useDummy | useAvoid | useTheirs); sample && !s.isFormat(b.lead, m) {
		return true
	}
	switch d.force(b.lead, b.Start, b.Start) {
	case asserted:
	case supposed:
		if b.lead.uses&useIf == 0 || len(s.list) > 1 {
			return true
		} // "if you only want to mend the message, use …"
	default:
		return true
	}
	clause := b.lead.Start + clauseBefore(s.text[b.lead.Start:b.from], b.from-b.lead.Start)
	if _, doubts := b.lead.has(useMaybe|useWere, clause, b.from); doubts {
		return true
	}
	if _, drops := b.leads(useDrop); drops {
		return true
	}
	if b.trail == nil || b.trail.Start > b.End+2 { // the next sentence
		return false
	}
	end := clauseAfter(s.text, b.End, b.trail.End)
	for _, m := range b.trail.marks {
		if m.start >= b.End && m.uses&useDrop != 0 && m.uses&(useIs|useIt|useSo|useNo) == 0 {
			return true // "but on reflection it would delete rows, so forget it"
		}
		if m.start >= b.End && m.end <= end && m.uses&(useNot|useNever|useWrong|useMaybe|useWere|useDrop|useSample|useDummy|useAvoid) != 0 && m.uses&(useIs|useIt) == 0 {
			return true
		}
	}
	return false
}

// isFormat reports whether a word for a form names the format of what it speaks of: "the film in JSON
// format is …".
func (s *search) isFormat(sn *sentence, m mark) bool {
	if m.uses&useSample == 0 {
		return false
	}
	head, rest := strings.TrimRight(s.text[sn.Start:m.start], " -"), strings.TrimLeft(s.text[m.end:sn.End], " ")
	at := m.start
	if k := len(head) - len("JSON"); k >= 0 && strings.EqualFold(head[k:], "JSON") {
		at = sn.Start + k
	} else if len(rest) < len("JSON") || !strings.EqualFold(rest[:len("JSON")], "JSON") {
		return false
	}
	return slices.ContainsFunc(sn.marks, func(by mark) bool {
		return by.uses&useBy != 0 && by.end < at && strings.TrimSpace(s.text[by.end:at]) == ""
	})
}

// asksForMore reports whether a sentence of the reply says that it lacks what the answer needs:
// "Paste the text, and I will fill it in." If it says so only under a condition, the answer is
// there.
func (s *search) asksForMore() bool {
	d := &s.discourse
	for i := range d.sentences {
		sn := &d.sentences[i]
		if m, ok := sn.has(useLack, sn.Start, sn.End); ok && !s.inFence(sn.Start) {
			if _, if_ := sn.has(useIf, sn.Start, m.start); !if_ {
				return true
			}
		}
	}
	return false
}

// speaksOfPart reports whether the sentence of a second look speaks of code that it quotes, and not of
// the block before it: "Don't use `--hard`."
func (s *search) speaksOfPart(t turn) bool {
	sn := s.discourse.sentenceAt(t.at)
	return sn != nil && strings.Count(s.text[sn.Start:sn.End], "`")%4 == 2 && !s.inFence(sn.Start)
}

// offers reports whether the last of several blocks that differ is one of alternatives of which
// the reader may choose.
func (s *search) offers(out *Extraction) bool {
	if !s.form.blocks || out.Status != Ambiguous || len(s.list) < 2 || s.suffix != "" {
		return false
	}
	last := s.blockAt(s.list[len(s.list)-1].value)
	before := s.blockAt(s.list[len(s.list)-2].value)
	if so, ok := last.leads(useSo | useWait); last.inline || last.mends(mark{}, useVoid|useDrop|useSlip|useRight|useKeep) || ok && so.uses&useNo == 0 {
		return false
	}
	if m, or := last.leads(useOr); or && !hasLetters(s.text[last.lead.Start:m.start]) {
		return true
	}
	if m, or := last.leads(useOther); or && !hasLetters(s.text[last.lead.Start:m.start]) && !s.bothDefine(&before, &last) {
		return true
	}
	_, if1 := before.leads(useIf)
	_, if2 := last.leads(useIf)
	if if1 && if2 || s.leavesChoice(last.behind) {
		return true
	}
	return s.parallel(&before, &last)
}

// leavesChoice reports whether a sentence after a place leaves the choice to the reader.
func (s *search) leavesChoice(from int) bool {
	d := &s.discourse
	for i := max(0, d.beginningBefore(from)); i < len(d.sentences); i++ {
		sn := &d.sentences[i]
		if _, ok := sn.has(useChoose, max(from, sn.Start), sn.End); ok && !s.inFence(sn.Start) {
			return true
		}
	}
	return false
}

// maxLabel is how many letters and spaces the label of an alternative has at most.
const maxLabel = 48

// parallel reports whether the labels of two blocks are those of alternatives: they begin with the
// same word, or a word for an alternative leads both. Two programs that define something
// are two versions, of which the last counts.
func (s *search) parallel(a, b *block) bool {
	if a.lead == nil || b.lead == nil || a.lead == b.lead {
		return false
	}
	one, two := labelText(s.text[a.lead.Start:a.from]), labelText(s.text[b.lead.Start:b.from])
	if one == "" || two == "" || one == two {
		return false
	}
	if s.bothDefine(a, b) {
		return false
	}
	_, other1 := a.leads(useOther)
	_, other2 := b.leads(useOther)
	return other1 && other2 || firstWord(one) == firstWord(two)
}

// bothDefine reports whether each of two blocks begins by defining something: a function, a class.
func (s *search) bothDefine(a, b *block) bool {
	return defined(firstLine(s.text, a.Span)) != "" && defined(firstLine(s.text, b.Span)) != ""
}

// labelText returns the text of a label without its marks, or "" if it does not look like one.
func labelText(line string) string {
	line = strings.Trim(line, white+"#*_>-")
	rest := strings.TrimSuffix(strings.TrimSuffix(line, ":"), "：")
	if rest == line || utf8.RuneCountInString(rest) > maxLabel || len(strings.Fields(rest)) > 6 {
		return ""
	}
	return strings.ToLower(rest)
}

// firstWord returns the first word of a label, or its first two letters where spaces part no words.
func firstWord(label string) string {
	if r, n := utf8.DecodeRuneInString(label); isCJK(r) {
		_, m := utf8.DecodeRuneInString(label[n:])
		return label[:n+m]
	}
	word, _, _ := strings.Cut(label, " ")
	return strings.TrimRight(word, "0123456789.)")
}

func firstLine(text string, sp Span) string { return text[sp.Start:lineEndIn(text, sp.Start, sp.End)] }

// maxMembers is how many members of a block are looked for in the sentences after it.
const maxMembers = 64

// mended reports whether a sentence after the last block calls one of its members wrong: "The
// room above is wrong, it should be C 110."
func (s *search) mended(out *Extraction) bool {
	if !s.form.blocks || out.Candidate == "" || out.Candidate[0] != '{' || s.suffix != "" {
		return false
	}
	d := &s.discourse
	var members []string
	first := max(0, d.beginningBefore(s.taken.End))
	for i := first; i < min(len(d.sentences), first+maxAddendum); i++ {
		sn := &d.sentences[i]
		if sn.Start < s.taken.End || sn.uses&useWrong == 0 || asks(sn) || s.inFence(sn.Start) {
			continue
		}
		if members == nil {
			members = membersOf(out.Candidate)
		}
		for _, m := range sn.marks {
			if m.uses&useWrong != 0 && s.wrongMember(sn, m, members) {
				return true
			}
		}
	}
	return false
}

// wrongMember reports whether the clause of a word says of a member, which stands before it, that it
// is wrong, and not of what someone else wrote.
func (s *search) wrongMember(sn *sentence, wrong mark, members []string) bool {
	if _, other := sn.has(useTheirs|useIf|useWere|useSay|useMaybe|useSample, sn.Start, wrong.start); other {
		return false
	}
	from := sn.Start + clauseBefore(s.text[sn.Start:wrong.start], wrong.start-sn.Start)
	if not, ok := sn.has(useNot, from, wrong.start); ok && not.end <= wrong.start {
		return false
	}
	clause := strings.ToLower(s.text[from:wrong.start])
	return slices.ContainsFunc(members, func(word string) bool {
		k := strings.Index(clause, word)
		return k >= 0 && apart(clause, k, k+len(word))
	})
}

// membersOf returns the names of the members of an object, and the texts that are their values, in
// lower case.
func membersOf(object string) (list []string) {
	v, err := decodeJSON(object)
	members, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(list) >= maxMembers {
			break
		}
		for _, word := range []any{name, members[name]} {
			if text, ok := word.(string); ok && len(text) > 2 && len(text) <= maxLabel {
				list = append(list, strings.ToLower(text))
			}
		}
	}
	return list
}
