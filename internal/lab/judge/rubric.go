// Package judge lets a model score thoughts, or replies, by a rubric.
//
// What is scored is hostile text: it may tell the judge what to score. So it is quoted
// line by line between two markers that it cannot contain, and the judge is told that
// it is data. What the judge answers is read like any reply: its own reasoning is
// separated, and only a JSON object in the visible text counts, if it fits the schema of
// the rubric.
//
// Every call is recorded before its scores count, so that a run that is killed asks
// nothing twice. The record is also the cache.
package judge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/lab/agreement"
)

// A Rubric says what a text is scored by.
type Rubric struct {
	Name        string `json:"name"`
	Instruction string `json:"instruction,omitempty"`
	// Of is what is scored: thought, reply or all. It is empty if the file does not say it.
	Of       string      `json:"of,omitempty"`
	Criteria []Criterion `json:"criteria"`
	// Repeat is how often each text is scored.
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
	// Labels are the words of the scale, if it has words. The score of a label is its place,
	// from 1.
	Labels []string `json:"labels,omitempty"`
	// Level is the level of measurement, if the file says it.
	Level agreement.Level `json:"level,omitempty"`
}

// Measured is the level of measurement of the scores. A scale of whole numbers or labels
// is ordinal unless the file says otherwise, and one with fractions an interval scale.
func (c *Criterion) Measured() agreement.Level {
	if c.Level == "" && c.Fractions {
		return agreement.Interval
	}
	return cmp.Or(c.Level, agreement.Ordinal)
}

// What a rubric can be of.
const (
	OfThought = "thought"
	OfReply   = "reply"
	OfAll     = "all"
)

const (
	maxCriteria   = 50
	maxRepeat     = 100
	maxLabels     = 50
	maxLabel      = 100      // bytes
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
//	of: thought                                       # optional: thought, reply, all
//	criteria:
//	  - name: checks
//	    description: Does the thought check its result?
//	    scale: [1, 5]
//	    fractions: false                              # optional
//	    level: ordinal                                # optional: nominal, ordinal, interval
//	  - name: mood
//	    description: Which mood do the words have?
//	    labels: [calm, tense, playful]                # instead of a scale
//	    level: nominal
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
		Of          string   `yaml:"of"`
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
	r := &Rubric{Name: file.Name, Instruction: file.Instruction, Of: file.Of, Repeat: 1, Temperature: file.Temperature, MaxTokens: defaultTokens, Think: file.Think}
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
	switch file.Of {
	case "", OfThought, OfReply, OfAll:
	default:
		d.FaultAt("of", "want thought, reply or all")
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
	Labels      []string  `yaml:"labels"`
	Level       string    `yaml:"level"`
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
		out := Criterion{Name: c.Name, Description: c.Description, Fractions: c.Fractions, Level: agreement.Level(c.Level)}
		switch out.Level {
		case "", agreement.Nominal, agreement.Ordinal, agreement.Interval:
		default:
			d.FaultAt(yamlfile.Join(at, "level"), "want nominal, ordinal or interval")
		}
		if len(c.Labels) > 0 {
			if err := out.labels(&c); err != nil {
				d.FaultAt(yamlfile.Join(at, "labels"), "%w", err)
			}
		} else if err := out.scale(c.Scale); err != nil {
			d.FaultAt(yamlfile.Join(at, "scale"), "%w", err)
		}
		if out.Fractions && out.Level == agreement.Nominal {
			d.FaultAt(yamlfile.Join(at, "level"), "a nominal scale has no fractions")
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

// labels sets the words of a scale.
func (c *Criterion) labels(of *row) error {
	if len(of.Scale) > 0 || of.Fractions {
		return errors.New("want either labels or a scale")
	}
	if len(of.Labels) < 2 || len(of.Labels) > maxLabels {
		return fmt.Errorf("want 2 to %d labels", maxLabels)
	}
	for i, label := range of.Labels {
		if label == "" || len(label) > maxLabel || slices.Contains(of.Labels[:i], label) {
			return fmt.Errorf("want labels of 1 to %d bytes, each once", maxLabel)
		}
	}
	c.Labels, c.From, c.To = of.Labels, 1, float64(len(of.Labels))
	return nil
}

// Digest identifies the rubric and everything else that a score depends on except the
// thought and the model.
func (r *Rubric) Digest() string {
	sum := sha256.Sum256(append([]byte(promptVersion+"\n"), marshalled(r)...))
	return hex.EncodeToString(sum[:])
}

// Schema returns the JSON Schema of an answer.
func (r *Rubric) Schema() []byte {
	properties := map[string]any{why: map[string]any{"type": "string"}}
	var required []string
	for _, c := range r.Criteria {
		properties[c.Name] = c.schema()
		required = append(required, c.Name)
	}
	return marshalled(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

func (c *Criterion) schema() any {
	switch {
	case len(c.Labels) > 0:
		return map[string]any{"enum": c.Labels}
	case c.Fractions:
		return map[string]any{"type": "number", "minimum": c.From, "maximum": c.To}
	}
	return map[string]any{"type": "integer", "minimum": c.From, "maximum": c.To}
}

// orderedSchema is Schema with the members in the order of the criteria.
func (r *Rubric) orderedSchema() []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for _, c := range r.Criteria {
		fmt.Fprintf(&b, "%q:%s,", c.Name, marshalled(c.schema())) // a name has no character that needs an escape
		required = append(required, c.Name)
	}
	fmt.Fprintf(&b, `%q:{"type":"string"}},"required":%s,"additionalProperties":false}`, why, marshalled(required))
	return b.Bytes()
}

func marshalled(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // its numbers are finite
	}
	return text
}
