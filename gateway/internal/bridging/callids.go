package bridging

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/wire/turn"
)

// A client gets the upstream's ids of calls. If the upstream gives none, or one that the client's API
// cannot take, the client gets one of these, which the upstream never sees:
//
//	call_sotto0_ and random letters             the upstream gave no id
//	call_sotto1_ and the upstream's in base64   it has other signs than letters, digits, _ and -
const (
	madePrefix    = "call_sotto0_"
	encodedPrefix = "call_sotto1_"
)

// maxID is the length of the longest id that every API accepts.
const maxID = 64

// clientID returns the id that the client gets for a call.
func clientID(id string) string {
	switch {
	case id == "":
		return madePrefix + rand.Text()
	case isPlain(id) && len(id) <= maxID && !strings.HasPrefix(id, madePrefix) && !strings.HasPrefix(id, encodedPrefix):
		return id
	}
	return encodedPrefix + encoding.EncodeToString([]byte(id))
}

var encoding = base64.RawURLEncoding.Strict()

func isPlain(id string) bool {
	return !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// upstreamID returns the id that the upstream gave a call; "" if it gave none.
func upstreamID(id string) string {
	if strings.HasPrefix(id, madePrefix) {
		return ""
	}
	if text, ok := strings.CutPrefix(id, encodedPrefix); ok {
		if was, err := encoding.DecodeString(text); err == nil {
			return string(was)
		}
	}
	return id
}

// upstreamIDs gives the calls of a request, and their results, the upstream's ids. Where there are none,
// results belong to calls by their tool and their order, so they get the calls' order.
func upstreamIDs(q *turn.Request) {
	names, places := map[string]string{}, map[string]int{}
	n := 0
	for i := range q.Messages {
		for _, p := range q.Messages[i].Parts {
			if p.Kind == turn.Call && strings.HasPrefix(p.ID, madePrefix) {
				names[p.ID], places[p.ID] = p.Name, n
				n++
			}
		}
	}
	var results []*turn.Part // that follow each other
	for i := range q.Messages {
		m := &q.Messages[i]
		if m.Role == turn.Assistant {
			inOrder(results, places)
			results = nil
		}
		m.Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			p := &m.Parts[j]
			if _, made := places[p.ID]; p.Kind == turn.Result && made {
				p.Name = cmp.Or(p.Name, names[p.ID])
				results = append(results, p)
			}
		}
	}
	inOrder(results, places)
	for i := range q.Messages {
		for j := range q.Messages[i].Parts {
			if p := &q.Messages[i].Parts[j]; p.Kind == turn.Call || p.Kind == turn.Result {
				p.ID = upstreamID(p.ID)
			}
		}
	}
}

// inOrder puts results into the order of their calls.
func inOrder(results []*turn.Part, places map[string]int) {
	sorted := make([]turn.Part, len(results))
	for i, p := range results {
		sorted[i] = *p
	}
	slices.SortStableFunc(sorted, func(a, b turn.Part) int { return places[a.ID] - places[b.ID] })
	for i, p := range results {
		*p = sorted[i]
	}
}
