package responses

import (
	"cmp"
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/turn"
)

// writeInput writes the messages as items, or a user's only text as a text.
func writeInput(o *jsonwrite.Object, q *turn.Request, messages []turn.Message) error {
	if len(messages) == 1 {
		m := &messages[0]
		if m.Role == turn.User && m.Name == "" && len(m.Parts) == 1 && isPlain(&m.Parts[0]) && !m.Extra.Of(apiName) {
			o.Text("input", m.Parts[0].Text)
			return nil
		}
	}
	w := &itemWriter{ids: newIDs(messages, q.Sealed), free: map[string]bool{}}
	for i := range messages {
		if err := w.message(&messages[i]); err != nil {
			return err
		}
	}
	if !w.items.Empty() {
		o.List("input", w.items)
	}
	return nil
}

// An itemWriter writes the items of a request.
type itemWriter struct {
	items jsonwrite.List
	ids   *madeIDs
	made  int             // items of ours
	free  map[string]bool // by the ids of calls: whether the tool takes a text
}

// message writes the items of a message, in the order of its parts.
func (w *itemWriter) message(m *turn.Message) error {
	if _, known := itemRoles[string(m.Role)]; !known && m.Role != turn.ToolRole {
		return turn.At(unsupported("a message of the role "+strconv.Quote(string(m.Role))), m.Extra.Path)
	}
	if m.Name != "" {
		return turn.At(unsupported("the name of a message's author"), m.Extra.Path)
	}
	extra := &m.Extra // of the first item that is a message: its id is in it
	from := 0
	content := func(to int) error {
		if from == to && len(m.Parts) > 0 || m.Role == turn.ToolRole && len(m.Parts) == 0 {
			return nil
		}
		err := w.content(m.Role, m.Parts[from:to], extra)
		extra = &turn.Extra{}
		return err
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		write := w.itemOf(p, m.Role)
		if write == nil {
			continue
		}
		if err := content(i); err != nil {
			return err
		}
		if err := write(p); err != nil {
			return err
		}
		from = i + 1
	}
	return content(len(m.Parts))
}

// itemOf returns what writes a part that is an item, or nil if the part is one of a message's
// content.
func (w *itemWriter) itemOf(p *turn.Part, role turn.Role) func(*turn.Part) error {
	switch {
	case p.Kind == turn.Thought:
		return w.thought
	case p.Kind == turn.Call:
		return w.call
	case p.Kind == turn.Result:
		return w.result
	case p.Kind == turn.Image && role == turn.Assistant && (p.Media.Data != "" || isWhole(p)):
		return w.picture
	case p.Kind == turn.Other && p.Name == wholeItem && isWhole(p):
		return func(p *turn.Part) error {
			w.items.Raw(p.Extra.Whole)
			return nil
		}
	}
	return nil
}

func isWhole(p *turn.Part) bool { return p.Extra.API == apiName && p.Extra.Whole != "" }

// content writes a message. A text alone is a text, but not of an assistant: some servers read
// that as one of a user's.
func (w *itemWriter) content(role turn.Role, parts []turn.Part, extra *turn.Extra) error {
	if role == turn.ToolRole {
		return unsupported("a text in a tool's message, beside results")
	}
	var o jsonwrite.Object
	o.Text("type", "message")
	o.Text("role", string(role))
	if len(parts) == 1 && isPlain(&parts[0]) && role != turn.Assistant {
		o.Text("content", parts[0].Text)
	} else {
		list, err := partsOf(parts, role)
		if err != nil {
			return err
		}
		o.List("content", list)
	}
	extra.Write(&o, apiName)
	w.items.Object(o)
	return nil
}

// thought writes a reasoning item: as it came, or with an id of ours if it has none.
func (w *itemWriter) thought(p *turn.Part) error {
	id := w.ids.ofThought(p.ID)
	if isWhole(p) {
		w.items.Raw(p.Extra.Whole)
		return nil
	}
	if p.Signature != "" {
		return unsupported("the signature of a thought")
	}
	var o jsonwrite.Object
	o.Text("type", "reasoning")
	o.Text("id", id)
	kind, member, other := "reasoning_text", "content", "summary"
	if p.Summary {
		kind, member, other = "summary_text", "summary", ""
	}
	if p.Text != "" || p.Summary {
		var part jsonwrite.Object
		var list jsonwrite.List
		part.Text("type", kind)
		part.Text("text", p.Text)
		list.Object(part)
		o.List(member, list)
	}
	if other != "" { // the API wants it always
		o.Raw(other, "[]")
	}
	text(&o, "encrypted_content", p.Sealed)
	p.Extra.Write(&o, apiName)
	w.items.Object(o)
	return nil
}

func (w *itemWriter) call(p *turn.Part) error {
	if p.Signature != "" {
		return unsupported("the signature of a call")
	}
	id := w.ids.call(p.ID, p.Name)
	kind, arguments := "function_call", "arguments"
	if p.Free {
		kind, arguments = "custom_tool_call", "input"
		w.free[id] = true
	}
	var o jsonwrite.Object
	o.Text("type", kind)
	o.Text("call_id", id)
	text(&o, "namespace", p.Space)
	o.Text("name", p.Name)
	o.Text(arguments, p.Arguments)
	p.Extra.Write(&o, apiName)
	w.items.Object(o)
	return nil
}

func (w *itemWriter) result(p *turn.Part) error {
	id := w.ids.result(p.ID, p.Name)
	if isWhole(p) {
		w.items.Raw(p.Extra.Whole)
		return nil
	}
	var o jsonwrite.Object
	kind := "function_call_output"
	// Other APIs do not say which tool a result is of.
	if p.Free || p.Extra.API != apiName && w.free[id] {
		kind = "custom_tool_call_output"
	}
	o.Text("type", kind)
	o.Text("call_id", id)
	switch {
	case len(p.Results) == 0:
		o.Text("output", "")
	case len(p.Results) == 1 && isPlain(&p.Results[0]):
		o.Text("output", p.Results[0].Text)
	default:
		list, err := partsOf(p.Results, turn.ToolRole)
		if err != nil {
			return err
		}
		o.List("output", list)
	}
	if p.Failed {
		o.Text("status", failedResult)
	}
	p.Extra.Write(&o, apiName)
	w.items.Object(o)
	return nil
}

// partsOf writes the parts of a message of a role, or of a tool's result.
func partsOf(parts []turn.Part, role turn.Role) (list jsonwrite.List, err error) {
	for i := range parts {
		p := &parts[i]
		if isWhole(p) {
			list.Raw(p.Extra.Whole)
			continue
		}
		o, what := partOf(p, role)
		if what != "" {
			return list, turn.At(unsupported(what), p.Extra.Path)
		}
		p.Extra.Write(&o, apiName)
		list.Object(o)
	}
	return list, nil
}

// partOf writes a part, or says what it is if it has no place there.
func partOf(p *turn.Part, role turn.Role) (o jsonwrite.Object, what string) {
	where := " in a message of the " + string(role) + "'s"
	if role == turn.ToolRole {
		where = " in a tool's result"
	}
	switch {
	case p.Signature != "":
		return o, "a signature" + where
	case p.Kind == turn.Text:
		o.Text("type", textType(role))
		o.Text("text", p.Text)
		return o, ""
	case p.Kind == turn.Refusal && role == turn.Assistant:
		o.Text("type", "refusal")
		o.Text("refusal", p.Text)
		return o, ""
	case p.Kind == turn.Refusal:
		return o, "a refusal" + where
	case p.Kind == turn.Image && role != turn.Assistant:
		what = writeImage(&o, &p.Media)
		return o, what
	case p.Kind == turn.File && role != turn.Assistant:
		what = writeFile(&o, &p.Media)
		return o, what
	case p.Kind == turn.Audio && role != turn.Assistant && role != turn.ToolRole:
		what = writeAudio(&o, &p.Media)
		return o, what
	}
	kinds := map[turn.Kind]string{turn.Image: "an image", turn.Audio: "a sound", turn.Video: "a video", turn.File: "a file"}
	return o, cmp.Or(kinds[p.Kind], "a part that only "+cmp.Or(p.Extra.API, "another API")+" has") + where
}

func writeImage(o *jsonwrite.Object, m *turn.Media) (what string) {
	o.Text("type", "input_image")
	switch {
	case m.Name != "":
		return "the name of an image"
	case m.Data != "":
		o.Text("image_url", dataURL(m))
	case m.URL == "" && m.ID == "":
		return "an image without data"
	default:
		text(o, "image_url", m.URL)
	}
	text(o, "file_id", m.ID)
	text(o, "detail", m.Detail)
	return ""
}

func writeFile(o *jsonwrite.Object, m *turn.Media) (what string) {
	o.Text("type", "input_file")
	data := m.Data
	if data != "" && m.Type != "" {
		data = dataURL(m)
	}
	if data == "" && m.URL == "" && m.ID == "" {
		return "a file without data"
	}
	text(o, "file_data", data)
	text(o, "file_url", m.URL)
	text(o, "file_id", m.ID)
	text(o, "filename", m.Name)
	text(o, "detail", m.Detail)
	return ""
}

func writeAudio(o *jsonwrite.Object, m *turn.Media) (what string) {
	if m.Data == "" {
		return "a sound without data"
	}
	var in jsonwrite.Object
	in.Text("data", m.Data)
	in.Text("format", audioFormat(m.Type))
	o.Text("type", "input_audio")
	o.Object("input_audio", in)
	return ""
}

func dataURL(m *turn.Media) string { return "data:" + m.Type + ";base64," + m.Data }
