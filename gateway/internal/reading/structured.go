package reading

import (
	"bytes"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A structured text is one for which the request asked for JSON. Models put a fence
// around it all the same. The zero value is ready.
type structured struct {
	fence fence
	text  []byte // what the client has of it
	long  bool   // it is too long to keep
	layer string // why there is no JSON; "" while that is unknown, and if there is
	valid bool   // there is
}

// The layers at which JSON that was asked for is missing.
const (
	jsonModel = "model" // the model wrote something else
	jsonFence = "fence" // it is in a fence, with other text beside it
	jsonCut   = "cut"   // a limit cut it
)

// jsonFenceDropped and jsonMissing are the findings about a structured text.
const (
	jsonFenceDropped sotto.Code = "json_fence_dropped"
	jsonMissing      sotto.Code = "json_missing"
)

// deliver gives visible text to the client, without the fence around JSON that the
// request asked for.
func (r *Reading) deliver(c *Choice, text []byte) {
	if !r.JSON {
		r.say(c, text)
		return
	}
	if r.Display == routing.DisplayKeep { // the fence stays
		r.structured(c, text)
		return
	}
	c.json.fence.feed(text, func(text []byte) { r.structured(c, text) })
}

// structured gives text to the client, and keeps it to see whether it is JSON.
func (r *Reading) structured(c *Choice, text []byte) {
	j := &c.json
	if j.long = j.long || len(j.text)+len(text) > r.Limits.Frame; j.long {
		j.text = nil
	} else {
		j.text = append(j.text, text...)
	}
	r.say(c, text)
}

// endJSON gives what the fence held, and judges whether the text is JSON. Where the
// reply calls tools, no text is missing.
func (r *Reading) endJSON(c *Choice, end sotto.Ending) {
	if !r.JSON {
		return
	}
	j := &c.json
	if r.Display != routing.DisplayKeep {
		j.fence.end(func(text []byte) { r.structured(c, text) })
	}
	switch text := trimLeft(trimRight(j.text)); {
	case j.long, end == sotto.EndAborted, r.called && len(text) == 0:
	case foreignjson.Valid(text):
		j.valid = true
	case end == sotto.EndCut:
		j.layer = jsonCut
	case j.fence.dropped, fencedJSON(text):
		j.layer = jsonFence
	default:
		j.layer = jsonModel
	}
	j.text = nil
}

// JSONLayer returns why JSON that was asked for is missing in the reply, or "". If an
// API has a list of texts, one of them may be the JSON.
func (r *Reading) JSONLayer() (layer string) {
	for _, c := range r.Choices {
		switch {
		case c == nil:
		case c.json.valid && r.Can.Texts:
			return ""
		case c.json.layer != "":
			layer = c.json.layer
		}
	}
	return layer
}

// JSONFences reports whether a fence was dropped.
func (r *Reading) JSONFences() bool {
	for _, c := range r.Choices {
		if c != nil && c.json.fence.dropped {
			return true
		}
	}
	return false
}

// fencedJSON reports whether a text has JSON in a fence.
func fencedJSON(text []byte) bool {
	var f fence
	var inside []byte
	keep := func(text []byte) { inside = append(inside, text...) }
	f.feed(text, keep)
	f.end(keep)
	if f.dropped && foreignjson.Valid(trimRight(inside)) {
		return true
	}
	for {
		_, after, found := bytes.Cut(text, fenceMark)
		if !found {
			return false
		}
		body, rest, closed := bytes.Cut(after, fenceMark)
		if i := bytes.IndexAny(body, "{["); closed && i >= 0 && foreignjson.Valid(trimRight(body[i:])) {
			return true
		}
		text = rest
	}
}

var fenceMark = []byte("```")

// A fence drops the fence around JSON. It drops the opening one only directly before
// { or [ at the start of the text, and the closing one, with the white space around
// it, only if nothing except white space follows. It decides by each byte as it
// comes, so where a stream is cut changes nothing. The zero value is ready.
//
//	state      the text so far
//	atStart    ``^`json\n      may be an opening fence: held, at most maxOpening bytes
//	inJSON     ```json\n{"a"^  the opening one was dropped; what follows is given
//	atClose    {"a":1}\n``^    may be a closing fence: held, at most maxClosing bytes
//	unfenced   Here is^        no fence: all is given
type fence struct {
	state   fenceState
	dropped bool
	held    []byte
	ticks   int  // atClose: back-ticks so far
	after   bool // atClose: white space followed them

	depth             int // of objects and lists
	inString, escaped bool
}

type fenceState uint8

const (
	atStart fenceState = iota
	inJSON
	atClose
	unfenced
)

const (
	maxOpening = 128
	maxClosing = 1 << 10
)

func (f *fence) feed(text []byte, give func([]byte)) {
	for len(text) > 0 && f.state == atStart {
		f.held, text = append(f.held, text[0]), text[1:]
		f.open(give)
	}
	from := 0 // text[from:i] is to be given
	for i := 0; i < len(text) && f.state != unfenced; i++ {
		if f.state == atClose {
			if f.closes(text[i]) {
				from = i + 1
				continue
			}
			f.release(inJSON, give)
			from = i
		}
		if f.mayClose(text[i]) {
			f.give(text[from:i], give)
			f.state, f.ticks, f.after = atClose, 0, false
			f.closes(text[i])
			from = i + 1
		}
	}
	f.give(text[from:], give)
}

func (f *fence) give(text []byte, give func([]byte)) {
	if len(text) > 0 {
		give(text)
	}
}

// release gives what was held.
func (f *fence) release(next fenceState, give func([]byte)) {
	held := f.held
	f.state, f.held = next, nil
	f.give(held, give)
}

// open looks at the held start of the text, which grew by a byte.
func (f *fence) open(give func([]byte)) {
	rest := trimLeft(f.held)
	ticks := bytes.TrimLeft(rest, "`")
	n := len(rest) - len(ticks)
	info := bytes.TrimLeft(ticks, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.")
	body := trimLeft(info)
	switch {
	case len(ticks) > 0 && n < len(fenceMark), len(body) > 0 && body[0] != '{' && body[0] != '[':
		f.release(unfenced, give)
	case len(body) > 0:
		f.dropped, f.depth, f.state, f.held = true, 1, inJSON, nil
		give(body[:1:1])
	case len(f.held) >= maxOpening:
		f.release(unfenced, give)
	}
}

// mayClose reads a byte of the JSON. It reports whether a closing fence may begin
// here: with a back-tick that no string holds, or with white space after the value.
func (f *fence) mayClose(c byte) bool {
	switch {
	case f.escaped:
		f.escaped = false
	case f.inString:
		f.escaped, f.inString = c == '\\', c != '"'
	case c == '"':
		f.inString = true
	case c == '{' || c == '[':
		f.depth++
	case c == '}' || c == ']':
		f.depth--
	default:
		return c == '`' || IsWhite(c) && f.depth <= 0
	}
	return false
}

// closes holds a byte if a closing fence may still be what is held.
func (f *fence) closes(c byte) bool {
	switch {
	case len(f.held) >= maxClosing:
		return false
	case IsWhite(c):
		if f.ticks > 0 && f.ticks < len(fenceMark) {
			return false
		}
		f.after = f.ticks > 0
	case c != '`' || f.after:
		return false
	default:
		f.ticks++
	}
	f.held = append(f.held, c)
	return true
}

// end gives what is held, unless it is a closing fence.
func (f *fence) end(give func([]byte)) {
	if f.state == atClose && f.ticks >= len(fenceMark) {
		f.held = nil
	}
	f.release(unfenced, give)
}
