package foreignjson

import (
	"bytes"
	"encoding/json"
)

// A Double is a key that an object has twice.
type Double struct {
	Key string
	// First and Second are where the key stands, in bytes, from 0.
	First, Second int
}

// FirstDouble returns the first key of a document that stands a second time in its object,
// or nil. Keys are compared as they are read, so "a" and "\u0061" are the same. Of bytes that
// are not JSON it looks at what comes before the fault. The document must be within bounds,
// since a map of each open object is held.
func FirstDouble(data []byte) *Double {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []map[string]int // of the arrays and objects that are open; nil for an array
	key := false              // the next string is a key
	for {
		at := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			return nil
		}
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				open = append(open, map[string]int{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
		case string:
			if key {
				at += bytes.IndexByte(data[at:], '"')
				keys := open[len(open)-1]
				if first, ok := keys[token]; ok {
					return &Double{token, first, at}
				}
				keys[token] = at
				key = false
				continue
			}
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}
