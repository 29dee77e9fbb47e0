package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/record"
)

// A Difference is the place where a run departs from its record.
type Difference struct {
	// Seq, Run, Cycle and Type are those of the recorded event.
	Seq   uint64
	Run   string
	Cycle int
	Type  record.Type
	// Field is the part of it that differs, such as
	// "payload.messages[1].text.text". The texts show what is there, from a little
	// before the first byte that differs.
	Field         string
	Recorded, Now string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("event %d (%s, run %s, cycle %d) differs in %s: recorded %q, now %q", d.Seq, d.Type, d.Run, d.Cycle, d.Field, d.Recorded, d.Now)
}

// An event as the two sides of a comparison have it.
type compared struct {
	Run     string         `json:"run"`
	Cycle   int            `json:"cycle"`
	Type    record.Type    `json:"type"`
	Payload record.Payload `json:"payload"`
}

// same compares an event with the recorded one. Both are compared in the form that
// view gives.
func same(e *record.Event, run string, cycle int, p record.Payload, view func(record.Payload) record.Payload) error {
	d := Difference{Seq: e.Seq, Run: e.Run, Cycle: e.Cycle, Type: e.Type}
	was, now := compared{e.Run, e.Cycle, e.Type, view(e.Payload)}, compared{run, cycle, p.Type(), view(p)}
	if _, ok := e.Payload.(record.Unknown); ok {
		d.Field, d.Recorded, d.Now = "payload", "data that this version cannot read", string(p.Type())
		return &d
	}
	if where := withheld(was.Payload); where != "" {
		return fmt.Errorf("event %d (%s) withholds %s: only a record with all texts (level full) can be resumed", e.Seq, e.Type, where)
	}
	a, b := encode(was), encode(now)
	if bytes.Equal(a, b) {
		return nil
	}
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		return err
	}
	if err := json.Unmarshal(b, &y); err != nil {
		return err
	}
	if d.find("", x, y) {
		return &d
	}
	return nil
}

// find looks for the first difference between two JSON values. An event's
// type, run and cycle are compared before its payload.
func (d *Difference) find(path string, was, now any) bool {
	switch was := was.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		if !ok {
			break
		}
		names := make([]string, 0, len(was)+len(now))
		for name := range was {
			names = append(names, name)
		}
		for name := range now {
			names = append(names, name)
		}
		slices.Sort(names)
		if i := slices.Index(names, "payload"); i >= 0 && path == "" {
			names = []string{"type", "run", "cycle", "payload"}
		}
		for _, name := range names {
			if d.find(join(path, name), was[name], now[name]) {
				return true
			}
		}
		return false
	case []any:
		now, ok := now.([]any)
		if !ok {
			break
		}
		for i := range max(len(was), len(now)) {
			var a, b any
			if i < len(was) {
				a = was[i]
			}
			if i < len(now) {
				b = now[i]
			}
			if d.find(fmt.Sprintf("%s[%d]", path, i), a, b) {
				return true
			}
		}
		return false
	default:
		if was == now {
			return false
		}
	}
	d.Field = path
	d.Recorded, d.Now = excerpts(textOf(was), textOf(now))
	return true
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(encode(v))
}

// excerpts cuts two texts to where they begin to differ.
func excerpts(a, b string) (string, string) {
	const before, length = 24, 96
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	at = max(0, at-before)
	cut := func(s string) string {
		from, to := at, min(len(s), at+length)
		for from > 0 && from < len(s) && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to--
		}
		if from >= to {
			return ""
		}
		return s[from:to]
	}
	return cut(a), cut(b)
}

// withheld names a text of an event that was not recorded completely.
func withheld(p record.Payload) string {
	if bytes.Contains(encode(p), []byte(`"cuts":[{`)) {
		return "text"
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
