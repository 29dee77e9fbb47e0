package a2aserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// Bounds of the shape of a request's body. An ordinary message has a dozen values,
// five levels deep.
const (
	maxDepth  = 64     // levels of arrays and objects
	maxValues = 10_000 // members of objects and elements of arrays
	maxRPCID  = 256    // bytes of the id of a call, which comes back with each event
)

// invalidRequest is the code of JSON-RPC for a request that is JSON, and not a request.
const invalidRequest = -32600

// A refusal says why a body was refused, with the status of the answer.
type refusal struct {
	status int
	why    string
	code   int // of JSON-RPC, if the answer there is one of JSON-RPC
}

func (r *refusal) Error() string { return r.why }

// maxArriving is how many bodies may be on their way at once.
const maxArriving = 256

// copies is how many copies a request holds of its body or task: as it came or is
// in the file, decoded, and encoded again.
const copies = 3

// takeBody reads a request's body completely and checks its shape, before the
// request takes one of the places for work.
func (s *Server) takeBody(w http.ResponseWriter, r *http.Request, l *serving.Arrival) (*http.Request, error) {
	data, err := l.ReadAll(w, r, s.limits.Body, copies)
	switch status := serving.StatusOf(err); {
	case err == nil:
	case status == http.StatusRequestTimeout:
		return r, &refusal{status: status, why: "the body took too long"}
	case status == http.StatusServiceUnavailable:
		return r, &refusal{status: status, why: err.Error()}
	case status == http.StatusRequestEntityTooLarge:
		return r, &refusal{status: status, why: fmt.Sprintf("the body is longer than %d bytes", s.limits.Body)}
	default:
		return r, &refusal{status: status, why: "the body cannot be read"}
	}
	if err := checkShape(data); err != nil {
		return r, err
	}
	return serving.WithBody(r, data), nil
}

// checkShape refuses a body that would cost more than its size suggests. Bodies
// that are not JSON are refused by the protocol's own handlers, each in its way.
func checkShape(data []byte) error {
	bounds := foreignjson.Limits{Depth: maxDepth, Members: maxValues}
	if err := bounds.Check(data); foreignjson.OverLimit(err) {
		return &refusal{status: http.StatusBadRequest, why: "the body " + err.Error()}
	}
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(data, &call) == nil && len(call.ID) > maxRPCID {
		return &refusal{status: http.StatusBadRequest, why: fmt.Sprintf("the id of the call is longer than %d bytes", maxRPCID)}
	}
	if d := foreignjson.FirstDouble(data); d != nil { // readers disagree about which one counts
		return &refusal{
			http.StatusBadRequest, fmt.Sprintf("the key %s appears twice in one object of the body, at byte %d and at byte %d", shorttext.Quote(d.Key), d.First, d.Second), invalidRequest,
		}
	}
	return nil
}
