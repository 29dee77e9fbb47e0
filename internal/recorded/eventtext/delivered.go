package eventtext

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/record"
)

// readDelivery reads what a client got; nil for anything else.
func readDelivery(path string, v gjson.Result) *record.Delivery {
	var d record.Delivery
	if path != "delivered" || json.Unmarshal([]byte(v.Raw), &d) != nil || d.Display == "" {
		return nil
	}
	return &d
}

// places are the words for where a client got a text.
var places = map[string]string{record.PlaceText: "in the text", record.PlaceField: "in the field for reasoning", record.PlaceNarration: "in the field for narration"}

// ClientGot says in a line what a client got: "display tags: 120 bytes in the text".
func ClientGot(d *record.Delivery) string {
	var got []string
	for _, place := range []string{record.PlaceText, record.PlaceField, record.PlaceNarration} {
		n := 0
		for _, t := range d.Texts {
			if t.Place == place {
				n += t.Bytes
			}
		}
		if n > 0 {
			got = append(got, fmt.Sprintf("%d bytes %s", n, places[place]))
		}
	}
	if len(got) == 0 {
		got = []string{"no text"}
	}
	said := "display " + d.Display
	if d.Narration != "" {
		said += ", narration " + d.Narration
	}
	if d.Guard != "" {
		said += ", guard " + d.Guard
	}
	said += ": " + strings.Join(got, ", ")
	if d.Promoted {
		said += "; the thought became the answer"
	}
	return said
}

// thoughtWords say what became of thoughts.
var thoughtWords = map[string]string{
	record.ThoughtHidden: "hidden", record.ThoughtInField: "sent in a field", record.ThoughtInText: "sent in the text", record.ThoughtPromoted: "promoted",
	"passed": "sent in the text, unchanged",
}

// Thought says what became of thoughts, by the word of the record.
func Thought(word string) string { return cmp.Or(thoughtWords[word], word) }

// delivered visits what a client got of an exchange.
func (w *Walker) delivered(d *record.Delivery) {
	list := []Member{{"client_got", ClientGot(d)}}
	if w.thought != "" {
		list = append(list, Member{"thought", Thought(w.thought)})
	}
	w.Members("", list)
}
