package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/wire"
)

// A Call is what is remembered of a call.
type Call struct {
	ID   string            // as the provider made it; empty if it made none
	Said [sha256.Size]byte // a digest of the tool's name and of the arguments
}

// callsOf returns the calls of a reply.
func callsOf(reply *Said) (calls []Call) {
	n := len(reply.ToolCalls)
	if len(reply.Called) != n || len(reply.Arguments) != n || n > maxBlocks { // more are never put right
		return nil
	}
	for i, id := range reply.ToolCalls {
		if reply.Names && id == reply.Called[i] {
			id = ""
		}
		calls = append(calls, Call{id, callSaid(reply.Called[i], []byte(reply.Arguments[i]))})
	}
	return calls
}

// maxArguments bounds the arguments that are read. Larger ones are compared byte for byte.
const maxArguments = 512 << 10

// callSaid is the digest of a call. Arguments that are the same JSON have the same, whatever the order of their
// members and the white space between them.
func callSaid(name string, arguments []byte) [sha256.Size]byte {
	var v any
	if len(bytes.TrimSpace(arguments)) == 0 { // as some servers send it if there are none
		arguments = []byte("{}")
	}
	if len(arguments) <= maxArguments && json.Unmarshal(arguments, &v) == nil {
		if same, err := json.Marshal(v); err == nil {
			arguments = same
		}
	}
	said := sha256.Sum256([]byte(name))
	return sha256.Sum256(append(said[:], arguments...))
}

// CallIDs returns the changes by which the calls of a request, and their results, have the ids that the provider
// made. Some clients make ids of their own. recall comes from [Store.For].
//
//   - A reply's calls get their ids back if it is remembered, and if the client sends as many calls, of the same
//     tools, with the same arguments, in the same order. Otherwise its ids stay as they are.
//   - A result gets the id of the nearest call before it that has the result's id in the request. Of calls of
//     one reply with the same id, the first is that of the first result.
//   - Where ids are optional, one that the client has made for a call without an id is removed.
func CallIDs(body []byte, q *wire.Request, recall func(m int) (Remembered, bool), c wire.Codec) []wire.Change {
	r := renaming{q: q, recall: recall, ids: map[int]map[int]string{}}
	calls := 0
	for i := 0; i < len(q.Messages) && recall != nil; {
		next := r.replyEnd(i)
		if q.Messages[i].Role == "assistant" {
			r.consider(i, next, calls)
		}
		for ; i < next; i++ {
			calls += len(q.Messages[i].Called)
		}
	}
	if len(r.replies) == 0 {
		return nil
	}
	c.Transcribe(body, &r)
	if r.calls != calls { // which of them is which is not known
		return nil
	}
	r.rename()
	var changes []wire.Change
	for _, i := range slices.Sorted(maps.Keys(r.ids)) {
		changes = append(changes, wire.Change{Message: i, IDs: r.ids[i]})
	}
	return changes
}

// A renaming puts the provider's ids into a request.
type renaming struct {
	q       *wire.Request
	recall  func(m int) (Remembered, bool)
	replies []*renamed
	calls   int                    // read so far
	at      int                    // the reply that they belong to
	ids     map[int]map[int]string // the new ones, by message and by their index in CallIDs
}

// A renamed is a reply whose calls have other ids in the request than the provider made.
type renamed struct {
	from, next int // its messages
	first      int // its first call, among those of the request
	calls      []Call
	differs    bool // what the client sends is not what the reply called
}

// replyEnd returns the index after the reply that begins with message i.
func (r *renaming) replyEnd(i int) int {
	next := i + 1
	if r.q.Messages[i].Role == "assistant" && r.q.Items {
		for next < len(r.q.Messages) && r.q.Messages[next].Role == "assistant" {
			next++
		}
	}
	return next
}

// consider notes a reply if it has as many calls as what is remembered, and other ids.
func (r *renaming) consider(from, next, first int) {
	n := 0
	for i := from; i < next; i++ {
		m := &r.q.Messages[i]
		if m.Results || len(m.CallIDs) != len(m.Called) {
			return
		}
		n += len(m.CallIDs)
	}
	if n == 0 || n > maxBlocks {
		return
	}
	var known Remembered
	for i := from; i < next && len(known.Calls) == 0; i++ {
		known, _ = r.recall(i)
	}
	if len(known.Calls) != n {
		return
	}
	reply := &renamed{from: from, next: next, first: first, calls: known.Calls}
	if r.differ(reply) {
		r.replies = append(r.replies, reply)
	}
}

// differ reports whether a call of a reply has another id than the provider made.
func (r *renaming) differ(reply *renamed) (differ bool) {
	r.each(reply, func(m, i int, id string) { _, is := r.made(m, i, id); differ = differ || is })
	return differ
}

// each calls f for each call of a reply: its message, its index in CallIDs, and the provider's id.
func (r *renaming) each(reply *renamed, f func(m, i int, id string)) {
	n := 0
	for m := reply.from; m < reply.next; m++ {
		for i := range r.q.Messages[m].CallIDs {
			f(m, i, reply.calls[n].ID)
			n++
		}
	}
}

// made returns the id that a call is to have. ok is false if that is the one that it has.
func (r *renaming) made(m, i int, id string) (now string, ok bool) {
	of := &r.q.Messages[m]
	was := of.CallIDs[i]
	switch {
	case id == was, of.Names && was == of.Called[i]: // the client sends no id
		return was, false
	case id == "" && !r.q.OwnIDs: // servers may need one
		return was, false
	}
	return id, true
}

// rename makes the new ids.
func (r *renaming) rename() {
	open := map[string][]string{} // the ids that results are to have, by those that they have
	replies := r.replies
	for i := 0; i < len(r.q.Messages); {
		next, m := r.replyEnd(i), &r.q.Messages[i]
		switch {
		case len(replies) > 0 && replies[0].from == i && !replies[0].differs:
			r.renameCalls(replies[0], open)
		case m.Calls:
			for _, of := range r.q.Messages[i:next] {
				for _, id := range of.CallIDs {
					delete(open, id)
				}
			}
		case m.Results:
			r.renameResults(i, open)
		}
		if len(replies) > 0 && replies[0].from == i {
			replies = replies[1:]
		}
		i = next
	}
}

func (r *renaming) renameCalls(reply *renamed, open map[string][]string) {
	r.each(reply, func(m, i int, _ string) { delete(open, r.q.Messages[m].CallIDs[i]) })
	r.each(reply, func(m, i int, id string) {
		now, changes := r.made(m, i, id)
		if was := r.q.Messages[m].CallIDs[i]; changes {
			r.set(m, i, now)
			open[was] = append(open[was], now)
		} else {
			open[was] = append(open[was], was)
		}
	})
}

func (r *renaming) renameResults(m int, open map[string][]string) {
	for i, was := range r.q.Messages[m].CallIDs {
		list := open[was]
		if len(list) == 0 {
			continue
		}
		if list[0] != was {
			r.set(m, i, list[0])
		}
		if len(list) > 1 { // the last one stays for further results
			open[was] = list[1:]
		}
	}
}

func (r *renaming) set(m, i int, id string) {
	if r.ids[m] == nil {
		r.ids[m] = map[int]string{}
	}
	r.ids[m][i] = id
}

// Message implements [wire.Transcript].
func (r *renaming) Message(string, string, ...[]byte) {}

// Thought implements [wire.Transcript].
func (r *renaming) Thought(string, []byte, bool) {}

// Call implements [wire.Transcript]: it compares a call with what is remembered.
func (r *renaming) Call(_, name string, arguments []byte) {
	for r.at < len(r.replies) && r.calls >= r.replies[r.at].first+len(r.replies[r.at].calls) {
		r.at++
	}
	if r.at < len(r.replies) && r.calls >= r.replies[r.at].first {
		reply := r.replies[r.at]
		reply.differs = reply.differs || callSaid(name, arguments) != reply.calls[r.calls-reply.first].Said
	}
	r.calls++
}
