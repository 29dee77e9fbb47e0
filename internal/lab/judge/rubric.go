// Package judge lets a model score thoughts by a rubric.
//
// The thought is hostile text: it may tell the judge what to score. So it is quoted
// line by line between two markers that it cannot contain, and the judge is told that
// it is data. What the judge answers is read like any reply: its own reasoning is
// separated, and only a JSON object in the visible text counts, if it fits the schema of
// the rubric.
//
// Every call is recorded before its scores count, so that a run that is killed asks
// nothing twice. The record is also the cache.
package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Rubric says what a thought is scored by.
type Rubric struct {
	Name        string      `json:"name"`
	Instruction string      `json:"instruction,omitempty"`
	Criteria    []Criterion `json:"criteria"`
	// Repeat is how often each thought is scored.
	Repeat int `json:"repeat"`
	// Temperature, MaxTokens and Think are for the judge.
	Temperature *float64 `json:"temperature,omitempty"`
	MaxTokens   int      `json:"max_tokens"`
	Think       string   `json:"think,omitempty"`
}

// A Criterion is one score.
type Criterion struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	From        float64 `json:"from"`
	To          float64 `json:"to"`
	Fractions   bool    `json:"fractions,omitempty"` // the scores need not be whole
}

const (
	maxCriteria   = 50
	maxRepeat     = 100
	maxText       = 16 << 10 // bytes of an instruction or a description
	defaultTokens = 4096
	// why is the member of an answer in which the judge says why.
	why = "why"
)

var nameForm = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// ReadRubric reads a rubric:
//
//	v: 1
//	name: care
//	instruction: Score the thought, not the answer.   # optional
//	criteria:
//	  - name: checks
//	    description: Does the thought check its result?
//	    scale: [1, 5]
//	    fractions: false                              # optional
//	repeat: 3                                         # optional: 1
//	temperature: 0.7                                  # optional: the server's
//	max-tokens: 4096                                  # optional
//	think: low                                        # optional: true, false, low, medium, high
//
// The error joins all faults, each with its place in the file of that name.
func ReadRubric(name string, data []byte) (*Rubric, error) {
	d := yamlfile.Document{Name: name}
	var file struct {
		V           int      `yaml:"v"`
		Name        string   `yaml:"name"`
		Instruction string   `yaml:"instruction"`
		Repeat      *int     `yaml:"repeat"`
		Temperature *float64 `yaml:"temperature"`
		MaxTokens   *int     `yaml:"max-tokens"`
		Think       string   `yaml:"think"`
		Criteria    []row    `yaml:"criteria"`
	}
	n := d.Read(data)
	if n == nil {
		if err := d.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: the file is empty", name)
	}
	d.Decode(n, "", &file)
	r := &Rubric{Name: file.Name, Instruction: file.Instruction, Repeat: 1, Temperature: file.Temperature, MaxTokens: defaultTokens, Think: file.Think}
	if file.V != 1 {
		d.FaultAt("v", "want 1, the version of this form")
	}
	if !nameForm.MatchString(file.Name) {
		d.FaultAt("name", "want a name of letters, digits, _ and -, at most 64")
	}
	if file.Repeat != nil {
		if r.Repeat = *file.Repeat; r.Repeat < 1 || r.Repeat > maxRepeat {
			d.FaultAt("repeat", "want 1 to %d", maxRepeat)
		}
	}
	if t := file.Temperature; t != nil && !(*t >= 0 && *t <= 10) {
		d.FaultAt("temperature", "want 0 to 10")
	}
	if file.MaxTokens != nil {
		if r.MaxTokens = *file.MaxTokens; r.MaxTokens < 1 {
			d.FaultAt("max-tokens", "want 1 or more")
		}
	}
	switch file.Think {
	case "", "true", "false", "low", "medium", "high":
	default:
		d.FaultAt("think", "want true, false, low, medium or high")
	}
	if len(file.Instruction) > maxText {
		d.FaultAt("instruction", "want at most %d bytes", maxText)
	}
	if len(file.Criteria) == 0 || len(file.Criteria) > maxCriteria {
		d.FaultAt("criteria", "want 1 to %d criteria", maxCriteria)
	}
	r.Criteria = criteria(&d, file.Criteria)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// A row is a criterion as it stands in the file.
type row struct {
	Name        string    `yaml:"name"`
	Description string    `yaml:"description"`
	Scale       []float64 `yaml:"scale"`
	Fractions   bool      `yaml:"fractions"`
}

// criteria checks the criteria of a file.
func criteria(d *yamlfile.Document, rows []row) []Criterion {
	var list []Criterion
	seen := map[string]bool{why: true}
	for i, c := range rows {
		at := fmt.Sprintf("criteria[%d]", i)
		switch {
		case !nameForm.MatchString(c.Name):
			d.FaultAt(yamlfile.Join(at, "name"), "want a name of letters, digits, _ and -, at most 64")
		case seen[c.Name]:
			d.FaultAt(yamlfile.Join(at, "name"), "%s is taken", c.Name)
		}
		seen[c.Name] = true
		if c.Description == "" || len(c.Description) > maxText {
			d.FaultAt(yamlfile.Join(at, "description"), "want 1 to %d bytes", maxText)
		}
		out := Criterion{Name: c.Name, Description: c.Description, Fractions: c.Fractions}
		if err := out.scale(c.Scale); err != nil {
			d.FaultAt(yamlfile.Join(at, "scale"), "%w", err)
		}
		list = append(list, out)
	}
	return list
}

// scale sets the ends of a scale.
func (c *Criterion) scale(ends []float64) error {
	if len(ends) != 2 || !(ends[0] < ends[1]) || math.Abs(ends[0]) > 1e9 || math.Abs(ends[1]) > 1e9 {
		return errors.New("want the lowest and the highest score, such as [1, 5]")
	}
	c.From, c.To = ends[0], ends[1]
	if !c.Fractions && (c.From != math.Trunc(c.From) || c.To != math.Trunc(c.To)) {
		return errors.New("want whole numbers, or fractions: true")
	}
	return nil
}

// Digest identifies the rubric and everything else that a score depends on except the
// thought and the model.
func (r *Rubric) Digest() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // its numbers are finite
	}
	sum := sha256.Sum256(append([]byte(promptVersion+"\n"), text...))
	return hex.EncodeToString(sum[:])
}

// Schema returns the JSON Schema of an answer.
func (r *Rubric) Schema() []byte {
	properties := map[string]any{why: map[string]any{"type": "string"}}
	var required []string
	for _, c := range r.Criteria {
		kind := "integer"
		if c.Fractions {
			kind = "number"
		}
		properties[c.Name] = map[string]any{"type": kind, "minimum": c.From, "maximum": c.To}
		required = append(required, c.Name)
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		panic(err)
	}
	return text
}
