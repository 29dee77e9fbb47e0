package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/kept"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/wire"
)

// maxMetadata bounds what a client notes of a conversation, in bytes.
const maxMetadata = 16 << 10

// conversation answers a request for conversations.
func (q *keptRequest) conversation() ([]byte, error) {
	switch q.at.Kept {
	case wire.KeptConversations:
		return q.create()
	case wire.KeptOne:
		return q.one()
	case wire.KeptOfOne:
		return q.itemsOfOne()
	}
	return q.itemOfOne()
}

// create makes a conversation, unless those of requests without a model are the upstream's.
func (q *keptRequest) create() ([]byte, error) {
	e := q.rules.engine
	if !keepsFor(q.codec, e.route(q.codec.Name(), ""), e.unnamed(q.codec)) {
		return nil, kept.ErrNotFound
	}
	root, err := q.object()
	if err != nil {
		return nil, err
	}
	metadata, err := metadataOf(root)
	if err != nil {
		return nil, err
	}
	items, err := itemsOf(root.Get("items"))
	if err != nil {
		return nil, err
	}
	c, err := q.store.Create(q.caller, metadata, items)
	if err != nil {
		return nil, err
	}
	if owner := q.rules.owner(q.r); owner != "" {
		e.owners.Note(q.at.Of, c.ID, owner)
	}
	return q.shown(c), nil
}

func metadataOf(root gjson.Result) ([]byte, error) {
	switch m := root.Get("metadata"); {
	case m.Type == gjson.Null:
		return []byte("{}"), nil
	case !m.IsObject() || len(m.Raw) > maxMetadata:
		return nil, faults.New(faultname.ParameterInvalid, http.StatusBadRequest, fmt.Errorf("metadata: want an object of at most %d bytes", maxMetadata))
	default:
		return []byte(m.Raw), nil
	}
}

// itemsOf returns the items of a list, with commas between them.
func itemsOf(list gjson.Result) ([]byte, error) {
	if list.Type == gjson.Null {
		return nil, nil
	}
	if !list.IsArray() || slices.ContainsFunc(list.Array(), func(v gjson.Result) bool { return !v.IsObject() }) {
		return nil, faults.New(faultname.ParameterInvalid, http.StatusBadRequest, errors.New("items: want a list of objects"))
	}
	return bytes.TrimSpace([]byte(list.Raw[1 : len(list.Raw)-1])), nil
}

func (q *keptRequest) shown(c *kept.Conversation) []byte {
	return q.codec.AppendKept(nil, wire.KeptObject{Kind: wire.KeptConversation, ID: c.ID, Created: c.Began.Unix(), Metadata: c.Metadata})
}

// one answers a request for one conversation.
func (q *keptRequest) one() ([]byte, error) {
	switch q.r.Method {
	case http.MethodDelete:
		return q.codec.AppendKept(nil, wire.KeptObject{Kind: wire.KeptDeletedConversation, ID: q.id}), q.store.RemoveConversation(q.caller, q.id)
	case http.MethodPost:
		if _, err := q.store.Conversation(q.caller, q.id); err != nil {
			return nil, err // before its body is read, which the upstream may need
		}
		root, err := q.object()
		if err != nil {
			return nil, err
		}
		metadata, err := metadataOf(root)
		if err == nil {
			err = q.store.SetMetadata(q.caller, q.id, metadata)
		}
		if err != nil {
			return nil, err
		}
	}
	c, err := q.store.Conversation(q.caller, q.id)
	if err != nil {
		return nil, err
	}
	return q.shown(c), nil
}

// itemsOfOne answers a request for the items of a conversation.
func (q *keptRequest) itemsOfOne() ([]byte, error) {
	c, err := q.store.Conversation(q.caller, q.id)
	if err != nil {
		return nil, err
	}
	if q.r.Method != http.MethodPost {
		return q.page(c.Items(q.codec))
	}
	root, err := q.object()
	if err != nil {
		return nil, err
	}
	news, err := itemsOf(root.Get("items"))
	if err == nil && len(news) == 0 {
		err = faults.New(faultname.ParameterInvalid, http.StatusBadRequest, errors.New("items: want a list with an item"))
	}
	if err != nil {
		return nil, err
	}
	added, err := q.store.Add(q.caller, q.codec, q.id, news)
	if err != nil {
		return nil, err
	}
	return q.codec.AppendKept(nil, wire.KeptObject{Kind: wire.KeptList, Items: added}), nil
}

// itemOfOne answers a request for one item of a conversation.
func (q *keptRequest) itemOfOne() ([]byte, error) {
	c, err := q.store.Conversation(q.caller, q.id)
	if err != nil {
		return nil, err
	}
	list, segments := c.Items(q.codec), endpoints.Segments(q.r.URL.Path)
	id := segments[len(segments)-1]
	at := slices.IndexFunc(list, func(it wire.KeptItem) bool { return it.ID == strings.TrimSpace(id) })
	switch {
	case at < 0:
		return nil, faults.New(faultname.ItemUnknown, http.StatusNotFound, errors.New("no item of this conversation has this id"))
	case q.r.Method != http.MethodDelete:
		return list[at].Raw, nil
	}
	return q.shown(c), q.store.RemoveItem(q.caller, q.id, id)
}
