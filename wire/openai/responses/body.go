package responses

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// Whole reads the items in the same way as a stream of them.
func (y *reply) Whole(dst, body []byte, r wire.Reader) []byte {
	root := jsonedit.Parse(body)
	output := root.Get("output")
	if !output.IsArray() {
		return append(dst, body...)
	}
	y.r, y.mute, y.ended = r, true, true
	y.id = strings.Clone(root.Get("id").Str)
	end := endOf(root, "")
	if status := root.Get("status").Str; status == "queued" || status == "in_progress" {
		end = sotto.EndAborted // it is made in the background, and more will come
	}
	items := output.Array()
	for i, item := range items {
		y.wholeItem(item, i, endOfNth(i, len(items), end))
	}
	y.finish(end)
	y.body(root, end) // a failure is noted, and the reply refused
	y.foundResponse(root, end)
	y.r = nil
	return jsonedit.Splice(dst, body, y.edits)
}

// endOfNth returns the end of the i-th of n items: all except the last
// continued.
func endOfNth(i, n int, end sotto.Ending) sotto.Ending {
	if i < n-1 {
		return sotto.EndStopped
	}
	return end
}

// wholeItem reads an item that came in one piece, as the i-th of the output.
func (y *reply) wholeItem(item gjson.Result, i int, end sotto.Ending) *outputItem {
	if !slices.ContainsFunc(y.items, func(it *outputItem) bool { return it.output == i }) {
		defer y.foundItem(item, i)
	}
	it := &outputItem{kind: kindOf(item), output: i, client: -1, id: []byte(item.Get("id").Raw)}
	y.items = append(y.items, it)
	switch {
	case it.kind == messageItem:
		y.wholeMessage(item, it, end)
		if it.done = true; it.onlyCalls() {
			y.leave(it)
			return it
		}
	case it.kind == thoughtItem:
		y.appear(it)
		y.readThought(item, it)
	}
	y.appear(it)
	return it
}

func (y *reply) wholeMessage(item gjson.Result, it *outputItem, end sotto.Ending) {
	content := item.Get("content").Array()
	for i, c := range content {
		if c.Get("type").Str != "output_text" {
			y.foundPart(c, i)
			y.appear(it)
			continue
		}
		p := y.part(it, i)
		y.late(it, p, y.decode(c.Get("text")))
		y.endPart(it, p, endOfNth(i, len(content), end))
		if !it.onlyCalls() {
			y.appear(it)
		}
	}
}

// body makes the edits of a whole response. If the response ends a stream, its
// items are matched with those that the client has seen, by their order among those
// of their kind, because some servers change ids and indices.
//
// It returns false if the reply must not end well.
func (y *reply) body(response gjson.Result, end sotto.Ending) bool {
	list := jsonedit.Members(response.Get("output"))
	if !response.Get("output").IsArray() {
		list = nil
	}
	items := y.match(list, end)
	all := response.Get("output_text") // what SDKs make of the texts; some servers send it
	var alone []byte
	if len(list) == 0 && len(y.items) == 0 {
		alone = y.readAlone(y.decode(all), end)
	}
	if !y.answer(end) {
		return false
	}
	text, changed := y.output(list, items)
	if len(list) == 0 {
		text, changed = y.fill(response.Get("output"))
		if !changed {
			text = append(alone, y.saidTexts()...)
		}
	}
	if (changed || !y.believes()) && all.Type == gjson.String && !bytes.Equal(y.decode(all), text) {
		y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.SpanOf(all), With: jsontext.AppendVerbatim(nil, text)})
	}
	y.edits = append(y.edits, usageEdits(response, y.set.Keep, y.r)...)
	return true
}

// readAlone reads the text of a response that has it nowhere else, and returns what the
// client may have of it. There is no place for its thoughts.
func (y *reply) readAlone(text []byte, end sotto.Ending) (said []byte) {
	if len(text) == 0 {
		return nil
	}
	choice := y.choices
	y.choices++
	take := func(parts []wire.Part) {
		for _, part := range parts {
			if part.Place != wire.Reasoning && part.Place != wire.Call {
				said = append(said, part.Text...)
			}
		}
	}
	take(y.r.Found(wire.Event{Kind: wire.EventText, Choice: choice, Text: text}))
	take(y.r.Close(choice, end))
	return said
}

// saidTexts returns the texts of the messages that the client has seen.
func (y *reply) saidTexts() (text []byte) {
	for _, it := range y.items {
		if it.kind == messageItem {
			for _, p := range it.parts {
				text = append(text, p.text...)
			}
		}
	}
	return text
}

// unseen reports whether a final output has messages, or the text of one, that the stream did
// not show.
func (y *reply) unseen(response gjson.Result) bool {
	n, bare := 0, false
	for _, it := range y.items {
		if it.kind == messageItem {
			n--
			bare = bare || len(it.parts) == 0
		}
	}
	for _, item := range response.Get("output").Array() {
		if kindOf(item) == messageItem {
			n++
			if bare && item.Get(`content.#(type=="output_text").text`).Str != "" {
				return true
			}
		}
	}
	return n > 0
}

// match finds the items of a final output. Items that the stream did not show are
// read now.
func (y *reply) match(list []jsonedit.Member, end sotto.Ending) []*outputItem {
	var of [itemKinds][]*outputItem
	for _, it := range y.items {
		of[it.kind] = append(of[it.kind], it)
	}
	y.mute = true
	items := make([]*outputItem, len(list))
	for i, m := range list {
		kind := kindOf(m.Value)
		if len(of[kind]) > 0 {
			items[i], of[kind] = of[kind][0], of[kind][1:]
			if kind == messageItem {
				y.readRest(m.Value, items[i], endOfNth(i, len(list), end))
			}
			continue
		}
		items[i] = y.wholeItem(m.Value, i, endOfNth(i, len(list), end))
	}
	y.closeInline(end)
	return items
}

// readRest reads the texts of a message that the stream did not show.
func (y *reply) readRest(item gjson.Result, it *outputItem, end sotto.Ending) {
	texts, shown := 0, len(it.parts)
	for _, part := range item.Get("content").Array() {
		if part.Get("type").Str == "output_text" {
			texts++
		}
	}
	if texts <= shown {
		return
	}
	y.lateItem(it, item)
	for _, p := range it.parts[shown:] {
		y.endPart(it, p, end)
	}
}

// output makes the edits of an output: the texts of its items, and our items
// between them in the order of the client's indices. It returns the text of its
// messages, and whether anything changed.
func (y *reply) output(list []jsonedit.Member, items []*outputItem) (text []byte, changed bool) {
	if len(list) == 0 {
		return nil, false
	}
	from := len(y.edits)
	mints := slices.SortedFunc(slices.Values(y.mints), func(a, b *mint) int { return a.index - b.index })
	left := func(i int) bool { return items[i].client < 0 } // only calls were in it
	last := -1                                              // the last item of the upstream that stays
	for i, m := range list {
		if left(i) {
			continue
		}
		last = i
		for len(mints) > 0 && mints[0].index < items[i].client {
			text = y.insert(m.At, mints[0], "", ",", text)
			mints = mints[1:]
		}
		text = y.editItem(m.Value, items[i], text)
	}
	for i, m := range mints {
		switch {
		case last >= 0:
			text = y.insert(list[last].End(), m, ",", "", text)
		case i == 0:
			text = y.insert(list[0].At, m, "", "", text)
		default:
			text = y.insert(list[0].At, m, ",", "", text)
		}
	}
	y.edits = jsonedit.Cut(y.edits, list, left)
	return text, len(y.edits) > from
}

// fill puts items of ours into an empty output, if the answer is among them, or if the
// reply was cut. Some servers end a stream with an empty output, after they have shown
// its items.
func (y *reply) fill(output gjson.Result) (text []byte, changed bool) {
	if !output.IsArray() || !y.answered && !y.cut {
		return nil, false
	}
	at, between := output.Index+1, ""
	for _, m := range slices.SortedStableFunc(slices.Values(y.mints), func(a, b *mint) int { return a.index - b.index }) {
		text = y.insert(at, m, between, "", text)
		between = ","
	}
	return text, true
}

func (y *reply) insert(at int, m *mint, before, behind string, text []byte) []byte {
	with := append(m.appendTo([]byte(before)), behind...)
	y.edits = append(y.edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: with})
	if m.message {
		text = append(text, m.text...)
	}
	return text
}

// editItem edits an item of a final output, and appends its text to text.
func (y *reply) editItem(item gjson.Result, it *outputItem, text []byte) []byte {
	switch it.kind {
	case thoughtItem:
		y.editThought(item, it)
	case messageItem:
		y.editMessage(item, it)
		n := 0
		for _, part := range item.Get("content").Array() {
			if part.Get("type").Str != "output_text" {
				continue
			}
			if n < len(it.parts) && (it.parts[n].changed || !y.believes()) {
				text = append(text, it.parts[n].text...)
			} else {
				text = append(text, y.decode(part.Get("text"))...)
			}
			n++
		}
	}
	return text
}

// usageEdits say how many tokens of a response were reasoning, if the upstream does
// not. The number is an estimate from the share of bytes, and is marked as one.
func usageEdits(response gjson.Result, keep bool, r wire.Reader) []jsonedit.Edit {
	u := response.Get("usage")
	total := u.Get("output_tokens")
	details := u.Get("output_tokens_details")
	if keep || !u.IsObject() || total.Type != gjson.Number || details.Get("reasoning_tokens").Exists() {
		return nil
	}
	reasoning, all := r.Share()
	if reasoning <= 0 || all <= 0 {
		return nil
	}
	n := int64(math.Round(total.Num * float64(reasoning) / float64(all)))
	said := `"reasoning_tokens":` + strconv.FormatInt(n, 10) + `,"reasoning_tokens_estimated":true`
	span := jsonedit.Span{Start: u.Index + 1, End: u.Index + 1}
	switch {
	case details.IsObject() && len(jsonedit.Members(details)) > 0:
		span = jsonedit.Span{Start: details.Index + 1, End: details.Index + 1}
		said += ","
	case details.Exists():
		span, said = jsonedit.SpanOf(details), "{"+said+"}"
	default:
		said = `"output_tokens_details":{` + said + "},"
	}
	return []jsonedit.Edit{{Span: span, With: []byte(said)}}
}
