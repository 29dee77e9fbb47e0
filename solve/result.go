package solve

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/metagraph"
)

// What memory gave for a problem.
const (
	HitTemplate = "template" // a known template solved it
	HitPaths    = "paths"    // examples for the prompt
)

// A Result is what became of a problem: one line of a stream's output.
type Result struct {
	V     int    `json:"v"`
	Type  string `json:"type"` // problem
	Run   string `json:"run"`
	N     int    `json:"n"` // its place in the stream, from 1
	ID    string `json:"id"`
	Task  string `json:"task"`
	Mode  Mode   `json:"mode"`
	Model string `json:"model"`

	Solved    bool   `json:"solved"`
	Candidate string `json:"candidate"`
	// Method is that of the extraction, or template.
	Method string `json:"method"`
	// Reason is that of the last verdict, or timeout, or model_error; no_reply where
	// a log has not one reply to the problem.
	Reason string `json:"reason"`
	// Wrong says that what passed is not right, by Options.Audit.
	Wrong bool `json:"wrong,omitempty"`

	// Hit is what memory gave: template, paths, or nothing. Used are the nodes.
	Hit      string          `json:"hit,omitempty"`
	Used     []metagraph.Ref `json:"used,omitempty"`
	Attempts []Try           `json:"attempts,omitempty"`

	// Input and Output are the tokens of all attempts; Estimated says that not all
	// were counted by the server. MemoryTokens is about how many of Input the
	// examples were.
	Input        int64 `json:"input"`
	Output       int64 `json:"output"`
	Estimated    bool  `json:"estimated,omitempty"`
	MemoryTokens int64 `json:"memory_tokens,omitempty"`
	// Cost is in the unit of the prices, and known where Priced is set.
	Cost   float64 `json:"cost,omitempty"`
	Priced bool    `json:"priced,omitempty"`
	// Millis is the whole time, ModelMillis that of the model's calls.
	Millis      float64 `json:"ms"`
	ModelMillis float64 `json:"model_ms"`

	// Memory is what was learned; nil in the modes without memory.
	Memory *metagraph.Learned `json:"memory,omitempty"`
}

// A Try is one call of the model for a problem.
type Try struct {
	Temperature float64 `json:"temperature"`
	Candidate   string  `json:"candidate"`
	Method      string  `json:"method,omitempty"`
	Reason      string  `json:"reason"`
	Detail      string  `json:"detail,omitempty"`
	Error       string  `json:"error,omitempty"`
	Input       int64   `json:"input"`
	Output      int64   `json:"output"`
	Estimated   bool    `json:"estimated,omitempty"`
	Cost        float64 `json:"cost,omitempty"`
	Millis      float64 `json:"ms"`

	shown string // the visible text
}

// line is the result as a line, with its newline.
func (r *Result) line() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return b.Bytes(), nil
}

// Line returns the result as a line of JSON, with its newline.
func (r Result) Line() ([]byte, error) { return r.line() }

func readResult(line []byte) (r Result, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return Result{}, fmt.Errorf("result: %w", err)
	}
	if r.V != 1 || r.Type != "problem" {
		return Result{}, fmt.Errorf("result: no line of this version: %q %d", shorttext.Ellipsis(r.Type, 40), r.V)
	}
	return r, nil
}

// ReadResult reads a line that [Result.Line] gave.
func ReadResult(line []byte) (Result, error) { return readResult(line) }
