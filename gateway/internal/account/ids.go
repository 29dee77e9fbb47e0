package account

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/record"
)

// MaxID is how many bytes an identifier has at most. What is longer is not one.
const MaxID = 512

const (
	maxIDs = 32 // that are kept of a request
	maxID  = MaxID
)

// idMembers are the members by which the APIs let an application name its user, its
// conversation and what else it wants to find again.
var idMembers = map[string]bool{
	"user": true, "safety_identifier": true, "session_id": true, "conversation_id": true, "thread_id": true, "conversation": true, "metadata": true,
	"previous_response_id": true,
}

// IDs returns the identifiers in the body of a request, by the names of their
// members: user, session_id, metadata.order and so on.
func IDs(body []byte, room *Room) map[string]string {
	if !foreignjson.Valid(body) {
		return nil
	}
	list := map[string]string{}
	jsonedit.Parse(body).ForEach(func(name, v gjson.Result) bool {
		switch {
		case !idMembers[name.Str]:
		case v.IsObject():
			v.ForEach(func(key, v gjson.Result) bool {
				keepID(list, name.Str+"."+key.Str, v, room)
				return len(list) < maxIDs
			})
		default:
			keepID(list, name.Str, v, room)
		}
		return len(list) < maxIDs
	})
	if len(list) == 0 {
		return nil
	}
	return list
}

func keepID(list map[string]string, name string, v gjson.Result, room *Room) {
	text := ""
	switch v.Type {
	case gjson.String:
		text = v.Str
	case gjson.Number:
		text = v.Raw
	}
	if text == "" || len(text) > maxID || len(name) > maxID || !room.Entry() {
		return
	}
	if name, text = room.bounded(name), room.bounded(text); !room.Cut {
		list[strings.Clone(name)] = strings.Clone(text)
	}
}

// Trace adds the trace and the span that a request belongs to, by W3C Trace Context,
// to identifiers.
func Trace(list map[string]string, traceparent string) map[string]string {
	p := tracecontext.Read(traceparent)
	return HeaderID(HeaderID(list, record.IDTrace, p.Trace), record.IDParentSpan, p.Span)
}

// HeaderID adds the value of a header to identifiers.
func HeaderID(list map[string]string, name, value string) map[string]string {
	if value == "" || len(value) > maxID {
		return list
	}
	if list == nil {
		list = map[string]string{}
	}
	list[name] = value
	return list
}
