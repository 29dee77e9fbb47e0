package responses

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// An item is one of the output as it is written.
type item struct {
	kind    itemKind
	ours    bool   // the upstream has no such item
	index   int    // -1 while the client does not have it
	id      string // with its quotes
	members string // of one that the upstream has
	status  string // of one that has ended, if the members have none
	call    *wire.Event
	text    []byte // the arguments of a call of ours
	picture []byte // the members of a picture of ours
	sealed  string // JSON: the encrypted content of a thought of ours; may be empty
	parts   []*part
	calls   bool // there were calls in its texts
	ended   bool
	whole   bool // it is part of a whole response, which may be under way
}

// A part is a text of an item.
type part struct {
	item         *item
	kind         partKind
	index        int // among those of its list
	number       int // that of the events that bring it
	from         string
	text         []byte
	members      string // beside the text, at its end
	begun, ended bool
	run          *part // the thought that stands in it and goes on
}

type partKind uint8

const (
	outputText partKind = iota
	refusalText
	reasoningText
	summaryText
)

// partKinds say how a kind of texts is written: the type and the member of its part, and
// the names of its events.
var partKinds = [...]struct{ kind, member, part, text, index string }{
	outputText:    {"output_text", "text", "response.content_part", "response.output_text", "content_index"},
	refusalText:   {"refusal", "refusal", "response.content_part", "response.refusal", "content_index"},
	reasoningText: {"reasoning_text", "text", "response.content_part", "response.reasoning_text", "content_index"},
	summaryText:   {"summary_text", "text", "response.reasoning_summary_part", "response.reasoning_summary_text", "summary_index"},
}

// beginShown begins an item of the upstream's. raw are its members; none if it is not shown.
func (w *writer) beginShown(number int, raw string) {
	for _, it := range slices.Clone(w.waits) { // they stand before it
		w.openItem(it)
	}
	members := jsonedit.Parse([]byte(raw))
	it := &item{kind: sealedItem, index: -1, members: raw, whole: w.whole}
	prefix := "item_sotto_"
	switch kind := members.Get("type").Str; kind {
	case "":
		w.shown[number] = &item{kind: hiddenItem, index: -1, ended: true}
		return
	case "message":
		it.kind, prefix = messageItem, messageID
	case "reasoning":
		it.kind, prefix = thoughtItem, thoughtID
	case "function_call":
		prefix = callID
	}
	if it.id = members.Get("id").Raw; members.Get("id").Str == "" || w.ids[it.id] {
		it.id = w.mintID(prefix)
	}
	w.ids[it.id] = true
	w.shown[number] = it
	switch {
	case it.kind == messageItem:
		w.waits = append(w.waits, it)
	case it.kind == thoughtItem && w.hide: // it appears if it is needed
	default:
		w.openItem(it)
	}
}

// openItem gives an item its place, and begins its parts.
func (w *writer) openItem(it *item) {
	if it.index >= 0 {
		return
	}
	w.begin()
	if it.id == "" {
		it.id = w.mintID(messageID)
	}
	w.waits = slices.DeleteFunc(w.waits, func(o *item) bool { return o == it })
	it.index = len(w.items)
	w.items = append(w.items, it)
	w.objects++
	ended := it.ended
	it.ended = false // it begins, without its texts
	w.itemEvent("response.output_item.added", it)
	it.ended = ended
	for _, p := range it.parts {
		w.beginPart(p)
	}
}

func (w *writer) itemEvent(name string, it *item) {
	if w.whole {
		return
	}
	w.open(name)
	w.at(it.index)
	w.data = it.appendTo(append(w.data, `,"item":`...))
	w.close(name)
}

// endShown ends an item of the upstream's, with its members at the end.
func (w *writer) endShown(it *item, e *wire.Event) {
	if !it.ended {
		if e.Raw != "" {
			it.members = strings.Clone(e.Raw)
			if it.kind == thoughtItem {
				w.fillSlot(it, e.Index)
			}
			w.kept += len(it.members)
		}
		w.endItem(it, statusOf(e.End))
	}
}

// fillSlot puts what stands for a thought that the client does not see into its item.
func (w *writer) fillSlot(it *item, number int) {
	if w.slot == nil {
		return
	}
	text := w.slot(number)
	if text == "" {
		return
	}
	value := jsontext.AppendVerbatim(nil, text)
	members := jsonedit.Parse([]byte(it.members))
	if v := members.Get("encrypted_content"); v.Exists() {
		it.members = string(jsonedit.Splice(nil, []byte(it.members), []jsonedit.Edit{{Span: jsonedit.SpanOf(v), With: value}}))
		return
	}
	it.members = it.members[:len(it.members)-1] + `,"encrypted_content":` + string(value) + "}" // it has a type
}

// copied ends the thought under way with a copy as its encrypted content. Where the client does not
// see the thought, its item has nothing else.
func (w *writer) copied(e *wire.Event) {
	it := (*item)(nil)
	for _, p := range w.texts {
		if p.run != nil {
			it, p.run = p.run.item, nil
		}
	}
	if it == nil {
		it = w.mint(thoughtItem, thoughtID)
		w.openItem(it)
	}
	it.sealed = string(jsontext.AppendVerbatim(nil, e.Text))
	w.kept += len(it.sealed)
	w.endItem(it, "completed")
}

// endItem ends an item. One of which nothing is left but calls never appears, nor does a
// hidden thought that only its texts would need.
func (w *writer) endItem(it *item, status string) {
	if it.ended {
		return
	}
	it.ended, it.status = true, status
	for _, p := range it.parts {
		w.endRun(p, status)
	}
	if it.index < 0 {
		w.waits = slices.DeleteFunc(w.waits, func(o *item) bool { return o == it })
		if it.ours || it.onlyCalls() || it.kind == thoughtItem && !it.isSealed() {
			return
		}
		w.openItem(it)
	}
	for _, p := range it.parts {
		w.endPart(p)
	}
	if it.call != nil {
		w.arguments(it)
	}
	w.itemEvent("response.output_item.done", it)
}

// onlyCalls reports whether nothing is left of a message but its calls.
func (it *item) onlyCalls() bool {
	return it.kind == messageItem && it.calls && !slices.ContainsFunc(it.parts, func(p *part) bool { return len(p.text) > 0 })
}

// isSealed reports whether an item has something that only the provider can read.
func (it *item) isSealed() bool {
	return jsonedit.Parse([]byte(it.members)).Get("encrypted_content").Str != ""
}

// textOf returns the text of a choice. One that no item of the upstream's has gets a message
// of ours.
func (w *writer) textOf(choice int) *part {
	p := w.texts[choice]
	if p == nil || p.ended || p.item.ended {
		p = w.addPart(&item{kind: messageItem, ours: true, index: -1}, outputText)
		w.texts[choice] = p
	}
	return p
}

// refusalOf returns the refusal of a choice.
func (w *writer) refusalOf(choice int) *part {
	p := w.textOf(choice)
	if p.kind == refusalText {
		return p
	}
	for _, o := range p.item.parts {
		if o.kind == refusalText && !o.ended {
			return o
		}
	}
	return w.addPart(p.item, refusalText)
}

func (w *writer) addPart(it *item, kind partKind) *part {
	p := &part{item: it, kind: kind}
	for _, o := range it.parts {
		if (o.kind == summaryText) == (kind == summaryText) {
			p.index++
		}
	}
	it.parts = append(it.parts, p)
	w.objects++
	return p
}

// beginPartOf begins a part of a message, which ends those before it.
func (w *writer) beginPartOf(e *wire.Event) {
	if p := w.texts[e.Choice]; p != nil && p.item.ours { // what stood before it
		w.endItem(p.item, "completed")
	}
	delete(w.texts, e.Choice)
	it := w.shown[e.Index]
	if it == nil || it.kind != messageItem || it.ended {
		return
	}
	for _, p := range it.parts {
		if p.number == e.Part && !p.ended {
			w.texts[e.Choice] = p
			return
		}
	}
	if len(it.parts) > 0 && !it.onlyCalls() {
		for _, p := range it.parts {
			w.endRun(p, "completed")
		}
		w.openItem(it)
		for _, p := range it.parts {
			w.endPart(p)
		}
	}
	kind := outputText
	if jsonedit.Parse([]byte(e.Raw)).Get("type").Str == "refusal" {
		kind = refusalText
	}
	p := w.addPart(it, kind)
	p.number = e.Part
	w.texts[e.Choice] = p
	if it.index >= 0 {
		w.beginPart(p)
	}
}

// thoughtPart returns the text of a reasoning item that an event belongs to. A text begins
// when it says something, and then those before it have ended.
func (w *writer) thoughtPart(it *item, e *wire.Event) *part {
	for i := len(it.parts) - 1; i >= 0; i-- {
		if p := it.parts[i]; p.number == e.Part && !p.ended {
			return p
		}
	}
	w.flush()
	kind := reasoningText
	if e.Name == "summary" || w.summary && !slices.ContainsFunc(it.parts, func(p *part) bool { return p.from == "summary" }) {
		kind = summaryText
	}
	for _, p := range it.parts {
		w.endPart(p)
	}
	p := w.addPart(it, kind)
	p.number, p.from = e.Part, strings.Clone(e.Name)
	return p
}

// say writes a piece of a text.
func (w *writer) say(p *part, text []byte) {
	if len(text) == 0 {
		return
	}
	w.endRun(p, "completed")
	w.openItem(p.item)
	w.beginPart(p)
	p.text = append(p.text, text...)
	w.kept += len(text)
	if w.whole {
		return
	}
	name := partKinds[p.kind].text + ".delta"
	w.open(name)
	w.place(p)
	w.data = jsontext.AppendVerbatim(append(w.data, `,"delta":`...), text)
	if p.kind == outputText {
		w.data = appendTokens(w.data, w.tokens, text)
	}
	w.close(name)
}

// think writes a piece of a thought that stood in a text, as an item of ours.
func (w *writer) think(p *part, text []byte) {
	if p.run == nil {
		kind := reasoningText
		if w.summary {
			kind = summaryText
		}
		it := w.mint(thoughtItem, thoughtID)
		p.run = w.addPart(it, kind)
		w.openItem(it)
	}
	w.say(p.run, text)
}

func (w *writer) endRun(p *part, status string) {
	if p.run != nil {
		run := p.run
		p.run = nil
		w.endItem(run.item, status)
	}
}

func (w *writer) beginPart(p *part) {
	if !p.begun {
		p.begun = true
		w.partEvent(p, ".added", nil)
	}
}

// endPart ends a text of an item that the client has.
func (w *writer) endPart(p *part) {
	if p.ended {
		return
	}
	w.beginPart(p)
	p.ended = true
	if w.whole {
		return
	}
	how := &partKinds[p.kind]
	w.open(how.text + ".done")
	w.place(p)
	w.data = append(append(append(w.data, `,"`...), how.member...), `":`...)
	w.data = jsontext.AppendVerbatim(w.data, p.text)
	if p.kind == outputText {
		w.data = appendTokens(w.data, jsonedit.Parse([]byte(p.members)).Get("logprobs").Raw, p.text)
	}
	w.close(how.text + ".done")
	w.partEvent(p, ".done", p.text)
}

func (w *writer) partEvent(p *part, event string, text []byte) {
	if w.whole {
		return
	}
	name := partKinds[p.kind].part + event
	w.open(name)
	w.place(p)
	w.data = p.appendTo(append(w.data, `,"part":`...), text)
	w.close(name)
}

// place appends where an event of a part belongs.
func (w *writer) place(p *part) {
	w.data = append(append(w.data, `,"item_id":`...), p.item.id...)
	w.at(p.item.index)
	w.data = append(append(append(w.data, `,"`...), partKinds[p.kind].index...), `":`...)
	w.data = appendInt(w.data, p.index)
}

// call writes a call that the model wrote into its text, or one of another API's reply.
func (w *writer) call(e *wire.Event) {
	switch {
	case e.Index < 0:
		p := w.textOf(e.Choice)
		w.endRun(p, "completed")
		p.item.calls = true
		w.endItem(w.callItem(e), "completed")
	case w.shown[e.Index] != nil: // its members say it
	default:
		key := [2]int{e.Choice, e.Index}
		it := w.own[key]
		if it == nil {
			it = w.callItem(&wire.Event{ID: e.ID, Name: e.Name, Text: e.Text, Free: e.Free, Space: e.Space})
			w.own[key] = it
			return
		}
		if it.ended || len(e.Text) == 0 {
			return
		}
		it.text = append(it.text, e.Text...)
		w.kept += len(e.Text)
		w.piece(it, e.Text)
	}
}

// A callKind says how a call is written: the type of its item, the member of its arguments, and what the
// names of its events begin with.
type callKind struct{ kind, member, event string }

func callKindOf(free bool) callKind {
	if free {
		return callKind{"custom_tool_call", "input", "response.custom_tool_call_input"}
	}
	return callKind{"function_call", "arguments", "response.function_call_arguments"}
}

// callItem begins a call of ours.
func (w *writer) callItem(e *wire.Event) *item {
	it := w.mint(sealedItem, callID)
	it.call = &wire.Event{ID: strings.Clone(word(e.ID)), Name: strings.Clone(e.Name), Free: e.Free, Space: e.Space}
	if it.call.ID == "" {
		it.call.ID = strings.Trim(it.id, `"`)
	}
	w.openItem(it)
	it.text = append(it.text, e.Text...)
	w.kept += len(e.Text)
	w.piece(it, e.Text)
	return it
}

// piece writes a piece of the arguments of a call of ours.
func (w *writer) piece(it *item, text []byte) {
	if !w.whole && len(text) > 0 {
		name := callKindOf(it.call.Free).event + ".delta"
		w.open(name)
		w.data = append(append(w.data, `,"item_id":`...), it.id...)
		w.at(it.index)
		w.data = jsontext.AppendVerbatim(append(w.data, `,"delta":`...), text)
		w.close(name)
	}
}

// arguments writes the event that ends the arguments of a call of ours.
func (w *writer) arguments(it *item) {
	if w.whole {
		return
	}
	how := callKindOf(it.call.Free)
	name := how.event + ".done"
	w.open(name)
	w.data = append(append(w.data, `,"item_id":`...), it.id...)
	w.at(it.index)
	w.data = append(append(append(w.data, `,"`...), how.member...), `":`...)
	w.data = jsontext.AppendVerbatim(w.data, it.text)
	if !it.call.Free {
		w.data = jsontext.AppendVerbatim(append(w.data, `,"name":`...), it.call.Name)
	}
	w.close(name)
}

// appendTokens appends the log probabilities of a text, if they spell it.
func appendTokens(dst []byte, tokens string, text []byte) []byte {
	if tokens != "" {
		if left := shown.Probabilities([]byte(tokens), text); left[0] == '[' {
			return append(append(dst, `,"logprobs":`...), left...)
		}
	}
	return append(dst, `,"logprobs":[]`...)
}

// appendTo appends the part as JSON with a text.
func (p *part) appendTo(dst, text []byte) []byte {
	how := &partKinds[p.kind]
	dst = append(append(append(dst, `{"type":"`...), how.kind...), `","`...)
	dst = jsontext.AppendVerbatim(append(append(dst, how.member...), `":`...), text)
	if p.kind != outputText {
		return append(dst, '}')
	}
	notes, tokens := gjson.Result{}, ""
	if p.ended {
		notes = jsonedit.Parse([]byte(p.members)).Get("annotations")
		tokens = jsonedit.Parse([]byte(p.members)).Get("logprobs").Raw
	}
	if notes.IsArray() {
		dst = append(append(dst, `,"annotations":`...), notes.Raw...)
	} else {
		dst = append(dst, `,"annotations":[]`...)
	}
	return append(appendTokens(dst, tokens, text), '}')
}
