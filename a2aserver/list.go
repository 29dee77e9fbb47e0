package a2aserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.etcd.io/bbolt"
)

const (
	pageSize    = 50
	maxPageSize = 100
	listHistory = 100 // messages of a listed task, unless asked otherwise
)

// A listed is a task of the index.
type listed struct {
	id a2a.TaskID
	entry
}

// newestFirst orders lists. Task ids part those of one moment.
func newestFirst(a, b listed) int {
	if c := b.updated.Compare(a.updated); c != 0 {
		return c
	}
	return strings.Compare(string(b.id), string(a.id))
}

// find returns the tasks that hold, in no order.
func (s *store) find(hold func(entry) bool) []listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []listed
	for id, e := range s.index {
		if hold(e) {
			found = append(found, listed{id, e})
		}
	}
	return found
}

// List implements [taskstore.Store]: the caller's own tasks, the last changed
// first.
func (s *store) List(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := req.PageSize
	or(&size, pageSize)
	if size < 1 || size > maxPageSize {
		return nil, a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("a page holds 1 to %d tasks, not %d", maxPageSize, size))
	}
	caller := visitFrom(ctx).caller
	found := s.find(func(e entry) bool {
		return e.owner == caller &&
			(req.ContextID == "" || e.context == req.ContextID) &&
			(req.Status == "" || e.state == req.Status) &&
			(req.StatusTimestampAfter == nil || e.status.After(*req.StatusTimestampAfter))
	})
	slices.SortFunc(found, newestFirst)
	res := &a2a.ListTasksResponse{TotalSize: len(found), PageSize: size, Tasks: []*a2a.Task{}}
	if req.PageToken != "" {
		after, err := readToken(req.PageToken)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(found, func(l listed) bool { return newestFirst(after, l) < 0 })
		if i < 0 {
			i = len(found)
		}
		found = found[i:]
	}
	if len(found) > size {
		found = found[:size]
		res.NextPageToken = found[size-1].token()
	}
	err := s.db.View(func(tx *bbolt.Tx) error {
		for _, l := range found {
			r, err := s.read(tx, l.id)
			if err != nil {
				continue // dropped meanwhile
			}
			res.Tasks = append(res.Tasks, inList(r.Task, req))
		}
		return nil
	})
	return res, err
}

// inList leaves out what was not asked for.
func inList(t *a2a.Task, req *a2a.ListTasksRequest) *a2a.Task {
	length := listHistory
	if req.HistoryLength != nil {
		length = *req.HistoryLength
	}
	cutHistory(t, &length)
	if !req.IncludeArtifacts {
		t.Artifacts = nil
	}
	return t
}

func (l listed) token() string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.updated.Format(time.RFC3339Nano) + " " + string(l.id)))
}

func readToken(token string) (listed, error) {
	bad := a2a.NewError(a2a.ErrInvalidParams, "the page token is none of this server's")
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return listed{}, bad
	}
	at, id, ok := strings.Cut(string(text), " ")
	updated, err := time.Parse(time.RFC3339Nano, at)
	if !ok || err != nil {
		return listed{}, bad
	}
	return listed{a2a.TaskID(id), entry{updated: updated}}, nil
}
