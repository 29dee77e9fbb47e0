package solve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
)

// What memory returned for a problem.
const (
	HitTemplate = "template" // a known template solved it
	HitPaths    = "paths"    // examples for the prompt
)

// A Result is the outcome of a problem: one line of a stream's output.
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
	// Method is the method of the extraction, or template.
	Method string `json:"method"`
	// Reason is the reason of the last verdict, or timeout, or model_error. It is
	// no_reply if a log has no reply to the problem.
	Reason string `json:"reason"`
	// Wrong says that a solution passed but is not right according to
	// Options.Audit.
	Wrong bool `json:"wrong,omitempty"`

	// Hit is what memory returned: template, paths, or nothing. Used are the nodes.
	Hit  string          `json:"hit,omitempty"`
	Used []metagraph.Ref `json:"used,omitempty"`
	// TemplateBy names the model that earned the template that solved the problem.
	// It is empty if that is not known.
	TemplateBy string `json:"template_by,omitempty"`
	Attempts   []Try  `json:"attempts,omitempty"`

	// Input and Output are the tokens of all attempts. Estimated says that the
	// server did not count all of them. MemoryTokens is approximately how many
	// tokens of Input are examples.
	Input        int64 `json:"input"`
	Output       int64 `json:"output"`
	Estimated    bool  `json:"estimated,omitempty"`
	MemoryTokens int64 `json:"memory_tokens,omitempty"`
	// Cost is in the unit of the prices. It is known if Priced is set.
	Cost   float64 `json:"cost,omitempty"`
	Priced bool    `json:"priced,omitempty"`
	// Millis is the total time. ModelMillis is the time of the model's calls.
	Millis      float64 `json:"ms"`
	ModelMillis float64 `json:"model_ms"`

	// Memory is what was learned. It is nil in the modes without memory.
	Memory *metagraph.Learned `json:"memory,omitempty"`
}

// A Try is one call of the model for a problem.
type Try struct {
	// Step is what the call was for: propose, choose, merge. It is empty if its reply was
	// judged as an answer; a call for another step has no candidate.
	Step        string  `json:"step,omitempty"`
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

	// Raw is the reply as a text, if Options.Raw is set. Bytes that are not UTF-8 are
	// U+FFFD in it; if there are any, RawBase64 is the reply byte for byte.
	// RawOmitted is the length in bytes of a reply that was too long to carry.
	Raw        *string `json:"raw,omitempty"`
	RawBase64  []byte  `json:"raw_base64,omitempty"`
	RawOmitted int     `json:"raw_omitted,omitempty"`
	// Reading is how the reply was read, if Options.Reading is set: the object that
	// sotto split prints. It has "native_reasoning" if the server had separated
	// reasoning.
	Reading json.RawMessage `json:"reading,omitempty"`

	shown string // the visible text
}

// Reply returns the reply byte for byte. ok is false if the try does not carry it.
func (t *Try) Reply() (raw string, ok bool) {
	switch {
	case t.RawBase64 != nil:
		return string(t.RawBase64), true
	case t.Raw != nil:
		return *t.Raw, true
	}
	return "", false
}

// Bare returns the result without the replies and readings that its tries carry.
func (r Result) Bare() Result {
	tries := slices.Clone(r.Attempts)
	for i := range tries {
		tries[i].carry(replyjson.Carried{})
	}
	r.Attempts = tries
	return r
}

// Figures returns what a sealed stream says of a result in plain: how it came out and what it
// cost, and no text.
func (r Result) Figures() Result {
	f := Result{
		V: r.V, Type: r.Type, N: r.N, Solved: r.Solved, Wrong: r.Wrong, Hit: r.Hit, Input: r.Input, Output: r.Output, Estimated: r.Estimated,
		MemoryTokens: r.MemoryTokens, Cost: r.Cost, Priced: r.Priced, Millis: r.Millis, ModelMillis: r.ModelMillis, Attempts: make([]Try, len(r.Attempts)),
	}
	if r.Memory != nil {
		f.Memory = &metagraph.Learned{Size: r.Memory.Size}
	}
	return f
}

func (t *Try) carry(c replyjson.Carried) {
	t.Raw, t.RawBase64, t.RawOmitted, t.Reading = c.Raw, c.RawBase64, c.RawOmitted, c.Reading
}

// Line returns the result as a line of JSON, with its newline. Its last member is
// memory.
func (r Result) Line() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return b.Bytes(), nil
}

// ReadResult reads a line written by [Result.Line].
func ReadResult(line []byte) (r Result, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return Result{}, fmt.Errorf("result: %w", err)
	}
	if r.V != 1 || r.Type != "problem" {
		return Result{}, fmt.Errorf("result: not a line of this version: %q %d", shorttext.Ellipsis(r.Type, 40), r.V)
	}
	return r, nil
}
