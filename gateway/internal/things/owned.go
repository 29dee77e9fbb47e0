package things

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/owners"
)

// madeMembers are the members of a response to a request that passes that name what the
// request made, beside its own id and name.
var madeMembers = []struct{ path, kind string }{
	{"output_file_id", "files"}, {"error_file_id", "files"}, {"output_file", "files"}, {"error_file", "files"}, {"result_files", "files"},
	{"file.id", "files"}, {"file.name", "files"}, {"response.responsesFile", "files"}, {"metadata.output.responsesFile", "files"}, {"dest.fileName", "files"},
	{"thread_id", "threads"}, {"conversation_id", "conversations"},
}

// OwnerOf returns who owns what a request makes: its caller, or the owner of the thing that its path names. It is empty if nobody
// is known.
func OwnerOf(of *owners.Store, r *http.Request, at *endpoints.Endpoint, caller string) string {
	id, one := at.Thing(r.URL)
	switch {
	case at.Of == "" || !one || caller == "":
		return caller
	case endpoints.HasEncodedSlash(r.URL):
		return ""
	}
	return of.Of(at.Of, id)
}

// Note notes whose the things are that a response names. What belongs to a thing, such
// as the results of a batch, is that thing's owner's, whoever asks.
func Note(of *owners.Store, r *http.Request, at *endpoints.Endpoint, caller string, root gjson.Result) {
	if r.Method == http.MethodDelete {
		return
	}
	if caller = OwnerOf(of, r, at, caller); caller == "" {
		return
	}
	if _, one := at.Thing(r.URL); (at.Of == "" || !one) && r.Method != http.MethodPost && r.Method != http.MethodPut {
		return // a list
	}
	note := func(kind string, v gjson.Result) {
		for _, id := range stringsOf(v) {
			of.Note(kind, id[strings.LastIndexByte(id, '/')+1:], caller)
		}
	}
	if at.Of != "" && r.Method == http.MethodPost {
		note(at.Of, root.Get("id"))
	}
	if parts := strings.Split(root.Get("name").Str, "/"); len(parts) > 1 && r.Method == http.MethodPost { // as files/ID
		note(parts[len(parts)-2], root.Get("name"))
	}
	for _, m := range madeMembers {
		note(m.kind, root.Get(m.path))
	}
}

// stringsOf returns a string, or those of a list.
func stringsOf(v gjson.Result) (list []string) {
	if v.Type == gjson.String {
		return []string{v.Str}
	}
	for _, one := range v.Array() {
		if one.Type == gjson.String && len(list) < Most {
			list = append(list, one.Str)
		}
	}
	return list
}

// Where a reply, or an event of its stream, names what the upstream made for it: the
// reply itself, which may be fetched or cancelled while it is under way, the item that it adds, the machine that ran code, the files that this left, and the reply
// that is fetched later.
var (
	partIDs = []struct{ path, kind string }{
		{"response.id", "responses"}, {"interaction.id", "interactions"}, {"conversation_id", "conversations"}, {"item.id", "items"}, {"output.#.id", "items"},
		{"item.container_id", "containers"}, {"output.#.container_id", "containers"},
		{"container.id", "containers"}, {"message.container.id", "containers"}, {"delta.container.id", "containers"},
		{"request_id", "deferred-completion"},
	}
	keptKinds = []string{"items", "responses", "interactions", "conversations"} // of what is there only if the reply is kept
	partHints = [][]byte{[]byte(`response.created"`), []byte(`"interaction"`), []byte(`"conversation_id"`), []byte(`"item"`), []byte(`"output"`), []byte(`"container"`), []byte(`"request_id"`), []byte(`_tool_result"`)}
)

// NoteParts notes whose the parts of a reply are that later requests may name. kept says whether the upstream
// keeps the reply and its items; it is asked only if something is named.
func NoteParts(of *owners.Store, owner string, kept func() bool, data []byte) {
	if !slices.ContainsFunc(partHints, func(hint []byte) bool { return bytes.Contains(data, hint) }) {
		return
	}
	root := jsonedit.Parse(data)
	items := kept()
	for _, p := range partIDs {
		if slices.Contains(keptKinds, p.kind) && !items {
			continue
		}
		for _, id := range stringsOf(root.Get(p.path)) {
			of.Note(p.kind, id, owner)
		}
	}
	blocks := append(root.Get("content").Array(), root.Get("content_block"))
	for _, b := range blocks {
		if strings.HasSuffix(b.Get("type").Str, "_tool_result") {
			for _, id := range stringsOf(b.Get("content.content.#.file_id")) {
				of.Note("files", id, owner)
			}
		}
	}
}

// Lists reports whether an asker asks for all things of a kind.
func (a *Asker) Lists(r *http.Request, e *endpoints.Endpoint) bool {
	if a == nil || e.Of == "" || r.Method != http.MethodGet {
		return false
	}
	_, one := e.Thing(r.URL)
	return !one
}

// maxOwnList bounds a list that is limited to the asker's own things, in bytes.
const maxOwnList = 8 << 20

// ownMembers are the members that hold the things of a list.
var ownMembers = []string{"data", "files", "batches", "operations", "cachedContents", "results"}

// errList is the error of a list that nobody can limit to the caller's own.
var errList = faults.New(faultname.ListOfAllCallers, http.StatusForbidden, fmt.Errorf("the gateway cannot tell what of this list is the caller's own: all of it needs the scope %q", access.Operator))

// OwnList leaves in a list what the asker made.
func (a *Asker) OwnList(e *endpoints.Endpoint, resp *http.Response, hold *budget.Charge) error {
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	if err := bodies.Decompress(resp); err != nil {
		return err
	}
	body, err := hold.Read(resp.Body, maxOwnList, min(resp.ContentLength, maxOwnList))
	resp.Body.Close()
	var own *faults.Request
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, budget.ErrLarge):
		return errList
	case err != nil:
		return fmt.Errorf("the upstream's list broke off: %w", faults.Quiet(err))
	}
	if err := hold.Take(budget.ParsedCost(body)); err != nil {
		return err
	}
	root, err := (foreignjson.Limits{Members: foreignjson.ReplyMembers}).Parse(body)
	if err != nil || !root.IsObject() {
		return errList
	}
	left, ok := a.leave(e.Of, root)
	if !ok {
		return errList
	}
	bodies.Replace(resp, left)
	return nil
}

// leave returns a list with the asker's own things, and what is said of all of it.
func (a *Asker) leave(kind string, root gjson.Result) (list []byte, ok bool) {
	at := slices.IndexFunc(ownMembers, func(name string) bool { return root.Get(name).IsArray() })
	list = []byte{'{'}
	member := func(name, value string) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(append(jsontext.AppendString(list, name), ':'), value...)
	}
	first, last := "null", "null"
	if at >= 0 {
		kept := []byte{'['}
		for _, one := range root.Get(ownMembers[at]).Array() {
			id := one.Get("id")
			if !id.Exists() {
				id = one.Get("name")
			}
			if id.Type != gjson.String || a.Owners.Of(kind, id.Str[strings.LastIndexByte(id.Str, '/')+1:]) != a.Caller {
				continue
			}
			if len(kept) > 1 {
				kept = append(kept, ',')
			} else {
				first = id.Raw
			}
			kept, last = append(kept, one.Raw...), id.Raw
		}
		member(ownMembers[at], string(kept)+"]")
	}
	scalar := true
	root.ForEach(func(name, v gjson.Result) bool {
		switch {
		case at >= 0 && name.Str == ownMembers[at]:
		case name.Str == "first_id":
			member("first_id", first)
		case name.Str == "last_id":
			member("last_id", last)
		case v.IsArray() || v.IsObject(): // it may have others' things
			scalar = scalar && at >= 0
		case slices.Contains(listMarks, name.Str):
			member(name.Str, v.Raw)
		}
		return true
	})
	return append(list, '}'), scalar // an API may leave out a list that is empty
}

// listMarks are the members of a list that say something of all of it.
var listMarks = []string{"object", "has_more", "nextPageToken", "next_page", "next"}
