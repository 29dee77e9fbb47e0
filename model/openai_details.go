package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
)

// A detail is an element of reasoning_details, assembled from its pieces.
type detail struct {
	keys   []string
	values map[string]json.RawMessage
	texts  map[string]*strings.Builder // those that come in pieces
}

// Details are the reasoning_details of a reply.
type details struct {
	byKey map[string]*detail
	order []*detail
	form  detailForm
}

// growing are the members of a detail that come in pieces.
var growing = []string{"text", "summary", "data"}

// sealed reports whether the provider signed or encrypted it.
func (d *detail) sealed() bool {
	return d.texts["data"] != nil || len(d.values["signature"]) > 2 && string(d.values["signature"]) != "null" ||
		bytes.Contains(d.values["type"], []byte("encrypted"))
}

// detailed reads a frame's details and returns the part of their text that is new.
// Some servers send pieces, others send all so far in every frame. The plain
// reasoning beside them in the frame tells which, or else the beginning of the
// details.
func (l *listener) detailed(list gjson.Result, plain string) (news string, err error) {
	var said strings.Builder
	err = each(list, func(e gjson.Result) error {
		d, err := l.detailOf(e)
		if err != nil {
			return err
		}
		for _, m := range jsonedit.Members(jsonedit.Parse([]byte(e.Raw))) {
			if !slices.Contains(growing, m.Key) || m.Value.Type != gjson.String {
				if err := l.setDetail(d, m); err != nil {
					return err
				}
				continue
			}
			all := d.texts[m.Key]
			if all == nil {
				all = new(strings.Builder)
				key := strings.Clone(m.Key)
				d.keys, d.texts[key] = append(d.keys, key), all
			}
			piece := l.piece(all.String(), str(m.Value), plain)
			all.WriteString(piece)
			if err := l.grow(len(piece)); err != nil {
				return err
			}
			if m.Key != "data" {
				said.WriteString(piece)
			}
		}
		return nil
	})
	return said.String(), err
}

// piece returns what a text adds to the text before it.
func (l *listener) piece(before, now, plain string) string {
	rest, repeats := strings.CutPrefix(now, before)
	switch {
	case before == "":
		return now
	case l.pieces.form == unknownForm && repeats && rest != "" && (plain == "" || plain == rest):
		l.pieces.form = allSoFar
	case l.pieces.form == unknownForm && (!repeats || plain == now):
		l.pieces.form = inPieces
	}
	if l.pieces.form == allSoFar && repeats {
		return rest
	}
	return now
}

// A detailForm says how a stream's details come.
type detailForm uint8

const (
	unknownForm detailForm = iota
	inPieces
	allSoFar
)

// detailOf returns the detail that a piece belongs to.
func (l *listener) detailOf(e gjson.Result) (*detail, error) {
	key := e.Get("type").Str + " " + first(e, "index", "id")
	if d := l.pieces.byKey[key]; d != nil {
		return d, nil
	}
	if len(l.pieces.order) >= l.limits.Calls {
		return nil, fmt.Errorf("%w: more than %d details of reasoning", ErrTooLarge, l.limits.Calls)
	}
	d := &detail{values: map[string]json.RawMessage{}, texts: map[string]*strings.Builder{}}
	l.pieces.byKey[strings.Clone(key)] = d
	l.pieces.order = append(l.pieces.order, d)
	return d, l.grow(len(key) + overhead)
}

func (l *listener) setDetail(d *detail, m jsonedit.Member) error {
	key := strings.Clone(m.Key) // a copy, so that it does not keep the frame in memory
	old, ok := d.values[key]
	more := max(0, len(m.Value.Raw)-len(old))
	switch {
	case !ok:
		d.keys = append(d.keys, key)
		more += len(key) + memberCost
	case !says(m.Value):
		return nil
	}
	d.values[key] = json.RawMessage(strings.Clone(m.Value.Raw))
	return l.grow(more)
}

// json returns the list as it goes back.
func (p *details) json() json.RawMessage {
	var list jsonwrite.List
	for _, d := range p.order {
		var o jsonwrite.Object
		for _, key := range d.keys {
			if said, ok := d.texts[key]; ok {
				o.Text(key, said.String())
			} else {
				o.Raw(key, string(d.values[key]))
			}
		}
		list.Object(o)
	}
	return list.End()
}
