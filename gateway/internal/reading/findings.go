package reading

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
)

// Share returns what share of the texts was reasoning found in content.
func (r *Reading) Share() (reasoning, all int) { return r.Reasoning, r.All }

// Given returns how many bytes of the choices are reasoning, and how many are visible
// text.
func (r *Reading) Given() (thought, text int) {
	for _, c := range r.Choices {
		if c != nil {
			thought += c.Thought
			text += c.shown
		}
	}
	return thought, text
}

// Findings are the remarks on the reply: whether reasoning was taken out of the
// content, and what was doubtful.
func (r *Reading) Findings() string {
	var words []string
	if r.Reasoning > 0 {
		words = append(words, string(reasoningInContent))
	}
	if r.InError {
		words = append(words, string(ReasoningInError))
	}
	for _, code := range r.FindingCodes() {
		words = append(words, string(code))
	}
	if r.JSONFences() {
		words = append(words, string(jsonFenceDropped))
	}
	if layer := r.JSONLayer(); layer != "" {
		words = append(words, string(jsonMissing)+"="+layer)
	}
	if more := r.moreFindings(); more > 0 {
		words = append(words, fmt.Sprintf("more=%d", more))
	}
	return strings.Join(words, ", ")
}

// FindingCodes are the codes of what was found in the choices, each once.
func (r *Reading) FindingCodes() []sotto.Code {
	var codes []sotto.Code
	for _, c := range r.Choices {
		if c == nil {
			continue
		}
		codes = c.thinkingFindings(codes)
		if c.split == nil {
			continue
		}
		for _, d := range c.split.Diagnostics() {
			if !slices.Contains(codes, d.Code) {
				codes = append(codes, d.Code)
			}
		}
		for _, code := range slices.Sorted(maps.Keys(c.split.Counts())) { // includes findings that are not listed
			if !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
		codes = c.startFindings(codes)
	}
	if r.promoted() {
		codes = append(codes, answerPromoted)
	}
	return r.guardFindings(codes)
}

// moreFindings returns how many diagnostics the choices have in addition to the
// listed ones.
func (r *Reading) moreFindings() int {
	more := 0
	for _, c := range r.Choices {
		if c != nil && c.split != nil {
			more += max(c.split.Counts().Total()-sotto.MaxDiagnostics, 0)
		}
	}
	return more
}

// startFindings adds what was doubtful about where the choice began.
func (c *Choice) startFindings(codes []sotto.Code) []sotto.Code {
	if c.Lessons.Unlearned {
		codes = append(codes, startUnlearned)
	}
	if c.Withheld {
		codes = append(codes, startUnknown)
	}
	return codes
}

// startUnlearned is the finding that a reply that was taken to begin inside did not close
// the block, so that earlier replies say nothing any more.
const startUnlearned sotto.Code = "start_unlearned"

// ReasoningInError is the finding that an error had a thought in it.
const ReasoningInError sotto.Code = "reasoning_in_error"

// reasoningInContent is the finding that reasoning was taken out of the text.
const reasoningInContent sotto.Code = "reasoning_in_content"
