package eventtext

import (
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// TestClientGotInAWord: one line says what a client got, and where.
func TestClientGotInAWord(t *testing.T) {
	texts := []record.Delivered{{Place: record.PlaceText, Bytes: 3}, {Place: record.PlaceField, Bytes: 5}, {Reply: 1, Place: record.PlaceText, Bytes: 4}, {Place: record.PlaceNarration, Bytes: 1}}
	for want, d := range map[string]record.Delivery{
		"display hide: no text": {Display: "hide"},
		"display field, narration text, guard cut: 7 bytes in the text, 5 bytes in the field for reasoning, 1 bytes in the field for narration": {Display: "field", Narration: "text", Guard: "cut", Texts: texts},
		"display field: 3 bytes in the text; the thought became the answer":                                                                     {Display: "field", Promoted: true, Texts: texts[:1]},
	} {
		if got := ClientGot(&d); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
