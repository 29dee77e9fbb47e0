package responses

import (
	"errors"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/shown"
)

// Writer returns the writer of a reply.
func (codec) Writer(s wire.Settings) wire.Writer {
	return &writer{
		hide: s.Hide, slot: s.Slot, summary: summaries(s), own: map[[2]int]*item{},
		shown: map[int]*item{}, texts: map[int]*part{}, ids: map[string]bool{},
	}
}

// A writer writes one reply from events.
//
// An item gets its place when the client sees it first. A message waits for its first text,
// so that the thoughts that stood before that text stand before the message. A thought that
// comes later is an item after it: clients keep items by their index or id, and none needs
// an item to end before the next begins. All that the API repeats at an end is made of the
// texts that were written.
type writer struct {
	hide    bool
	slot    func(index int) string // see [wire.Settings]
	summary bool                   // reasoning is summary text
	whole   bool                   // there are no events

	next  int              // the number of the next event
	items []*item          // those that the client has, by their index
	waits []*item          // messages that it does not have yet
	shown map[int]*item    // those of the upstream, by the Index of their events
	own   map[[2]int]*item // calls of another API's reply, by their choice and number
	texts map[int]*part    // the texts of messages, by their choice
	ids   map[string]bool  // of the upstream's items
	mints int              // items of ours

	state, last  string // the members of the response, at its beginning and at its end
	model        wire.Event
	usage        *wire.Usage // that another API's server gave
	made         string      // the id of the response, if it has none
	begun, ended bool
	finish       wire.Event // why it ended
	ends         bool
	complete     bool
	fault        string
	to           *part  // to which the text belongs that waits for the end of its run
	thinks       bool   // … as a thought that stood in it
	said         []byte // the text
	tokens       string // … and its log probabilities
	out, data    []byte
	kept         int // bytes of texts and members
	objects      int // items and parts
}

func (w *writer) Frames(dst []byte, events []wire.Event) []byte {
	w.out = dst
	w.write(events)
	switch {
	case w.complete && !w.ended:
		w.end()
	case w.fault != "" && !w.ended:
		w.endItems("incomplete")
		w.open("error")
		w.data = appendFault(w.data, w.fault)
		w.close("error")
		w.ended = true
	}
	out := w.out
	w.out = nil
	return out
}

func (w *writer) Whole(dst []byte, events []wire.Event) []byte {
	w.whole = true
	w.write(events)
	if w.fault != "" && !w.ends && len(w.items) == 0 {
		return append(dst, w.fault...)
	}
	w.endItems(statusOf(w.finish.End))
	return w.appendResponse(dst, w.status(), true)
}

// Fail ends the items that are open, so that a client has what it got of them.
func (w *writer) Fail(dst []byte, err error) []byte {
	if w.ended {
		return dst
	}
	w.out = dst
	w.endItems("incomplete")
	w.open("error")
	code := "upstream_error"
	if f, ok := errors.AsType[*wire.Fault](err); ok {
		code = schema.CodeOf(f)
	}
	w.data = appendError(w.data, code, err.Error())
	w.close("error")
	w.ended = true
	out := w.out
	w.out = nil
	return out
}

func (w *writer) KeepAlive(dst []byte) []byte { return sse.AppendComment(dst, "keep-alive") }

// write takes events. Pieces of one text that follow each other are one piece.
func (w *writer) write(events []wire.Event) {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case wire.EventText, wire.EventNarration:
			w.writePart(w.textOf(e.Choice), false, e.Text)
			continue
		case wire.EventThought:
			w.thought(e)
			continue
		case wire.EventMembers:
			if e.Name == wire.MembersOfTokens {
				w.tokens = e.Raw
				continue
			}
		}
		w.flush()
		w.event(e)
	}
	w.flush()
}

// writePart adds a piece of a text, or of a thought that stood in it.
func (w *writer) writePart(p *part, thinks bool, text []byte) {
	if len(text) == 0 {
		return
	}
	if p != w.to || thinks != w.thinks {
		w.flush()
	}
	w.to, w.thinks = p, thinks
	w.said = append(w.said, text...)
}

// thought adds a piece of reasoning to the item of it, or to one of ours beside the text
// that it stood in.
func (w *writer) thought(e *wire.Event) {
	it := w.shown[e.Index]
	if it == nil || it.kind != thoughtItem || it.ended || e.Name != "content" && e.Name != "summary" {
		w.writePart(w.textOf(e.Choice), true, e.Text)
		return
	}
	w.writePart(w.thoughtPart(it, e), false, e.Text)
}

// flush writes the text that waits for the end of its run.
func (w *writer) flush() {
	if p := w.to; p != nil {
		if w.thinks {
			w.think(p, w.said)
		} else {
			w.say(p, w.said)
		}
	}
	if cap(w.said) > largeText {
		w.said = nil
	}
	w.to, w.said, w.tokens = nil, w.said[:0], ""
}

// largeText is the capacity above which a buffer is not kept for later frames.
const largeText = 16 << 10

func (w *writer) event(e *wire.Event) {
	switch e.Kind {
	case wire.EventRefusal:
		w.say(w.refusalOf(e.Choice), e.Text)
	case wire.EventMember: // the end of a text beside those of the reply
		if e.Name == "refusal" {
			w.say(w.refusalOf(e.Choice), e.Text)
		}
	case wire.EventSlot:
		w.copied(e)
	case wire.EventCall:
		w.call(e)
	case wire.EventPicture:
		w.picture(e)
	case wire.EventMembers:
		w.members(e)
	case wire.EventModel:
		w.model = wire.Event{Name: strings.Clone(e.Name), ID: strings.Clone(e.ID)}
	case wire.EventUsage:
		u := e.Usage
		w.usage = &u
	case wire.EventFault:
		w.fault = strings.Clone(e.Raw)
	case wire.EventFinish:
		if !w.ends || e.End != sotto.EndStopped { // one of several choices that was cut
			w.finish = wire.Event{Name: strings.Clone(e.Name), End: e.End}
		}
		w.ends = true
	case wire.EventEnd:
		w.complete = true
	}
}

// members takes members that only the API has.
func (w *writer) members(e *wire.Event) {
	switch {
	case e.Name == wire.MembersOfReply && e.Whole:
		w.last = strings.Clone(e.Raw)
	case e.Name == wire.MembersOfReply:
		w.state = strings.Clone(e.Raw)
		w.progress()
	case e.Name == wire.MembersOfItem && e.Whole:
		if it := w.shown[e.Index]; it != nil {
			w.endShown(it, e)
		}
	case e.Name == wire.MembersOfItem:
		w.beginShown(e.Index, strings.Clone(e.Raw))
	case e.Name == wire.MembersOfPart && e.Whole:
		if p := w.texts[e.Choice]; p != nil && !p.ended {
			p.members = strings.Clone(e.Raw)
			w.kept += len(e.Raw)
			w.endRun(p, statusOf(e.End))
		}
	case e.Name == wire.MembersOfPart:
		w.beginPartOf(e)
	case e.Name == wire.MembersOfEvent:
		w.otherEvent(e)
	}
}

// progress writes an event about the response before its end.
func (w *writer) progress() {
	status := jsonedit.Parse([]byte(w.state)).Get("status").Str
	if !w.begun {
		w.begin()
		return
	}
	name := "response.in_progress"
	if status == "queued" {
		name = "response.queued"
	}
	w.response(name, "in_progress")
}

// begin writes the event that begins a response.
func (w *writer) begin() {
	if w.begun || w.whole {
		return
	}
	w.begun = true
	w.response("response.created", "in_progress")
}

// response writes an event with the response as it is now.
func (w *writer) response(name, status string) {
	if w.whole {
		return
	}
	if said := jsonedit.Parse([]byte(w.state)).Get("status").Str; said != "" && status == "in_progress" {
		status = said
	}
	w.open(name)
	w.data = w.appendResponse(append(w.data, `,"response":`...), status, status != "in_progress" && status != "queued")
	w.close(name)
}

// end ends the response.
func (w *writer) end() {
	w.begin()
	w.endItems(statusOf(w.finish.End))
	status := w.status()
	name := status
	if !endings[name] {
		name = "completed"
	}
	w.ended = true
	w.open("response." + name)
	w.data = w.appendResponse(append(w.data, `,"response":`...), status, true)
	w.close("response." + name)
}

// endings are the statuses that a response may end with.
var endings = map[string]bool{"completed": true, "incomplete": true, "failed": true, "cancelled": true}

// status returns the API's word for how the response ended.
func (w *writer) status() string {
	switch name := w.finish.Name; {
	case endings[name], name == "queued", name == "in_progress":
		return name
	case w.fault != "":
		return "failed"
	case w.finish.End == sotto.EndCut, w.finish.End == sotto.EndAborted:
		return "incomplete"
	}
	return "completed"
}

// endItems ends all items that are open. Messages that never got a text are there too.
func (w *writer) endItems(status string) {
	for _, it := range slices.Clone(w.waits) {
		w.endItem(it, status)
	}
	for i := 0; i < len(w.items); i++ { // an end may add one
		w.endItem(w.items[i], status)
	}
}

// otherEvent writes an event about an item that is shown.
func (w *writer) otherEvent(e *wire.Event) {
	it := w.shown[e.Index]
	if it == nil || it.ended || w.whole {
		return
	}
	w.openItem(it)
	list := jsonedit.Members(jsonedit.Parse([]byte(e.Raw)))
	name := list[0].Value.Str
	w.open(name)
	w.data = append(append(w.data, `,"item_id":`...), it.id...)
	w.at(it.index)
	for _, m := range list[1:] {
		w.data = append(append(append(w.data, `,"`...), m.Key...), `":`...)
		w.data = append(w.data, m.Value.Raw...)
	}
	w.close(name)
}

// word returns a word of the upstream's, or none.
func word(s string) string {
	if shown.IsWord(s) {
		return s
	}
	return ""
}

// open begins the data of an event, close writes it.
func (w *writer) open(name string) {
	w.data = append(append(append(w.data[:0], `{"type":"`...), name...), `","sequence_number":`...)
	w.data = appendInt(w.data, w.next)
	w.next++
}

func (w *writer) close(name string) {
	w.data = append(w.data, '}')
	w.out = sse.Append(w.out, name, w.data)
	if cap(w.data) > largeText {
		w.data = nil
	}
}

// at appends the index of an item.
func (w *writer) at(index int) { w.data = appendInt(append(w.data, `,"output_index":`...), index) }
