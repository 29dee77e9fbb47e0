package reading

import (
	"errors"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// A Returned is the list of the first choice in which a provider signs or encrypts its thoughts, as the
// provider wants it back: see [wire.ListCodec].
type Returned struct {
	list  chatjson.DetailList
	plain []byte // the thought beside the list
	size  int
	large bool // it has more than there is room for, and nothing of it counts
}

// maxReturned bounds the elements of a list.
const maxReturned = 1 << 10

var errLargeList = errors.New("the list has too many elements, or too many bytes")

// NewReturned returns a list of at most so many bytes.
func NewReturned(most int) *Returned {
	d := &Returned{}
	d.list.Room = func(elements, bytes int) error {
		if elements > maxReturned || d.size+bytes > most {
			return errLargeList
		}
		d.size += bytes
		return nil
	}
	return d
}

func (d *Returned) found(f *wire.Event) {
	switch {
	case f.Choice != 0 || d.large:
	case f.Kind == wire.EventThought && f.Member && !f.Again:
		d.plain = append(d.plain[:0], f.Text...)
	case f.Kind == wire.EventDetails:
		_, err := d.list.Add(jsonedit.Parse(jsonedit.BytesOf(f.Raw)), string(d.plain))
		d.plain = d.plain[:0]
		if err != nil {
			*d = Returned{large: true}
		}
	}
}

// JSON returns the list. It is empty if nothing in it is signed or encrypted, or if it was too large.
func (d *Returned) JSON() string {
	if d == nil || d.large || !d.list.Sealed() {
		return ""
	}
	return string(d.list.JSON())
}

// Since returns what JSON has more than it had at an index of the list, and the index of what comes next. Each
// element comes once, so that copies of a long list do not grow with its square.
func (d *Returned) Since(from int) (list string, to int) {
	if d == nil || d.large {
		return "", from
	}
	more, to := d.list.Since(from)
	return string(more), to
}

// Size is about how many bytes of memory the list holds.
func (d *Returned) Size() int {
	if d == nil {
		return 0
	}
	return d.size + cap(d.plain)
}
