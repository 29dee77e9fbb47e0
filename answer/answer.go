package answer

import (
	"github.com/sotto-llm/sotto"
)

// A Task says how answers of one kind are found, cleaned and judged. It holds no
// state and is safe for concurrent use.
type Task interface {
	// Name is what --task takes: "game24".
	Name() string
	// Form says where answers of the task stand in a reply.
	Form() Form
	// Normalise makes of a candidate, as the reply spells it, what Validate and
	// a validator of one's own get. It never looks at the value wanted.
	Normalise(candidate string) string
	// Precheck reports whether a line of text (a block of lines, where the
	// task's Extent is not FirstLine) could be an answer by its form alone, the
	// numbers given included and the value wanted left out. It decides the
	// bottom scan, and nothing else.
	Precheck(line string, p Problem) bool
	// Validate judges a normalised candidate.
	Validate(candidate string, p Problem) Verdict
	// Distil returns the canonical query of a problem, so that every way to pose
	// it meets the same memory, and the trace of a solution; each empty where the
	// task has none.
	Distil(p Problem, solution string) (query, trace string)
}

// A Problem is what was asked, as far as an answer is judged by it.
type Problem struct {
	Input   string   // the question, or the numbers of a game
	Gold    string   // the right answer, where one is known
	Options []string // of a choice, in order: A, B, C …
	Schema  []byte   // a JSON Schema, of task json
	Lang    string   // of task code
}

// A Form says where answers of a task stand.
type Form struct {
	// Rules names the version of the rules: "game24/1". It changes whenever a
	// reply could give another candidate.
	Rules string
	// Markers are the words before an answer, such as "Answer" and "Final
	// answer": a line begins with one and a colon, or, of those that end in
	// white space or a bracket, with it alone ("#### ", "The answer is ",
	// "【答案】"). Case of ASCII letters and Markdown around it do not matter.
	Markers []string
	// Extent says how much of a block or behind a marker is the answer.
	Extent Extent
	// Boxed says that \boxed{} counts.
	Boxed bool
	// Find, if set, is a tier of the task's own, after the answer block: it
	// returns the spans in text of what it finds, in order. It must be linear.
	Find   func(text string, p Problem) []Span
	Method string // of Find: "fence", "json", "finish"
	// Scan says that there is a bottom scan, by Precheck.
	Scan bool
	// Stops are lines at which the model goes on inventing problems: the text
	// ends before the first line that begins with one as it is written here
	// ("Question:"), after something was said.
	Stops []string
}

// An Extent is how much of what a block or marker begins is the answer.
type Extent uint8

const (
	FirstLine Extent = iota // its first line that is not blank
	Block                   // all of it, to a blank line or the end; of a fence, its contents
	All                     // all of it
)

// A Span is a range of bytes of the raw reply, End exclusive.
type Span struct{ Start, End int }

// A Status says how an extraction came out.
type Status string

const (
	OK        Status = "ok"
	NoAnswer  Status = "no_answer"
	Truncated Status = "truncated" // none, and the reply was cut
	Ambiguous Status = "ambiguous" // the last of several that differ
)

// An Extraction is the candidate of one reply, and how it was found.
type Extraction struct {
	// Candidate is normalised; Written is as the reply has it.
	Candidate string    `json:"candidate"`
	Written   string    `json:"written,omitempty"`
	Method    string    `json:"method"` // answer_block, boxed, marker:answer, fallback_bottom_scan, empty …
	Span      *Span     `json:"span"`   // of Written in the raw reply; nil where there is none, or a removed block parts it
	Status    Status    `json:"status"`
	Rules     string    `json:"rules"`
	Attempts  []Attempt `json:"attempts"`
}

// An Attempt is what one tier found.
type Attempt struct {
	Method string `json:"method"`
	Found  int    `json:"found"`          // how many that count
	Span   *Span  `json:"span,omitempty"` // of the one it took
	Why    string `json:"why,omitempty"`  // why it was not taken: empty, refused
}

// A Verdict is what a validator says of a candidate.
type Verdict struct {
	OK     bool   `json:"ok"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"` // the value, the token, the position
	By     string `json:"by,omitempty"`     // by what two answers were equal: string, rational, element; or none
}

// A Reason says why a candidate is right or wrong.
type Reason string

const (
	ReasonOK      Reason = "ok"
	Empty         Reason = "empty"          // there is no candidate
	IllegalTokens Reason = "illegal_tokens" // of arithmetic
	FormatError   Reason = "format_error"
	WrongNumbers  Reason = "wrong_numbers" // not exactly the input's
	MathError     Reason = "math_error"    // another value, which is Detail, or DivisionByZero
	Different     Reason = "different"     // from the gold
	BadGold       Reason = "bad_gold"      // the gold cannot be read
	NotJSON       Reason = "not_json"
	NotSchema     Reason = "not_schema"
	TooLarge      Reason = "too_large" // beyond the limits of numbers, depth or length
)

// DivisionByZero is the Detail of a [MathError] that is no value at all.
const DivisionByZero = "division_by_zero"

// Options are how a reply is read before an answer is looked for.
type Options struct {
	Grammar *sotto.Grammar // if nil, the default dialect's
	Start   sotto.Start    // if empty, or unknown to the grammar, auto
	End     sotto.End
	// FromReasoning lets explicit markers in reasoning count where the text has
	// no answer; the method then ends in "_in_reasoning".
	FromReasoning bool
	// ScanCut lets the bottom scan look at a reply that was cut.
	ScanCut bool
}
