package chatjson

import (
	"errors"

	"github.com/tidwall/gjson"
)

// Where reasoning goes into the text, a stream loses the details that only repeat it, and keeps those that are
// signed or encrypted. But a signature is worth nothing without the text that it signs. So when the signature
// comes, the client gets the list so far, as it would be in a whole reply.
type inlineDetails struct {
	open map[int]*DetailList // of each choice: what was left out
	list []byte              // what the details of the object become; nil if they stay
}

// The bounds of what is kept. What is larger loses its texts.
const (
	maxInline        = 256 << 10
	maxInlineDetails = 256
	maxInlineChoices = 16
)

var errNoRoom = errors.New("too many details")

func (d *inlineDetails) read(o Object, v gjson.Result) {
	sealed, l := sealedDetails(v), d.open[o.Choice]
	if l == nil {
		if sealed || len(d.open) == maxInlineChoices {
			return
		}
		if d.open == nil {
			d.open = map[int]*DetailList{}
		}
		left := maxInline
		l = &DetailList{Room: func(details, bytes int) error {
			if left -= bytes; left < 0 || details > maxInlineDetails {
				return errNoRoom
			}
			return nil
		}}
		d.open[o.Choice] = l
	}
	plain := ""
	if i := firstNative(o); i >= 0 {
		plain = string(ValueText(o.Members[i].Value))
	}
	_, err := l.Add(v, plain)
	switch {
	case err != nil:
		l.Room = func(int, int) error { return errNoRoom } // nothing of it counts
	case sealed:
		d.list = l.JSON()
		delete(d.open, o.Choice)
	}
}
