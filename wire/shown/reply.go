package shown

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// An API declares what is shown of its replies when reasoning is hidden.
type API struct {
	Framing wire.Framing
	// Frame is a frame of a stream. An API whose frames are events has Events
	// instead, by their names.
	Frame  *Value
	Events map[string]*Value
	// Body is the body of a reply that is not streamed. It must have one of the
	// members in Needs, otherwise it is unknown what it is.
	Body  *Value
	Needs []string
}

// Fault is the object of an error, in every API's form.
var Fault = TextOr(Object("type code param status", Members{"message": Text}))

// ErrorBody is the body of a response that is an error.
var ErrorBody = Object("type code param status object request_id", Members{"message": Text, "error": Fault})

// Only returns a reply that passes on what may be shown of another, if the settings
// say that reasoning is hidden, or may have to be. Whatever a codec lets pass goes
// through this check last.
func Only(y wire.Reply, s wire.Settings, shows *API) wire.Reply {
	if s.Keep || !s.Hide && !s.Withholds {
		return y
	}
	return &hiding{reply: y, shows: shows, on: s.Hide}
}

type hiding struct {
	reply wire.Reply
	shows *API
	on    bool
	buf   []byte
}

// Hide begins to hide.
func (h *hiding) Hide() { h.on = wire.Hide(h.reply) || h.on }

func (h *hiding) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	if !h.on {
		return h.reply.Frame(dst, f, r)
	}
	h.buf = h.reply.Frame(h.buf[:0], f, r)
	return h.show(dst, r)
}

func (h *hiding) End(dst []byte, err error, r wire.Reader) []byte {
	if !h.on {
		return h.reply.End(dst, err, r)
	}
	h.buf = h.reply.End(h.buf[:0], err, r)
	return h.show(dst, r)
}

func (h *hiding) Cut(dst []byte, r wire.Reader) []byte {
	frames, _ := wire.Cut(h.reply, r)
	return append(dst, frames...)
}

func (h *hiding) KeepAlive(dst []byte) []byte {
	if !h.on {
		return h.reply.KeepAlive(dst)
	}
	h.buf = h.reply.KeepAlive(h.buf[:0])
	return h.show(dst, nil)
}

// show appends what is shown of the frames in h.buf.
func (h *hiding) show(dst []byte, r wire.Reader) []byte {
	var events sse.Scanner
	var lines ndjson.Scanner
	for in := h.buf; len(in) > 0; {
		var f wire.Frame
		var ok bool
		if h.shows.Framing == wire.SSE {
			var e sse.Frame
			e, ok = events.Next(in)
			f = wire.Frame(e)
		} else {
			var l ndjson.Line
			l, ok = lines.Next(in)
			f = wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}
		}
		if !ok {
			break
		}
		in = in[len(f.Raw):]
		var err error
		if dst, err = h.frame(dst, f); err != nil && r != nil {
			r.Fail(err)
			break
		}
	}
	if cap(h.buf) > largeFrame {
		h.buf = nil
	}
	return dst
}

// largeFrame is the capacity above which a buffer is not kept for later frames.
const largeFrame = 64 << 10

// frame appends what is shown of a frame. Comments lose their text; they still keep
// connections open.
func (h *hiding) frame(dst []byte, f wire.Frame) ([]byte, error) {
	data := bytes.TrimSpace(f.Data)
	switch {
	case h.shows.Framing == wire.SSE && bytes.HasPrefix(f.Raw, []byte(":")) && f.Data == nil:
		return sse.AppendComment(dst, "keep-alive"), nil
	case h.shows.Framing == wire.SSE && string(data) == "[DONE]":
		return append(dst, "data: [DONE]\n\n"...), nil
	case len(data) == 0 || data[0] != '{':
		return dst, nil
	}
	f, ok := chatjson.Readable(f)
	if !ok {
		return dst, wire.ErrUnreadable
	}
	root := jsonedit.Parse(f.Data)
	shown, name := h.shows.Frame, ""
	if h.shows.Events != nil {
		if name = root.Get("type").Str; name == "" {
			name = string(f.Type)
		}
		if shown = h.shows.Events[name]; shown == nil {
			return dst, nil
		}
	}
	left, same, keep, err := shown.reduce(f.Data, root, nil)
	if err != nil || !keep {
		return dst, err
	}
	plain := h.plain(f, name)
	if plain && same {
		return append(dst, f.Raw...), nil
	}
	if len(jsonedit.Members(jsonedit.Parse(left))) == 0 {
		return dst, nil
	}
	switch {
	case h.shows.Framing == wire.NDJSON:
		return append(append(dst, left...), '\n'), nil
	case plain && f.At >= 0:
		dst = append(append(dst, f.Raw[:f.At]...), left...)
		return append(dst, f.Raw[f.At+len(f.Data):]...), nil
	}
	n := len(dst)
	dst = sse.Append(dst, name, left)
	if bytes.HasSuffix(f.Raw, []byte("\r\n")) { // all of a stream's lines end in the same way
		dst = append(dst[:n], bytes.ReplaceAll(dst[n:], []byte("\n"), []byte("\r\n"))...)
	}
	return dst, nil
}

// plain reports whether a frame has nothing except its data and one event name.
func (h *hiding) plain(f wire.Frame, name string) bool {
	if f.At < 0 {
		return false
	}
	before, after := f.Raw[:f.At], f.Raw[f.At+len(f.Data):]
	if h.shows.Framing == wire.NDJSON {
		return len(bytes.TrimSpace(before)) == 0 && len(bytes.TrimSpace(after)) == 0
	}
	if len(bytes.Trim(after, "\n")) > 0 {
		return false
	}
	before = bytes.TrimRight(before, " ")
	return string(before) == "data:" || name != "" &&
		(string(before) == "event: "+name+"\ndata:" || string(before) == "event:"+name+"\ndata:")
}

func (h *hiding) Whole(dst, body []byte, r wire.Reader) []byte {
	if !h.on {
		return h.reply.Whole(dst, body, r)
	}
	out := h.reply.Whole(nil, body, r)
	root := jsonedit.Parse(out)
	left, _, keep, err := h.shows.Body.reduce(out, root, nil)
	if err == nil && keep && h.isReply(jsonedit.Parse(left)) {
		return append(dst, left...)
	}
	r.Fail(cmp.Or(err, wire.ErrUnreadable))
	return dst
}

// isReply reports whether what is shown of a body is a reply of the API, or an error,
// or a list of such.
func (h *hiding) isReply(root gjson.Result) bool {
	if root.IsArray() {
		list := jsonedit.Members(root)
		return len(list) > 0 && !slices.ContainsFunc(list, func(m jsonedit.Member) bool { return !h.isReply(m.Value) })
	}
	return says(root.Get("error")) ||
		slices.ContainsFunc(h.shows.Needs, func(name string) bool { return root.Get(name).Exists() })
}

// Of returns what is shown of some JSON; ok is false if nothing is.
func (s *Value) Of(data []byte) (shown []byte, ok bool) {
	shown, _, keep, err := s.reduce(data, jsonedit.Parse(data), nil)
	return shown, keep && err == nil
}

// Read returns what is shown of some JSON, with its texts as read returns them. ok is false
// if nothing is.
func (s *Value) Read(data []byte, read Read) (shown []byte, ok bool, err error) {
	shown, _, ok, err = s.reduce(data, jsonedit.Parse(data), read)
	return shown, ok && err == nil, err
}

// reduce returns what is shown of some JSON, and whether that is all of it. keep is false
// if nothing is shown.
func (s *Value) reduce(data []byte, v gjson.Result, read Read) (shown []byte, same, keep bool, err error) {
	p := pruner{read: read}
	if keep, err = p.value(s, "", v, gjson.Result{}); err != nil || !keep {
		return nil, false, false, err
	}
	if len(p.edits) == 0 {
		return data, true, true, nil
	}
	return jsonedit.Splice(nil, data, p.edits), false, true, nil
}

// Error returns what is shown of the body of a response that is an error; ok is
// false if it is not an error in any API's form.
func Error(body []byte) (shown []byte, ok bool) {
	f, ok := chatjson.Readable(wire.Frame{Data: body})
	root := jsonedit.Parse(f.Data)
	if !ok || !root.IsObject() {
		return nil, false
	}
	shown, ok = ErrorBody.Of(f.Data)
	return shown, ok && len(jsonedit.Members(jsonedit.Parse(shown))) > 0
}
