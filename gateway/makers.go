package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/sealing"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// What an upstream made, such as a stored response or a file, is only there. Requests for
// it name its id, and no model. So the gateway remembers which upstream made what. It
// forgets the oldest first; a request for something that it does not know goes where
// requests without a model go.
type makers struct {
	max int

	mu    sync.Mutex
	of    map[string]string // the upstream's name, by id
	order []string          // of the ids, oldest first

	shared history.Level // nil if replicas are told nothing
	box    *sealing.Box
	group  history.Key
}

// maxMadeID bounds an id, in bytes.
const maxMadeID = 128

func newMakers(limit int) *makers { return &makers{max: limit, of: map[string]string{}} }

// share lets replicas know what upstreams made.
func (m *makers) share(level history.Level, secret []byte) error {
	box, err := sealing.New(secret, "what upstreams made")
	if err != nil {
		return err
	}
	m.shared, m.box, m.group = level, box, box.Name([]byte("ids"))
	return nil
}

// note remembers that an upstream made something.
func (m *makers) note(id, upstream string) {
	if !isMadeID(id) {
		return
	}
	m.mu.Lock()
	known := m.of[id] == upstream
	if _, old := m.of[id]; !old {
		if len(m.order) >= m.max {
			delete(m.of, m.order[0])
			m.order = slices.Delete(m.order, 0, 1)
		}
		id = strings.Clone(id)
		m.order = append(m.order, id)
	}
	m.of[id] = upstream
	m.mu.Unlock()
	if m.shared == nil || known {
		return
	}
	key := m.box.Name([]byte(id))
	if value, err := json.Marshal(upstream); err == nil {
		m.shared.Put(history.LevelEntry{Group: m.group, Key: key, Value: m.box.Seal(key[:], value)})
	}
}

// find returns the name of the upstream that made the first of these that somebody made;
// empty if none is known. What another replica noted is asked for only if an id looks like
// one that a server gives.
func (m *makers) find(ids []string) string {
	ids = slices.DeleteFunc(ids, func(id string) bool { return !isMadeID(id) })
	m.mu.Lock()
	for _, id := range ids {
		if name := m.of[id]; name != "" {
			m.mu.Unlock()
			return name
		}
	}
	m.mu.Unlock()
	if m.shared == nil || len(ids) == 0 {
		return ""
	}
	keys := make([]history.Key, len(ids))
	for i, id := range ids {
		keys[i] = m.box.Name([]byte(id))
	}
	for i, value := range m.shared.Get(m.group, keys) {
		var name string
		if plain, ok := m.box.Open(keys[i][:], value); ok && json.Unmarshal(plain, &name) == nil && name != "" {
			return name
		}
	}
	return ""
}

// isMadeID reports whether a text may be the id of something that a server made: it has a
// digit in it, or is long. Words of paths such as responses are not.
func isMadeID(id string) bool {
	return len(id) >= 8 && len(id) <= maxMadeID && !strings.ContainsAny(id, "/ \t\r\n") && (strings.ContainsAny(id, "0123456789") || len(id) > 20)
}

// The members that name what an upstream made: in a request, and in a response.
var (
	askedIDs = []string{"input_file_id", "previous_response_id", "conversation", "conversation.id", "file_id", "training_file"}
	givenIDs = []string{"id", "output_file_id", "error_file_id", "name"}
)

// idsOf returns the ids that some members of an object hold. Gemini's begin with a
// collection, as in batches/123.
func idsOf(root gjson.Result, members []string) (ids []string) {
	for _, name := range members {
		if v := root.Get(name); v.Type == gjson.String {
			ids = append(ids, v.Str[strings.LastIndexByte(v.Str, '/')+1:])
		}
	}
	return ids
}

// upstreamKey is the key of an upstream among the targets, by its name.
func upstreamKey(name string) string {
	if name == defaultUpstream {
		return ""
	}
	return name
}

// made notes what the response to a request that passes says that an upstream made,
// before the client has all of it. With several upstreams it notes which one did, and for
// an owner whose it is.
func (e *engine) made(r *http.Request, at *endpoints.Endpoint, from *target, owner string, resp *http.Response) {
	if !e.several() && owner == "" || at.Kind == endpoints.Harmless || at.Kind == endpoints.Audio || resp.StatusCode < 200 || resp.StatusCode > 299 || !isJSON(resp.Header) || r.Method == http.MethodHead {
		return
	}
	resp.Body = &creation{ReadCloser: resp.Body, size: resp.ContentLength, note: func(root gjson.Result) {
		if owner != "" {
			e.noteOwn(r, at, owner, root)
		}
		if !e.several() {
			return
		}
		for _, id := range idsOf(root, givenIDs) {
			e.noteMade(id, from)
		}
	}}
}

// noteMade remembers that an upstream made something, unless requests for it would go
// there anyway.
func (e *engine) noteMade(id string, by *target) {
	usual := e.unnamed(nil) == by
	for _, c := range codecs {
		usual = usual && e.unnamed(c) == by
	}
	if !usual {
		e.makers.note(id, by.name)
	}
}

// A creation is the body of a response that may say what an upstream made.
type creation struct {
	io.ReadCloser
	head []byte
	size int64 // -1 if it is not known
	note func(root gjson.Result)
}

// maxCreation bounds a response that says what an upstream made.
const maxCreation = 64 << 10

func (c *creation) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.note == nil {
		return n, err
	}
	c.head = append(c.head, p[:min(n, maxCreation+1-len(c.head))]...)
	whole := err == io.EOF || c.size >= 0 && int64(len(c.head)) >= c.size
	if whole && len(c.head) <= maxCreation {
		if root, err := foreignjson.Parse(c.head); err == nil && root.IsObject() {
			c.note(root)
		}
	}
	if whole || err != nil || len(c.head) > maxCreation {
		c.note, c.head = nil, nil
	}
	return n, err
}

// noteMade notes that the upstream has a reply that later requests may name.
func (x *exchange) noteMade() {
	if x.noted || x.stored || x.reading.ID == "" || !x.engine.several() && x.owner == "" {
		return
	}
	x.noted = true
	if !x.isStored() {
		return
	}
	if x.engine.several() {
		x.engine.noteMade(x.reading.ID, x.to)
	}
	if x.owner != "" {
		x.engine.owners.Note(x.repliesAre(), x.reading.ID, x.owner)
	}
}

// isStored reports whether the upstream keeps the reply: the API with items does unless it
// is told not to.
func (x *exchange) isStored() bool {
	store := jsonedit.Parse(x.body).Get("store")
	return store.Type == gjson.True || store.Type != gjson.False && x.codec.Capabilities().Items
}
