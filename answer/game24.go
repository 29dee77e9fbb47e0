package answer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/arith"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A game asks for an expression that uses exactly the given numbers and has a
// certain value: 24 in the Game of 24, the problem's own target in Countdown.
type game struct {
	name, title string
	form        Form
	target      string // "" if the problem states it
}

var gameMarkers = said("Output", "Solution")

var gameStops = []string{"Input:"}

// Game24 is the Game of 24. The problem's Input holds the numbers ("2 5 8 11"); if
// there is no Input, its Gold does. Anything among them that is not a whole number
// is a [BadGold], never a smaller game.
var Game24 Task = &game{
	name: "game24", title: "Game24", target: "24",
	form: Form{Rules: "game24/4", Scan: true, Stops: gameStops},
}

func (g *game) Name() string { return g.name }
func (g *game) Form() Form {
	f := g.form
	f.Markers, f.markers, f.Sayings = gameMarkers().list, gameMarkers(), true
	return f
}

// Normalise returns the bare expression: "(8-5)*(11-2)" for "**(8−5)×[11−2] =
// 24**".
func (g *game) Normalise(candidate string) string { return cleanExpression(candidate) }

// Precheck reports whether a line is an expression of exactly the given numbers. If
// no numbers are given, the expression must have an operator.
func (g *game) Precheck(line string, p Problem) bool {
	c := cleanExpression(line)
	if c == "" || legalExpression(c) >= 0 || isDigits(c) {
		return false
	}
	var room [8]string
	e := expressions.Get().(*arith.Expression)
	defer expressions.Put(e)
	if _, fault := parseExpression(e, c); fault != "" {
		return false
	}
	numbers, _ := g.problem(p, room[:0])
	return len(numbers) == 0 && len(e.Operands) > 1 || sameNumbers(e.Operands, numbers)
}

// Validate judges a bare expression in this order: its tokens, its form, whether it
// has a value at all, its numbers, its value.
func (g *game) Validate(candidate string, p Problem) Verdict {
	if blank(candidate) {
		return Verdict{Reason: Empty}
	}
	if i := legalExpression(candidate); i >= 0 {
		return Verdict{Reason: IllegalTokens, Detail: tokenAt(candidate, i)}
	}
	var room [8]string
	e := expressions.Get().(*arith.Expression)
	defer expressions.Put(e)
	switch at, fault := parseExpression(e, candidate); fault {
	case FormatError:
		return Verdict{Reason: FormatError, Detail: "at byte " + strconv.Itoa(at)}
	case TooLarge:
		return Verdict{Reason: TooLarge}
	}
	numbers, target := g.problem(p, room[:0])
	if len(numbers) == 0 || target == "" {
		if at := strayIn(gameInput(p)); at != "" {
			return Verdict{Reason: BadGold, Detail: "the problem has " + strconv.Quote(shorttext.Ellipsis(at, maxDetail)) + " where a whole number is wanted"}
		}
		return Verdict{Reason: BadGold, Detail: "the problem has no numbers, or no value"}
	}
	v, ok := arith.Value(e.Steps, func(i int) arith.Fraction { return arith.Digits(e.Operands[i]) })
	switch {
	case !ok:
		return Verdict{Reason: MathError, Detail: DivisionByZero}
	case !sameNumbers(e.Operands, numbers):
		return Verdict{Reason: WrongNumbers, Detail: strings.Join(e.Operands, " ")}
	case !v.Equal(signedFraction(target)):
		return Verdict{Reason: MathError, Detail: shorttext.Ellipsis(v.String(), maxExprDigits)}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: "rational"}
}

// tokenAt returns the word or character at a place where no expression can have it.
func tokenAt(s string, i int) string {
	k := i
	for k < len(s) && k < i+20 && lower(s[k])-'a' < 26 {
		k++
	}
	if k > i {
		return s[i:k]
	}
	for _, r := range s[i:] {
		return string(r)
	}
	return ""
}

func signedFraction(s string) arith.Fraction {
	if digits, ok := strings.CutPrefix(s, "-"); ok {
		return arith.Digits(digits).Neg()
	}
	return arith.Digits(s)
}

// sameNumbers reports whether a has each number of b exactly once, and no others.
func sameNumbers(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.Equal(a, b) {
		return true
	}
	var room [8]bool
	used := room[:]
	if len(b) > len(room) {
		used = make([]bool, len(b))
	}
next:
	for _, x := range a {
		for i, y := range b {
			if x == y && !used[i] {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

// gameInput returns the text that holds the numbers.
func gameInput(p Problem) string {
	if blank(p.Input) {
		return p.Gold
	}
	return p.Input
}

// problem returns the numbers of a problem, and its target value. It returns no
// numbers if something among them is not a number.
func (g *game) problem(p Problem, room []string) (numbers []string, target string) {
	in := gameInput(p)
	if strings.Contains(in, "{") || strings.Contains(p.Gold, "{") {
		numbers, target = jsonProblem(in, p.Gold)
	}
	var other string
	if len(numbers) == 0 {
		if strayIn(in) != "" {
			return nil, ""
		}
		numbers, other = longestRun(in, room)
	}
	switch {
	case g.target != "":
		return numbers, g.target
	case target != "":
		return numbers, target
	case isTarget(p.Gold) && !blank(p.Input):
		return numbers, unpaddedTarget(p.Gold)
	}
	return numbers, other
}

// jsonProblem reads {"numbers": […], "target": …} from either of two texts.
func jsonProblem(texts ...string) (numbers []string, target string) {
	var at struct {
		Numbers []json.Number `json:"numbers"`
		Target  json.Number   `json:"target"`
	}
	for _, text := range texts {
		if !strings.Contains(text, "{") {
			continue
		}
		if json.Unmarshal([]byte(text), &at) == nil {
			break
		}
		at.Numbers, at.Target = nil, "" // drop what was read before the fault
	}
	for _, n := range at.Numbers {
		if !isDigits(string(n)) || len(n) > maxExprDigits || len(numbers) == maxLiterals {
			return nil, ""
		}
		numbers = append(numbers, unpadded(string(n)))
	}
	if isTarget(string(at.Target)) {
		target = unpaddedTarget(string(at.Target))
	}
	return numbers, target
}

func isTarget(s string) bool {
	s = strings.TrimPrefix(strings.Trim(s, white), "-")
	return s != "" && isDigits(s) && len(s) <= maxExprDigits
}

func unpaddedTarget(s string) string {
	s = strings.Trim(s, white)
	if digits, ok := strings.CutPrefix(s, "-"); ok {
		return "-" + unpadded(digits)
	}
	return unpadded(s)
}

// longestRun returns the longest run of whole numbers in a text, the first if
// several are equally long. Only white space, commas, semicolons, quotes or "and"
// may separate the numbers of a run. other is the last number outside the run.
func longestRun(s string, room []string) (run []string, other string) {
	best, bestFrom := 0, 0
	forNumbers(s, func(i int, _ string, first bool, n int) {
		if n > best {
			best, bestFrom = n, i-n+1
		}
	})
	forNumbers(s, func(i int, digits string, _ bool, _ int) {
		switch {
		case i < bestFrom || i >= bestFrom+best:
			other = digits
		case len(digits) <= maxExprDigits && len(room) < maxLiterals:
			room = append(room, digits)
		}
	})
	return room, other
}

// forNumbers calls visit for every whole number in s, in order, with its index and
// its place in its run, from 1.
func forNumbers(s string, visit func(i int, digits string, first bool, n int)) {
	n, last := 0, 0
	for i, at := 0, 0; at < len(s); {
		if s[at]-'0' >= 10 {
			at++
			continue
		}
		end := at
		for end < len(s) && s[end]-'0' < 10 {
			end++
		}
		if n == 0 || !isSeparator(s[last:at]) {
			n = 0
		}
		n++
		visit(i, unpadded(s[at:end]), n == 1, n)
		i++
		at, last = end, end
	}
}

func isSeparator(s string) bool {
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], "and") {
			i += len("and") - 1
			continue
		}
		if !isWhite(s[i]) && strings.IndexByte(",;'\"", s[i]) < 0 {
			return false
		}
	}
	return true
}
