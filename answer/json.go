package answer

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// JSON is the task of answers that are a JSON value: "json". The last value of the
// text counts: an object, a list on a line of its own, or the contents of a fence.
// It is judged against the problem's schema and its gold, if they are given. With
// neither, it only has to be valid JSON. What is not, but can be read leniently (with
// comments, with a comma after the last member, with Python's quotes and names), is
// made valid, and the method is then "json_lenient".
//
// JSONAnswer is the task of answers that stand in JSON under a key: "json_answer". The
// key is that of the problem. If it has none, the first of these rows that occurs
// counts: final_answer and correct_answer; answer; choice, option, answer_choice,
// result, prediction and the like. The last such key counts, wherever it stands, and
// the JSON around it need not be valid. The value is taken as it is written: LaTeX whose
// backslashes are not doubled stays LaTeX ("\frac{1}{2}", which JSON would read as
// a form feed and "rac"). Values are compared as [Math] compares them.
//
// JSONStrict is JSON without the lenient reading: "json_strict".
var (
	JSON       Task = jsonTask{}
	JSONStrict Task = jsonTask{strict: true}
	JSONAnswer Task = jsonAnswerTask{}
)

const maxJSON = 16 << 20 // bytes of a candidate

type jsonTask struct{ strict bool }

func (t jsonTask) Name() string {
	if t.strict {
		return "json_strict"
	}
	return "json"
}

func (t jsonTask) Form() Form {
	return Form{
		Rules:   t.Name() + "/4",
		Markers: []string{"Final Answer", "Answer", "Output", "【答案】"},
		Extent:  All,
		Find:    t.find,
		Method:  "json",
		blocks:  true,
	}
}

// Normalise removes a fence. A value stays as it is written if it is valid. If it is
// valid only when it is read leniently, it becomes valid.
func (t jsonTask) Normalise(candidate string) string {
	s := settle(candidate, withoutFence)
	if t.strict || s == "" || len(s) > maxJSON || s[0] != '{' && s[0] != '[' {
		return s
	}
	if fault := checkJSON(s); fault != nil && !fault.large() {
		if strict, end, ok := strictJSON(s, 0); ok && blank(s[end:]) {
			return strict
		}
	}
	return s
}

// methodOf names the method of a value that was read leniently.
func (t jsonTask) methodOf(method, written, candidate string) string {
	if method == "json" && candidate != settle(written, withoutFence) {
		return "json_lenient"
	}
	return method
}

func (jsonTask) Precheck(string, Problem) bool { return false }

func (jsonTask) Validate(candidate string, p Problem) Verdict {
	if candidate == "" {
		return Verdict{Reason: Empty}
	}
	if len(candidate) > maxJSON {
		return Verdict{Reason: TooLarge}
	}
	if bad := checkJSON(candidate); bad != nil {
		return bad.verdict()
	}
	if len(p.Schema) > 0 {
		if v := checkSchema(candidate, p.Schema); v.Reason != ReasonOK {
			return v
		}
	}
	if p.Gold == "" {
		return Verdict{OK: true, Reason: ReasonOK}
	}
	return compareJSON(candidate, p.Gold)
}

func (jsonTask) Distil(p Problem, _ string) (query, trace string) {
	return shorttext.OneLine(p.Input), ""
}

// compareJSON compares two values as text, or member by member. Member by member,
// numbers are compared by value, and the order within objects does not matter.
func compareJSON(candidate, gold string) Verdict {
	gold = JSON.Normalise(gold)
	if len(gold) > maxJSON || checkJSON(gold) != nil {
		return Verdict{Reason: BadGold, Detail: shorttext.Ellipsis(gold, maxDetail)}
	}
	if candidate == gold {
		return Verdict{OK: true, Reason: ReasonOK, By: byString}
	}
	a, err1 := decodeJSON(candidate)
	b, err2 := decodeJSON(gold)
	if err1 == nil && err2 == nil && equalJSON(a, b) {
		return Verdict{OK: true, Reason: ReasonOK, By: byElement}
	}
	return Verdict{Reason: Different, By: byNone}
}

func decodeJSON(s string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, v := range a {
			if w, ok := b[key]; !ok || !equalJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, ok1 := new(big.Rat).SetString(a.String())
		y, ok2 := new(big.Rat).SetString(b.String())
		return ok1 && ok2 && x.Cmp(y) == 0
	}
	return a == b
}

// withoutFence removes a fence that encloses the whole text.
func withoutFence(s string) string {
	s = strings.Trim(s, white+"\ufeff")
	first, body, ok := strings.Cut(s, "\n")
	open, info := fenceOf(first)
	i := strings.LastIndexByte(body, '\n')
	if !ok || open.size == 0 || strings.ContainsAny(strings.TrimSpace(info), " \t") || !open.closes(body[i+1:]) {
		return s
	}
	body = body[:max(i, 0)]
	for line := range strings.Lines(body) {
		if open.closes(strings.TrimRight(line, white)) {
			return s // two blocks
		}
	}
	return strings.Trim(body, white)
}

// find finds JSON values in a text, and broken ones: text that begins like an
// object and then goes wrong. This distinguishes a candidate that is bad JSON from
// no candidate. It does not look at values within a broken value.
func (t jsonTask) find(text string, _ Problem) []Span {
	var found, fenced []Span
	at, data, budget := 0, []byte(text), 4*len(text) // what may be read leniently
	if t.strict {
		budget = 0
	}
	for _, b := range codeBlocks(text) {
		found = proseJSON(found, text[:b.Start], data[:b.Start], at, &budget)
		if sp := trimmed(text, b.Span); sp.Start < sp.End && jsonFence(text[sp.Start], b.lang) {
			found = append(found, sp)
			fenced = append(fenced, sp)
		}
		at = b.End
	}
	found = proseJSON(found, text, data, at, &budget)
	found = besideFences(found, text, fenced)
	if all := trimmed(text, Span{0, len(text)}); len(found) == 0 && all.Start < all.End && checkJSON(text[all.Start:all.End]) == nil {
		return []Span{all} // a string, a number, true
	}
	if len(found) == 0 {
		return inlineList(text)
	}
	return found
}

// besideFences removes the values within a sentence, if a fence holds one: "for example
// {"a": 1}, which".
func besideFences(found []Span, text string, fenced []Span) []Span {
	if fenced == nil {
		return found
	}
	return slices.DeleteFunc(found, func(sp Span) bool {
		_, whole := slices.BinarySearchFunc(fenced, sp.Start, func(f Span, at int) int { return f.Start - at })
		return !whole && !endsLine(text, sp.End)
	})
}

// proseJSON appends the values outside fences. data is the text as bytes.
func proseJSON(found []Span, text string, data []byte, at int, budget *int) []Span {
	for at < len(text) {
		i := strings.IndexAny(text[at:], "{[")
		if i < 0 {
			break
		}
		at += i
		if !beginsJSON(text, at) {
			at++
			continue
		}
		end, keys, fault := jsonLimits.Value(data, at)
		if fault != "" && *budget > 0 {
			_, to, ok := strictJSON(text, at)
			if *budget -= max(0, to-at); ok && (text[at] == '{' || endsLine(text, to)) {
				found = append(found, Span{at, to})
				at = to
				continue
			}
		}
		switch {
		case fault == "" && (text[at] == '{' || endsLine(text, end)):
			found = append(found, Span{at, end})
		case fault != "" && keys > 0:
			end = brokenEnd(text, at, end)
			found = append(found, trimmed(text, Span{at, end}))
		}
		at = max(end, at+1)
	}
	return found
}

// trimmed returns a span without the white space at its ends.
func trimmed(s string, sp Span) Span {
	body := strings.TrimLeft(s[sp.Start:sp.End], white)
	sp.Start = sp.End - len(body)
	sp.End = sp.Start + len(strings.TrimRight(body, white))
	return sp
}

// jsonFence reports whether a fence holds JSON, judged by its label, or if it has
// none by how its contents begin.
func jsonFence(first byte, lang string) bool {
	switch lang {
	case "json", "json5", "jsonl":
		return true
	case "":
		return first == '{' || first == '['
	}
	return false
}

// beginsJSON reports whether a value may begin at a bracket. An object may begin
// after white space or a mark; the braces of \text{} are not one. A list may begin
// at the start of a line or after a colon; the [1] of a reference is not one.
func beginsJSON(text string, at int) bool {
	if at == 0 {
		return true
	}
	if text[at] == '{' {
		return strings.IndexByte(" \t\r\n:=(>`*\"'", text[at-1]) >= 0
	}
	before := strings.TrimRight(text[max(0, at-64):at], " \t*`")
	return before == "" || strings.IndexByte("\n:=>", before[len(before)-1]) >= 0
}

// endsLine reports whether only marks follow on the line.
func endsLine(text string, at int) bool {
	rest, _, _ := strings.Cut(text[at:min(len(text), at+16)], "\n")
	return strings.Trim(rest, white+"*`.,;)") == ""
}

// brokenEnd returns where a broken value ends. That is the bracket that would close
// it, counting brackets outside strings as well as they can be recognised, or the
// end of the text.
func brokenEnd(text string, from, wrong int) int {
	depth, quoted := 0, false
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '\n' && quoted && i > wrong:
			quoted = false
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

type jsonAnswerTask struct{}

func (jsonAnswerTask) Name() string { return "json_answer" }

func (jsonAnswerTask) Form() Form {
	return Form{Rules: "json_answer/3", Extent: All, Find: findJSONAnswer, Method: "json"}
}

// answerKeys match the usual keys of an answer. The first that occurs counts.
var answerKeys = []*lazyregexp.Regexp{
	lazyregexp.New(`(?i)["'](?:final[_ ]?answer|correct[_ ]answer)["']\s*:\s*`),
	lazyregexp.New(`(?i)["']answer["']\s*:\s*`),
	lazyregexp.New(`["'](?:[Rr]espuesta|[Rr]esposta|[Aa]ntwort|[Rr]éponse|[Rr]eponse|[Rr]isposta|[Оо]твет|答案|答え|解答|回答|정답|답)["']\s*:\s*`),
	lazyregexp.New(`(?i)["'](?:answer_choice|choice|option|(?:selected|correct|chosen)[_ ](?:option|choice|answer)|result|prediction)["']\s*:\s*`),
}

// findJSONAnswer finds the values of the key "answer", or of another usual key. The
// quotes of a string are part of the span. It also looks inside broken values, but
// reads no more than a few times the length of the text for that.
func findJSONAnswer(text string, p Problem) []Span {
	if !hasKeys(text) {
		return nil
	}
	if p.Key != "" {
		return valuesOf(keyPattern(p.Key), text)
	}
	for i, key := range answerKeys {
		if !mayHoldKey(text, i) {
			continue
		}
		if found := valuesOf(key, text); found != nil {
			return found
		}
	}
	return nil
}

// hasKeys reports whether a colon follows a quote, as after a key.
func hasKeys(text string) bool {
	for at := 0; ; at++ {
		k := strings.IndexByte(text[at:], ':')
		if k < 0 {
			return false
		}
		at += k
		i := at
		for i > 0 && isWhite(text[i-1]) {
			i--
		}
		if i > 0 && (text[i-1] == '"' || text[i-1] == '\'') {
			return true
		}
	}
}

// mayHoldKey reports whether a text holds what every key of a row of answerKeys does.
func mayHoldKey(text string, i int) bool {
	if i == 2 {
		return slices.ContainsFunc([]string{"espuesta", "esposta", "ntwort", "éponse", "eponse", "isposta", "твет", "答", "답"}, func(part string) bool { return strings.Contains(text, part) })
	}
	if i < 2 {
		return strings.Contains(text, "nswer") || strings.Contains(text, "NSWER")
	}
	for _, part := range []string{"esult", "nswer", "rediction", "hoice", "ption", "RESULT", "NSWER", "REDICTION", "HOICE", "PTION"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// lastKey is the pattern of the last key of a problem: a batch uses the same one again.
var lastKey atomic.Pointer[compiled]

// keyPattern matches a key as it is written in JSON.
func keyPattern(key string) *regexp.Regexp {
	if c := lastKey.Load(); c != nil && c.pattern == key {
		return c.re
	}
	re := regexp.MustCompile(`["']` + regexp.QuoteMeta(key) + `["']\s*:\s*`)
	lastKey.Store(&compiled{key, re})
	return re
}

func valuesOf(answerKey interface{ FindStringIndex(string) []int }, text string) []Span {
	var found []Span
	data, budget := []byte(text), 4*len(text)
	for at := 0; at < len(text); {
		m := answerKey.FindStringIndex(text[at:])
		if m == nil {
			break
		}
		key, from := at+m[0], at+m[1]
		at = from
		if key > 0 && text[key-1] == '\\' { // JSON within a string
			continue
		}
		end, sound := writtenEnd(text, data, from)
		if sound && end > from {
			found = append(found, Span{from, end})
		}
		if budget -= end - from; sound || budget < 0 {
			at = end
		}
	}
	return found
}

// writtenEnd returns where the value that starts at i ends, in JSON that may be
// wrong around it. data is the text as bytes. If an object or list is itself wrong,
// the value is not sound.
func writtenEnd(text string, data []byte, i int) (end int, sound bool) {
	if i == len(text) {
		return i, true
	}
	switch text[i] {
	case '"', '\'':
		for j := i + 1; j < len(text); j++ {
			switch text[j] {
			case '\\':
				j++
			case text[i]:
				return j + 1, true
			case '\n':
				return j, true
			}
		}
		return len(text), true
	case '{', '[':
		end, _, fault := jsonLimits.Value(data, i)
		return end, fault == ""
	}
	if n := strings.IndexAny(text[i:], ",}] \t\r\n"); n >= 0 {
		return i + n, true
	}
	return len(text), true
}

// Normalise takes the value out of its quotes, or out of an object.
func (t jsonAnswerTask) Normalise(candidate string) string {
	return settle(candidate, func(s string) string {
		if len(s) > maxJSON {
			return s
		}
		s = withoutFence(s)
		if strings.HasPrefix(s, "{") {
			if found := findJSONAnswer(s, Problem{}); len(found) > 0 {
				last := found[len(found)-1]
				s = s[last.Start:last.End]
			}
		}
		if len(s) > 1 && (s[0] == '"' || s[0] == '\'' && s[len(s)-1] == '\'') {
			s = written(strings.TrimSuffix(s[1:], s[:1]))
		}
		return strings.TrimSpace(s)
	})
}

// latexEscapes are commands whose first letter is also a JSON escape.
var latexEscapes = lazyregexp.New(`^\\(?:frac|forall|fbox|beta|bar|begin|boxed|binom|bmod|big|bigl|bigr|bullet|because|` +
	`text|textbf|textit|textrm|times|theta|tan|tau|tfrac|to|triangle|tilde|top|nu|neq|ne|nabla|not|neg|ni|notin|` +
	`rho|right|rightarrow|rangle|rm|rfloor|rceil)(?:[^a-zA-Z]|$)`)

var jsonEscapes = map[byte]string{'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

// written decodes the inside of a JSON string. It keeps a backslash that begins
// LaTeX, or an escape that JSON does not have.
func written(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		char, known := jsonEscapes[s[i+1]]
		switch {
		case s[i+1] == 'u':
			var r string
			if n := min(6, len(s)-i); json.Unmarshal([]byte(`"`+s[i:i+n]+`"`), &r) == nil && n == 6 {
				b.WriteString(r)
				i += 5
				continue
			}
			b.WriteByte('\\')
		case !known, latexEscapes.MatchString(s[i:min(len(s), i+16)]):
			b.WriteByte('\\')
		default:
			b.WriteString(char)
			i++
		}
	}
	return b.String()
}

func (jsonAnswerTask) Precheck(string, Problem) bool { return false }

func (t jsonAnswerTask) Validate(candidate string, p Problem) Verdict {
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case candidate == t.Normalise(p.Gold):
		return Verdict{OK: true, Reason: ReasonOK, By: byString}
	}
	return Math.Validate(Math.Normalise(candidate), Problem{Gold: t.Normalise(p.Gold)})
}

func (jsonAnswerTask) Distil(p Problem, _ string) (query, trace string) {
	return shorttext.OneLine(p.Input), ""
}
