package answer

import (
	"github.com/sotto-llm/sotto"
)

// A Task says how to find, clean and judge answers of one kind. It holds no state
// and is safe for concurrent use.
type Task interface {
	// Name is the task's name, as --task takes it: "game24".
	Name() string
	// Form says where answers of the task stand in a reply.
	Form() Form
	// Normalise turns a candidate, as the reply spells it, into the text that
	// Validate and your own validators get. It never looks at the expected value.
	Normalise(candidate string) string
	// Precheck reports whether a line of text could be an answer, judged by its
	// form alone. If the task's Extent is not FirstLine, it gets a block of lines.
	// It may look at the numbers given in the problem, but not at the expected
	// value. Only the bottom scan uses it.
	Precheck(line string, p Problem) bool
	// Validate judges a normalised candidate.
	Validate(candidate string, p Problem) Verdict
	// Distil returns the canonical query of a problem and the trace of a solution.
	// The query is the same however the problem is posed, so that all variants
	// share one memory. Each is empty if the task has none.
	Distil(p Problem, solution string) (query, trace string)
}

// A Problem is what was asked, as far as judging an answer needs it.
type Problem struct {
	Input   string   // the question, or the numbers of a game
	Gold    string   // the right answer, if known
	Options []string // of a choice, in order: A, B, C …
	Schema  []byte   // a JSON Schema, for task json
	Lang    string   // the language, for task code
	File    string   // for task code: the name of the file that is the answer, if a reply holds several
	Key     string   // the key of the answer in JSON; if empty, the usual ones
}

// A Form says where the answers of a task stand in a reply.
type Form struct {
	// Rules names the version of the rules: "game24/1". It changes whenever a reply
	// could yield a different candidate.
	Rules string
	// Markers are the words before an answer, such as "Answer" and "Final answer".
	// A line that begins with a marker and a colon matches. A marker that ends in
	// white space or a bracket ("#### ", "The answer is ", "【答案】") needs no colon.
	// The case of ASCII letters and Markdown around a marker do not matter.
	Markers []string
	// Extent says how much of a block, or of the text after a marker, is the
	// answer.
	Extent Extent
	// Boxed says whether \boxed{} counts.
	Boxed bool
	// Find, if set, is a tier of the task's own, tried after the answer block. It
	// returns the spans of what it finds in text, in order. It must take linear
	// time.
	Find   func(text string, p Problem) []Span
	Method string // the method of Find: "fence", "json", "finish"
	// Sayings says whether sentences that claim an answer count, in the languages
	// that the package knows: "the answer is", "答案是".
	Sayings bool
	// Value, if set, returns the one value that a part of a sentence gives, or an empty
	// span. With it, corrections count ("Wait, it's 9"), and what a sentence calls the
	// answer ("9 is the answer").
	Value func(text string, p Problem) Span
	// Letters says whether the values are letters of options. Sentences that choose
	// one or call one right then count: "I choose B", "B is correct".
	Letters bool
	// Verdicts says whether sentences that judge a statement count: "the claim is false".
	Verdicts bool
	// Conclusions says whether the value of the last conclusion counts if nothing else
	// does: "So she has 8 apples."
	Conclusions bool
	// Bare, if set, returns the answer in a reply that is nothing but an answer. The
	// span is empty if it is more than that. Its method is "bare".
	Bare func(text string, p Problem) Span
	// Scan says whether there is a bottom scan, which uses Precheck. Without Bare, the
	// lowest line that passes is the answer. With Bare, a line counts only if no prose
	// continues after it, and several lines that differ are no answer.
	Scan bool
	// Stops mark where the model starts to invent further problems, in addition to
	// the labels that every task knows ("## Question:", "Human:", "问题："). The text
	// ends before the first stop, spelled exactly as here ("Input:"), at the beginning
	// of a line or within one. A stop counts only after an answer has been stated, and
	// not in code or within an answer. Within a line, the answer of the line is what
	// stands before the stop.
	Stops []string
	// Key is the key of the answer in JSON, for problems that do not have one.
	Key string

	markers  *markers // Markers, as they are looked up
	amounts  bool     // values are numbers, as the reply writes them
	formulas bool     // values are formulas
	blocks   bool     // values stand in blocks, and their sentences say what they are
}

// An Extent says how much of the text in a block, or after a marker, is the answer.
type Extent uint8

const (
	FirstLine Extent = iota // the first line that is not blank
	Block                   // everything up to a blank line or the end; for a fence, its contents
	All                     // all of the text
)

// A Span is a range of bytes of the raw reply, End exclusive.
type Span struct{ Start, End int }

// A Status is the outcome of an extraction.
type Status string

const (
	OK        Status = "ok"
	NoAnswer  Status = "no_answer"
	Truncated Status = "truncated" // no candidate, and the reply was cut
	Ambiguous Status = "ambiguous" // the last of several that differ
	Several   Status = "several"   // no candidate: several differ, and none is the last word
	Withdrawn Status = "withdrawn" // no candidate: the reply takes back what it claimed
)

// An Extraction is the candidate of one reply, and how it was found.
type Extraction struct {
	// Candidate is normalised. Written is the same answer as the reply spells it,
	// with what the reply has struck out (~~12~~) within it.
	Candidate string    `json:"candidate"`
	Written   string    `json:"written,omitempty"`
	Method    string    `json:"method"` // answer_block, boxed, marker:answer, fallback_bottom_scan, empty …
	Span      *Span     `json:"span"`   // of Written in the raw reply; nil if there is none, or if a removed block splits it
	Status    Status    `json:"status"`
	Rules     string    `json:"rules"`
	Attempts  []Attempt `json:"attempts"`
}

// An Attempt is what one tier found.
type Attempt struct {
	Method string `json:"method"`
	Found  int    `json:"found"`          // how many finds count
	Span   *Span  `json:"span,omitempty"` // of the find that was taken
	Why    string `json:"why,omitempty"`  // why nothing was taken: empty, cut, refused, several, withdrawn
}

// A Verdict is a validator's judgement of a candidate.
type Verdict struct {
	OK     bool   `json:"ok"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"` // the value, the token or the position
	By     string `json:"by,omitempty"`     // how two answers were found equal: string, rational, element; or empty
}

// A Reason says why a candidate is right or wrong.
type Reason string

const (
	ReasonOK      Reason = "ok"
	Empty         Reason = "empty"          // there is no candidate
	IllegalTokens Reason = "illegal_tokens" // not tokens of arithmetic
	FormatError   Reason = "format_error"
	WrongNumbers  Reason = "wrong_numbers" // not exactly the numbers of the input
	MathError     Reason = "math_error"    // a different value, given in Detail, or DivisionByZero
	Different     Reason = "different"     // differs from the gold
	BadGold       Reason = "bad_gold"      // the gold cannot be parsed
	NotJSON       Reason = "not_json"
	NotSchema     Reason = "not_schema"
	TooLarge      Reason = "too_large" // exceeds the limits on numbers, depth or length
)

// DivisionByZero is the Detail of a [MathError] whose expression has no value.
const DivisionByZero = "division_by_zero"

// Options say how to read a reply before looking for an answer.
type Options struct {
	Grammar *sotto.Grammar  // if nil, that of the default dialect
	Start   sotto.Beginning // if empty, or unknown to the grammar, auto
	End     sotto.Ending
	// FromReasoning lets explicit markers in reasoning count if the text has no
	// answer. The method then ends in "_in_reasoning".
	FromReasoning bool
	// Reasoning is what a server has separated from the reply. FromReasoning looks at
	// it if the reply itself has none. A candidate found there has no span.
	Reasoning string
	// ScanCut lets the bottom scan look at a reply that was cut.
	ScanCut bool
}
