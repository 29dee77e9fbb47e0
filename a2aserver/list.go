package a2aserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

const (
	pageSize    = 50  // tasks of a page
	maxPageSize = 100 // tasks of a page that a client may ask for
	pageReads   = 16  // bytes of records that a page may look through, in pages
	listHistory = 100 // messages of a listed task, unless asked otherwise
	maxToken    = 256 // bytes of a page token
)

// states are those that a task can have.
var states = []a2a.TaskState{
	a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
	a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected,
}

func stateNames() string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// List implements [taskstore.Store]: the caller's own tasks, the last changed
// first. A page ends at its number of tasks or at [Limits.Page] bytes,
// whichever comes first; it holds one task at least.
func (s *store) List(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := req.PageSize
	or(&size, pageSize)
	if size < 1 || size > maxPageSize {
		return nil, a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("the page size is %[2]d: want 1 to %[1]d tasks", maxPageSize, size))
	}
	if req.Status != "" && !slices.Contains(states, req.Status) {
		return nil, a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("status %q: want one of %s", shorttext.Ellipsis(string(req.Status), 64), stateNames()))
	}
	if n := req.HistoryLength; n != nil && *n < 0 {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "historyLength is negative")
	}
	var after *listed
	if req.PageToken != "" {
		var err error
		if after, err = readToken(req.PageToken); err != nil {
			return nil, err
		}
	}
	owner := visitFrom(ctx).caller
	all, err := s.entries(owner)
	if err != nil {
		return nil, err
	}
	found, more, total := page(all, req, after, size)
	res := &a2a.ListTasksResponse{TotalSize: total, PageSize: size, Tasks: []*a2a.Task{}}
	err = s.view(owner, func(t tx) error {
		room, reads := s.limits.Page, pageReads*s.limits.Page
		res.Tasks = res.Tasks[:0]
		for i, l := range found {
			data := t.get(tasksBucket, []byte(l.id))
			if data == nil {
				continue // dropped meanwhile
			}
			v, err := readView(data, req)
			if err != nil {
				return err
			}
			room, reads = room-v.size(), reads-len(data)
			if i > 0 && (room < 0 || reads < 0) {
				found, more = found[:i], true
				return nil
			}
			task, err := v.task()
			if err != nil {
				return fmt.Errorf("task %s: %w", l.id, err)
			}
			res.Tasks = append(res.Tasks, task)
		}
		return nil
	})
	if more && len(found) > 0 {
		res.NextPageToken = found[len(found)-1].token()
	}
	return res, err
}

// page returns those of all tasks that the next page may hold, whether more follow, and
// how many match in all.
func page(all []*listed, req *a2a.ListTasksRequest, after *listed, size int) (found []*listed, more bool, total int) {
	for _, l := range all {
		if !matches(&l.entry, req) {
			continue
		}
		total++
		switch {
		case after != nil && newestFirst(after, l) >= 0: // on an earlier page
		case len(found) < size:
			found = append(found, l)
		default:
			more = true
		}
	}
	return found, more, total
}

func matches(e *entry, req *a2a.ListTasksRequest) bool {
	return (req.ContextID == "" || e.context == req.ContextID) &&
		(req.Status == "" || e.state == req.Status) &&
		(req.StatusTimestampAfter == nil || e.status.After(*req.StatusTimestampAfter))
}

// A span is a JSON value as it lies in the file. It is valid as long as the
// transaction that it was read in.
type span []byte

// UnmarshalJSON keeps the bytes where they are.
func (s *span) UnmarshalJSON(b []byte) error {
	*s = b
	return nil
}

// A view is what a list shows of a task, found in its row and not yet
// decoded: a task may be large, and what a client leaves out costs nothing.
type view struct {
	Task struct {
		ID        a2a.TaskID `json:"id"`
		ContextID string     `json:"contextId"`
		Status    span       `json:"status"`
		Metadata  span       `json:"metadata"`
		History   []span     `json:"history"`
		Artifacts span       `json:"artifacts"`
	} `json:"task"`
}

func readView(data []byte, req *a2a.ListTasksRequest) (*view, error) {
	v := &view{}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("a row of a task: %w", err)
	}
	t, length := &v.Task, listHistory
	if req.HistoryLength != nil {
		length = *req.HistoryLength
	}
	t.History = t.History[max(0, len(t.History)-length):]
	if !req.IncludeArtifacts {
		t.Artifacts = nil
	}
	return v, nil
}

// size is how many bytes the task takes in a page, about.
func (v *view) size() int {
	t := &v.Task
	n := len(t.ID) + len(t.ContextID) + len(t.Status) + len(t.Metadata) + len(t.Artifacts)
	for _, m := range t.History {
		n += len(m)
	}
	return n
}

// task decodes what is shown.
func (v *view) task() (*a2a.Task, error) {
	t := &a2a.Task{ID: v.Task.ID, ContextID: v.Task.ContextID}
	decode := func(data span, to any) error {
		if data == nil {
			return nil
		}
		return json.Unmarshal(data, to)
	}
	if err := decode(v.Task.Status, &t.Status); err != nil {
		return nil, err
	}
	if err := decode(v.Task.Metadata, &t.Metadata); err != nil {
		return nil, err
	}
	if err := decode(v.Task.Artifacts, &t.Artifacts); err != nil {
		return nil, err
	}
	for _, data := range v.Task.History {
		m := &a2a.Message{}
		if err := decode(data, m); err != nil {
			return nil, err
		}
		t.History = append(t.History, m)
	}
	return t, nil
}

// token is the position after a task. Tasks that are added or changed later
// stand before it, so that the pages after it stay the same.
func (l *listed) token() string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.updated.Format(time.RFC3339Nano) + " " + string(l.id)))
}

func readToken(token string) (*listed, error) {
	bad := a2a.NewError(a2a.ErrInvalidParams, "the page token is not from this server")
	if len(token) > maxToken {
		return nil, bad
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, bad
	}
	at, id, ok := bytes.Cut(text, []byte(" "))
	updated, err := time.Parse(time.RFC3339Nano, string(at))
	if !ok || err != nil {
		return nil, bad
	}
	return &listed{a2a.TaskID(id), entry{updated: updated}}, nil
}
