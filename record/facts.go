package record

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"
)

// The facts that an index holds about a line are read from the line here, in the
// form in which appendFront and encode write it.

// cycleIn reads the cycle from the beginning of a line; ok is false if it is not an
// integer.
func cycleIn(front []byte) (n int, ok bool) {
	_, rest, found := bytes.Cut(front, []byte(`"cycle":`))
	if !found {
		return 0, true
	}
	end := 0
	for end < len(rest) && (rest[end] == '-' || rest[end] >= '0' && rest[end] <= '9') {
		end++
	}
	if end == len(rest) || rest[end] != ',' && rest[end] != '}' {
		return 0, false
	}
	n, err := strconv.Atoi(string(rest[:end]))
	return n, err == nil
}

// factsIn reads from a line what the payload's facts were.
func factsIn(t Type, line []byte) facts {
	var f facts
	switch t {
	case TypeExchange, TypeInvocation:
		f.model = gjson.GetBytes(line, "payload.model").String()
		// Most lines have none. The search for bytes is quick because it begins with
		// one that is rare, which a quotation mark is not.
		if !bytes.Contains(line, []byte(`gnostics":`)) {
			break
		}
		for _, c := range gjson.GetBytes(line, "payload.replies.#.diagnostics.#.code|@flatten").Array() {
			f.codes = append(f.codes, c.String())
		}
	case TypeRunStart:
		f.model = gjson.GetBytes(line, "payload.model").String()
	case TypeAdvisory, TypeError:
		f.codes = oneCode(gjson.GetBytes(line, "payload.code").String())
	}
	return f
}
