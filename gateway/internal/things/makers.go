package things

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/sealing"
)

// Makers remember which upstream made what. What an upstream made, such as a stored
// response or a file, is only there, and requests for it name its id, and no model. The
// oldest is forgotten first; a request for something that is not known goes where requests
// without a model go.
type Makers struct {
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

// NewMakers returns a memory of at most limit ids.
func NewMakers(limit int) *Makers { return &Makers{max: limit, of: map[string]string{}} }

// Share lets replicas know what upstreams made.
func (m *Makers) Share(level history.Level, secret []byte) error {
	box, err := sealing.New(secret, "what upstreams made")
	if err != nil {
		return err
	}
	m.shared, m.box, m.group = level, box, box.Name([]byte("ids"))
	return nil
}

// Note remembers that an upstream made something.
func (m *Makers) Note(id, upstream string) {
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

// Find returns the name of the upstream that made the first of these that somebody made;
// empty if none is known. What another replica noted is asked for only if an id looks like
// one that a server gives.
func (m *Makers) Find(ids []string) string {
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
	givenIDs = []string{"id", "output_file_id", "error_file_id", "name", "conversation_id"}
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

// Asked returns the ids in the body of a request.
func Asked(root gjson.Result) []string { return idsOf(root, askedIDs) }

// Given returns the ids in a response.
func Given(root gjson.Result) []string { return idsOf(root, givenIDs) }
