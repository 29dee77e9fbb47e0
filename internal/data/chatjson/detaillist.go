package chatjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
)

// A DetailList is the reasoning_details of a reply, assembled from their pieces.
type DetailList struct {
	// Room is asked before the list grows: to how many details, and by how many bytes. The
	// list stays as it is if that fails.
	Room func(details, bytes int) error

	byKey map[string]*detail
	order []*detail
	form  detailForm
}

// A detail is an element of reasoning_details, assembled from its pieces.
type detail struct {
	keys   []string
	values map[string]json.RawMessage
	texts  map[string]*strings.Builder // those that come in pieces
}

// detailCost is what a detail takes besides its bytes, and memberCost a member of one.
const (
	detailCost = 1 << 10
	memberCost = 128
)

// growing are the members of a detail that come in pieces.
var growing = []string{"text", "summary", "data"}

// sealed reports whether the provider signed or encrypted it.
func (d *detail) sealed() bool {
	return d.texts["data"] != nil || len(d.values["signature"]) > 2 && string(d.values["signature"]) != "null" ||
		bytes.Contains(d.values["type"], []byte("encrypted"))
}

// Add reads a frame's details and returns the part of their text that is new.
// Some servers send pieces, others send all so far in every frame. The plain
// reasoning beside them in the frame tells which, or else the beginning of the
// details.
func (l *DetailList) Add(list gjson.Result, plain string) (news string, err error) {
	var said strings.Builder
	if list.IsArray() {
		list.ForEach(func(_, e gjson.Result) bool {
			err = l.merge(e, plain, &said)
			return err == nil
		})
	}
	return said.String(), err
}

func (l *DetailList) merge(e gjson.Result, plain string, said *strings.Builder) error {
	d, err := l.detailOf(e)
	if err != nil {
		return err
	}
	for _, m := range jsonedit.Members(jsonedit.Parse([]byte(e.Raw))) {
		if !slices.Contains(growing, m.Key) || m.Value.Type != gjson.String {
			if err := l.set(d, m); err != nil {
				return err
			}
			continue
		}
		all := d.texts[m.Key]
		if all == nil {
			all = new(strings.Builder)
			key := strings.Clone(m.Key)
			if d.texts[key] = all; d.values[key] == nil {
				d.keys = append(d.keys, key)
			}
		}
		piece := l.piece(all.String(), jsonedit.StringOf(ValueText(m.Value)), plain)
		if err := l.Room(len(l.order), len(piece)); err != nil {
			return err
		}
		all.WriteString(piece)
		if m.Key != "data" {
			said.WriteString(piece)
		}
	}
	return nil
}

// piece returns what a text adds to the text before it.
func (l *DetailList) piece(before, now, plain string) string {
	rest, repeats := strings.CutPrefix(now, before)
	switch {
	case before == "":
		return now
	case l.form == unknownForm && repeats && rest != "" && (plain == "" || plain == rest):
		l.form = allSoFar
	case l.form == unknownForm && (!repeats || plain == now):
		l.form = inPieces
	}
	if l.form == allSoFar && repeats {
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
func (l *DetailList) detailOf(e gjson.Result) (*detail, error) {
	key := e.Get("type").Str + " " + numberOf(e)
	if d := l.byKey[key]; d != nil {
		return d, nil
	}
	if err := l.Room(len(l.order)+1, len(key)+detailCost); err != nil {
		return nil, err
	}
	d := &detail{values: map[string]json.RawMessage{}, texts: map[string]*strings.Builder{}}
	if l.byKey == nil {
		l.byKey = map[string]*detail{}
	}
	l.byKey[strings.Clone(key)] = d
	l.order = append(l.order, d)
	return d, nil
}

// numberOf is what tells a detail from others of its type.
func numberOf(e gjson.Result) string {
	for _, name := range []string{"index", "id"} {
		if v := e.Get(name); v.Type != gjson.Null && v.String() != "" {
			return v.String()
		}
	}
	return ""
}

// set keeps a member that comes whole. The last value counts.
func (l *DetailList) set(d *detail, m jsonedit.Member) error {
	key := strings.Clone(m.Key) // a copy, so that it does not keep the frame in memory
	old, ok := d.values[key]
	more := max(0, len(m.Value.Raw)-len(old))
	switch {
	case !ok:
		more += len(key) + memberCost
	case m.Value.Type == gjson.Null:
		return nil
	}
	if d.texts[key] != nil { // it has a text, and no other value counts
		return nil
	}
	if err := l.Room(len(l.order), more); err != nil {
		return err
	}
	if !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = json.RawMessage(strings.Clone(m.Value.Raw))
	return nil
}

// Empty reports whether there are no details.
func (l *DetailList) Empty() bool { return len(l.order) == 0 }

// Sealed reports whether the provider signed or encrypted a detail.
func (l *DetailList) Sealed() bool { return slices.ContainsFunc(l.order, (*detail).sealed) }

// JSON returns the list as it goes back.
func (l *DetailList) JSON() json.RawMessage { return encoded(l.order) }

// Since returns the details from the one at an index to the last that is signed or encrypted, and the
// index after that. The list is nil if there are none.
func (l *DetailList) Since(from int) (list json.RawMessage, to int) {
	for to = len(l.order); to > from && !l.order[to-1].sealed(); to-- {
	}
	if to <= from {
		return nil, from
	}
	return encoded(l.order[from:to]), to
}

func encoded(details []*detail) json.RawMessage {
	var list jsonwrite.List
	for _, d := range details {
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
