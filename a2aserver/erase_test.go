package a2aserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// TestErase: what is erased of a conversation, or of a caller, is in neither store any more: no task,
// message, artifact, memo, log, push or configuration, not even as bytes of a file, and no digest of a
// message. Tasks of others, and of other conversations, stay.
func TestErase(t *testing.T) {
	mind := newHeld()
	r, name := redisserver.Run(t), file(t)
	for kind, c := range map[string]Config{
		"file":   {Mind: mind, File: name, Tokens: []Token{person, other}, PushTo: loopback},
		"shared": {Mind: mind, Shared: spaceIn(t, r), Tokens: []Token{person, other}, PushTo: loopback},
	} {
		t.Run(kind, func(t *testing.T) {
			h := serve(t, c)
			as := func(who Token, message, context string, wait bool) *a2a.Task {
				req := named(message, message+" "+strings.Repeat("CANARY-"+context+" ", 200), "")
				req.Message.ContextID = context
				req.Config = &a2a.SendMessageConfig{ReturnImmediately: !wait, PushConfig: &a2a.PushConfig{URL: "http://127.0.0.1:1/", Token: "CANARY-" + context}}
				res, err := client(t, h.url(), 0, "Authorization", "Bearer "+who.Secret).SendMessage(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				<-mind.came
				return res.(*a2a.Task)
			}
			gone, stays, another := "gone-"+kind, "stays-"+kind, "another-"+kind
			done, slow := as(person, "first"+kind, gone, true), as(person, "Slow"+kind, gone, false)
			if err := h.store.update(person.Name, func(t tx) error { return t.put(memosBucket, h.store.memoKey(done.ID, 1), []byte("CANARY-"+gone)) }); err != nil {
				t.Fatal(err)
			}
			kept, foreign := as(person, "second"+kind, stays, true), as(other, "third"+kind, another, true)
			if n, err := h.Erase(t.Context(), person.Name, gone); err != nil || n != 2 {
				t.Fatalf("%d tasks, %v", n, err)
			}
			for _, x := range []struct {
				owner string
				task  *a2a.Task
				there bool
			}{{person.Name, done, false}, {person.Name, slow, false}, {person.Name, kept, true}, {other.Name, foreign, true}} {
				if _, err := h.Manage(x.owner, x.task.ID); (err == nil) != x.there || err != nil && !errors.Is(err, a2a.ErrTaskNotFound) {
					t.Errorf("%s: %v", x.task.ContextID, err)
				}
			}
			if id, err := h.store.taker(sendingOf(person.Name, named("first"+kind, "x", "").Message)); id != "" || err != nil {
				t.Errorf("the message is noted: %s, %v", id, err)
			}
			if kind == "file" {
				data, err := os.ReadFile(name)
				if err != nil || bytes.Contains(data, []byte("CANARY-"+gone)) || bytes.Contains(data, []byte(done.ID)) || !bytes.Contains(data, []byte("CANARY-"+stays)) || !bytes.Contains(data, []byte("CANARY-"+another)) {
					t.Errorf("of %d bytes: erased %d, its id %d, kept %d, %v", len(data), bytes.Count(data, []byte("CANARY-"+gone)), bytes.Count(data, []byte(done.ID)), bytes.Count(data, []byte("CANARY-"+stays)), err)
				}
			}
			if _, err := h.Erase(t.Context(), person.Name, ""); err != nil {
				t.Fatal(err)
			}
			if list, err := h.store.entries(person.Name); err != nil || len(list) > 0 {
				t.Errorf("%d tasks, %v", len(list), err)
			}
			if kind == "shared" {
				if n, bytes, err := h.store.space.Size(person.Name); n != 0 || bytes != 0 || err != nil {
					t.Errorf("%d rows and %d bytes are left, %v", n, bytes, err)
				}
				if n, _, err := h.store.space.Size(other.Name); n != 1 || err != nil {
					t.Errorf("%d tasks of another caller, %v", n, err)
				}
				h.erasedIn(t, r)
			}
		})
	}
	if _, err := CheckTasks(name); err != nil {
		t.Error(err)
	}
}

// erasedIn: what the store has is one task of one caller and its jobs.
func (h *house) erasedIn(t *testing.T, r *redisserver.Server) {
	t.Helper()
	hashes := map[string]int{}
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		if kind := r.Command("TYPE", key); strings.TrimSpace(kind) != "hash" {
			continue
		}
		var n int
		_, _ = fmt.Sscan(r.Command("HLEN", key), &n)
		hashes[key[strings.Index(key, "}")+1:][:1]] += n
	}
	if hashes["i"] != 1 {
		t.Errorf("%v", hashes)
	}
}
