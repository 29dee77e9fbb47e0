package a2aserver

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"go.etcd.io/bbolt"
)

// told makes a task that ended, with the pushes that nobody has delivered.
func told(t *testing.T, s *store, id a2a.TaskID, url string) {
	t.Helper()
	s.post = func(letter) {}
	p := newSender(s, guard{allow: loopback}, Limits{}.withDefaults(), slog.New(slog.DiscardHandler))
	defer p.close()
	task := &a2a.Task{ID: id, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	create(t, t.Context(), s, task)
	for range 2 {
		if _, err := p.Save(t.Context(), id, &a2a.PushConfig{URL: url}); err != nil {
			t.Fatal(err)
		}
	}
	end := *task
	end.Status.State = a2a.TaskStateCompleted
	event := a2a.NewStatusUpdateEvent(task, a2a.TaskStateCompleted, nil)
	if _, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: &end, Event: event}); err != nil {
		t.Fatal(err)
	}
}

func outbox(t *testing.T, s *store) (list []string) {
	t.Helper()
	left, err := left(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		list = append(list, string(l.Task))
	}
	slices.Sort(list) // the file says nothing about the order of its tasks
	return list
}

// The pushes that wait for a task go with it, and leave those of others.
func TestOutboxIsBoundedByItsTasks(t *testing.T) {
	s, err := openStore(file(t), Limits{Keep: time.Hour}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	hook := newHook(t, 200)
	told(t, s, "a", hook.URL)
	told(t, s, "b", hook.URL)
	if got := fmt.Sprint(outbox(t, s)); got != "[a a b b]" {
		t.Fatal(got)
	}
	err = s.drop([]*listed{{id: "a"}})
	if got := fmt.Sprint(outbox(t, s)); err != nil || got != "[b b]" {
		t.Error(got, err)
	}
	if err := s.sweep(time.Now().Add(2 * time.Hour)); err != nil || len(outbox(t, s)) != 0 {
		t.Error(outbox(t, s), err)
	}
}

// A message to a task that waits is no end of the task, and tells nobody that it
// waits.
func TestMessageIsNotPushed(t *testing.T) {
	s := emptyStore(t, Limits{})
	hook := newHook(t, 200)
	told(t, s, "a", hook.URL)
	waits := &a2a.Task{ID: "b", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired}}
	create(t, t.Context(), s, waits)
	if err := s.keeper.(*fileKeeper).db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(configsBucket)
		return b.Put(configKey("b", "x"), []byte(`{"config":{"taskId":"b","id":"x","url":"`+hook.URL+`"}}`))
	}); err != nil {
		t.Fatal(err)
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("red"))
	waits.History = append(waits.History, m)
	if _, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: waits, Event: m}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(outbox(t, s)); got != "[a a]" {
		t.Error(got)
	}
}

// The pushes of a file that an earlier version wrote, which has no outbox, are
// delivered, each with an ID that lasts.
func TestOutboxOfEarlierVersions(t *testing.T) {
	name, hook := file(t), newHook(t, 200)
	s, err := openStore(name, Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	told(t, s, "a", hook.URL)
	if err := s.keeper.(*fileKeeper).db.Update(func(tx *bbolt.Tx) error {
		config := configsOf(&fileTx{Tx: tx}, "a")[0].Config.ID
		if err := tx.DeleteBucket(outboxBucket); err != nil {
			return err
		}
		b, err := tx.CreateBucket(pendingBucket)
		for i := range 3 {
			if err == nil {
				err = b.Put(binary.BigEndian.AppendUint64(nil, uint64(i+1)), fmt.Appendf(nil, `{"task":"a","config":%q,"body":{"number":%d}}`, config, i))
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.close()
	var ids []string
	for range 2 { // reading the file does not change it again
		if s, err = openStore(name, Limits{}.withDefaults()); err != nil {
			t.Fatal(err)
		}
		left, err := left(s)
		if err != nil || len(left) != 3 {
			t.Fatalf("%+v, %v", left, err)
		}
		for _, l := range left {
			ids = append(ids, l.ID)
		}
		s.close()
	}
	serve(t, Config{Mind: says("x"), File: name, PushTo: loopback})
	hook.await(t, 3)
	for i, body := range hook.bodies {
		if id := hook.got[i].Header.Get("Idempotency-Key"); body != fmt.Sprintf(`{"number":%d}`, i) || id != ids[i] || id != ids[i+3] || id == "" {
			t.Errorf("push %d: %s with the ID %q; the outbox had %q", i, body, id, ids)
		}
	}
}

// A task that ended keeps nothing for a mind.
func TestEndDropsMemo(t *testing.T) {
	s := emptyStore(t, Limits{})
	task := &a2a.Task{ID: "a", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	create(t, context.Background(), s, task)
	if err := s.keepMemo("", "a", 1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.interrupted(); err != nil {
		t.Fatal(err)
	}
	if memo, err := s.memo("", "a", 1); memo != nil || err != nil {
		t.Errorf("%q, %v", memo, err)
	}
}
