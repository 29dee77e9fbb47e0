package inputfiles

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// ErrNoRewrite is the error of a log whose rows are not conversations.
var ErrNoRewrite = errors.New("its rows cannot be rewritten")

// CanRewrite reports whether Rewrite knows the rows of a preset.
func CanRewrite(from string) bool {
	p := presetNamed(from)
	return p != nil && p.single()
}

// Rewrite appends a row of a log with only what users see: the texts of the model
// become what visible returns for them, and the reasoning that a server has separated
// is removed. Every other byte of the row stays.
func Rewrite(dst, line []byte, from string, visible func(text string) (string, error)) ([]byte, error) {
	if !CanRewrite(from) {
		return dst, ErrNoRewrite
	}
	if err := foreignjson.Check(line); err != nil {
		return dst, err
	}
	p, row := presetNamed(from), jsonedit.Parse(line)
	if !p.fits(row) {
		return dst, p.stranger(row)
	}
	r := &rewriter{visible: visible}
	if p.beside {
		r.message(row)
	}
	for _, m := range jsonedit.Members(row) {
		if slices.Contains(p.replies, m.Key) {
			r.replies(m.Value)
		}
	}
	if r.err != nil {
		return dst, r.err
	}
	return jsonedit.Splice(dst, line, r.edits), nil
}

// stranger is the error of a row of another kind.
func (p *preset) stranger(row gjson.Result) error {
	return fmt.Errorf("it does not look like one of the %s%s", p.what, suggest(row))
}

// A rewriter collects the edits of a row.
type rewriter struct {
	visible func(string) (string, error)
	edits   []jsonedit.Edit
	err     error // the first
}

// replies edits the messages of the model in a conversation, or one message.
func (r *rewriter) replies(v gjson.Result) {
	if v.IsObject() {
		r.message(v)
		return
	}
	for _, m := range jsonedit.Members(v) {
		if m.Value.IsObject() && isModel(get(m.Value, []string{"role", "from"}).String()) {
			r.message(m.Value)
		}
	}
}

// message edits the members of a message, and what a part of one has besides a text.
func (r *rewriter) message(v gjson.Result) {
	members := jsonedit.Members(v)
	r.edits = jsonedit.Cut(r.edits, members, func(i int) bool { return slices.Contains(nativeMembers, members[i].Key) })
	for _, m := range members {
		switch {
		case !slices.Contains(textMembers, m.Key):
		case m.Value.Type == gjson.String:
			r.text(m.Value)
		case m.Value.IsArray():
			r.parts(m.Value)
		}
	}
}

// parts edits the parts of a message, and removes those that are reasoning.
func (r *rewriter) parts(v gjson.Result) {
	parts := jsonedit.Members(v)
	isNative := func(i int) bool { return slices.Contains(nativeParts, parts[i].Value.Get("type").String()) }
	r.edits = jsonedit.Cut(r.edits, parts, isNative)
	for i, part := range parts {
		switch {
		case isNative(i):
		case part.Value.Type == gjson.String:
			r.text(part.Value)
		case part.Value.IsObject():
			r.message(part.Value)
		}
	}
}

func (r *rewriter) text(v gjson.Result) {
	text := v.String()
	visible, err := r.visible(text)
	if err != nil && r.err == nil {
		r.err = err
	}
	if visible != text {
		r.edits = append(r.edits, jsonedit.Edit{Span: jsonedit.SpanOf(v), With: jsontext.AppendVerbatim(nil, visible)})
	}
}

// What a message of the model has, by the names of its members and the types of its
// parts.
var (
	textMembers   = []string{"content", "value", "text", "response"}
	nativeMembers = []string{"reasoning_content", "reasoning", "thinking", "reasoning_details"}
	nativeParts   = []string{"thinking", "redacted_thinking", "reasoning"}
)
