package model

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire"
)

// partFound reads a part of the content that is reasoning. Consecutive parts form one
// thought.
func (l *listener) partFound(f *wire.Event) (err error) {
	if l.parts == nil {
		if l.parts, err = l.begin(strings.Clone(f.Name)); err != nil {
			return err
		}
		l.parts.Raw = partOf(l.parts.Field, "", "")
	}
	signature := str(jsonedit.Parse([]byte(f.Raw)).Get("signature"))
	l.parts.Sealed = l.parts.Sealed || signature != ""
	if err := l.think(l.parts, string(f.Text)); err != nil {
		return err
	}
	l.parts.seal.WriteString(signature)
	return l.grow(len(signature))
}

// partOf returns a part of reasoning, as it goes back.
func partOf(kind, said, signature string) []byte {
	var o, in jsonwrite.Object
	var list jsonwrite.List
	in.Text("type", "text")
	in.Text("text", said)
	list.Object(in)
	o.Text("type", kind)
	o.List(kind, list)
	if signature != "" {
		o.Text("signature", signature)
	}
	return o.End()
}

// blockOf returns the thought of a block, and begins it if it is new.
func (l *listener) blockOf(index int) (*thinking, error) {
	for _, t := range slices.Backward(l.thoughts) {
		if t.block == index {
			return t, nil
		}
	}
	t, err := l.begin("thinking")
	if err != nil {
		return nil, err
	}
	t.block, t.Raw = index, json.RawMessage("{}") // until it is complete
	return t, nil
}

// sealedFound reads the signature of a block, or a block that is encrypted.
func (l *listener) sealedFound(f *wire.Event) error {
	if f.Raw != "" {
		t, err := l.begin(strings.Clone(f.Name))
		if err != nil {
			return err
		}
		t.block, t.Raw, t.Sealed, t.complete = f.Index, json.RawMessage(strings.Clone(f.Raw)), true, true
		return l.grow(len(f.Raw))
	}
	t, err := l.blockOf(f.Index)
	if err != nil {
		return err
	}
	t.signs = true
	t.seal.Write(f.Text)
	return l.grow(len(f.Text))
}

// endBlock puts a thought into the form of a block.
func (t *thinking) endBlock() {
	t.Sealed = t.seal.Len() > 0
	var o jsonwrite.Object
	o.Text("type", "thinking")
	o.Text("thinking", t.text.String())
	if t.signs {
		o.Text("signature", t.seal.String())
	}
	t.Raw = o.End()
}

// detailsFound reads reasoning_details. Their text is the reasoning if no member
// beside them has it.
func (l *listener) detailsFound(f *wire.Event) error {
	list := jsonedit.Parse([]byte(f.Raw))
	if !list.IsArray() {
		return nil
	}
	told, err := l.pieces.Add(list, l.plain)
	if err != nil || l.plain != "" || told == "" {
		return err
	}
	t := l.inMember()
	if t == nil {
		if t, err = l.begin("reasoning_details"); err != nil {
			return err
		}
	}
	return l.think(t, told)
}

// endDetails puts the details into the thought that they belong to.
func (l *listener) endDetails() error {
	if l.pieces.Empty() {
		return nil
	}
	t := l.inMember()
	if t == nil {
		var err error
		if t, err = l.begin("reasoning_details"); err != nil {
			return err
		}
	}
	t.Field, t.Raw = "reasoning_details", l.pieces.JSON()
	t.Sealed = l.pieces.Sealed()
	return nil
}
