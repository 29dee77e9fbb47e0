package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A tally is a mind that counts how often it works on each text. A text that begins with "ask"
// gets a question.
type tally struct {
	mu   sync.Mutex
	runs map[string]int
}

func (m *tally) Answer(_ context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[turn.Text]++
	if strings.HasPrefix(turn.Text, "ask") {
		return Outcome{Question: "What?", Memo: []byte(`1`)}, nil
	}
	return Outcome{Text: "So " + turn.Text}, nil
}

func (m *tally) of(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[text]
}

// named is a message with an id.
func named(id, text string, task a2a.TaskID) *a2a.SendMessageRequest {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.ID, m.TaskID = id, task
	return &a2a.SendMessageRequest{Message: m}
}

// taskAnswering returns the task that answers a message, in one of the ways in which a client sends.
func taskAnswering(ctx context.Context, c *a2aclient.Client, req *a2a.SendMessageRequest, how int) (id a2a.TaskID, err error) {
	switch how {
	case 0:
		for e, err := range c.SendStreamingMessage(ctx, req) {
			if err != nil {
				return "", err
			}
			id = e.TaskInfo().TaskID
		}
		return id, nil
	case 1:
		req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	}
	res, err := c.SendMessage(ctx, req)
	if err != nil {
		return "", err
	}
	return res.(*a2a.Task).ID, nil
}

// TestRepeats: two callers send messages with ids from a small pool, several times at once, by
// every binding, with the same or with another content, and the server is restarted in between.
// For each caller and id, the model has the content and the task of the first message.
func TestRepeats(t *testing.T) {
	const ids, steps = 12, 60
	type first struct {
		text     string
		to, task a2a.TaskID
	}
	for seed := range uint64(3 * effort.Times()) {
		r := rand.New(rand.NewPCG(seed, 43))
		mind := &tally{runs: map[string]int{}}
		c := Config{Mind: mind, File: file(t), Tokens: []Token{{Name: "ann", Secret: "a"}, {Name: "bob", Secret: "b"}}}
		h := serveUntil(t, c)
		clients := map[string]*a2aclient.Client{}
		sender := func(secret string) *a2aclient.Client {
			key := fmt.Sprint(secret, r.IntN(len(bindings)))
			if clients[key] == nil {
				clients[key] = client(t, h.url(), int(key[1]-'0'), "Authorization", "Bearer "+secret)
			}
			return clients[key]
		}
		model, texts := map[string]first{}, 0
		for range steps {
			if r.IntN(15) == 0 {
				h.close(t)
				h, clients = serveUntil(t, c), map[string]*a2aclient.Client{}
				continue
			}
			secret := []string{"a", "b"}[r.IntN(2)]
			id := fmt.Sprint("m", r.IntN(ids))
			was, known := model[secret+id]
			now := was
			if !known || r.IntN(3) == 0 {
				texts++
				now = first{text: fmt.Sprint([]string{"ask ", "say "}[r.IntN(2)], texts)}
				for key, other := range model { // some answer the question of a task
					if r.IntN(3) == 0 && key[:1] == secret && strings.HasPrefix(other.text, "ask") && other.to == "" && known == false {
						now = first{text: fmt.Sprint("say ", texts), to: other.task}
						break
					}
				}
			}
			before := mind.of(now.text)
			got := make([]a2a.TaskID, 1+r.IntN(3))
			errs := make([]error, len(got))
			var all sync.WaitGroup
			for i := range got {
				cl, how := sender(secret), r.IntN(3)
				all.Go(func() { got[i], errs[i] = taskAnswering(t.Context(), cl, named(id, now.text, now.to), how) })
			}
			all.Wait()
			switch {
			case known && now != was:
				for i, err := range errs {
					if err == nil || !strings.Contains(err.Error(), "another content") || got[i] != "" {
						t.Fatalf("seed %d: %s with another content: task %q, %v", seed, id, got[i], err)
					}
				}
				if mind.of(now.text) != 0 {
					t.Fatalf("seed %d: another content ran", seed)
				}
				continue
			case known && before != 1:
				t.Fatalf("seed %d: %q ran %d times", seed, now.text, before)
			}
			if now.to != "" && errs[0] != nil { // the task no longer waits
				for _, err := range errs {
					if err == nil {
						t.Fatalf("seed %d: one of the same answers was taken, another was not: %v", seed, errs)
					}
				}
				if mind.of(now.text) != 0 {
					t.Fatalf("seed %d: a refused message ran", seed)
				}
				continue
			}
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("seed %d: %s %q: %v", seed, id, now.text, err)
			}
			now.task = got[0]
			if known && now.task != was.task || now.to != "" && now.task != now.to {
				t.Fatalf("seed %d: %s got task %s, want %s%s", seed, id, now.task, was.task, now.to)
			}
			for _, task := range got {
				if task != now.task {
					t.Fatalf("seed %d: the same message made the tasks %q", seed, got)
				}
			}
			if _, err := taskAnswering(t.Context(), sender(secret), named(id, now.text, now.to), 2); err != nil { // it waits until the task rests
				t.Fatal(err)
			}
			model[secret+id] = now
		}
		h.close(t)
		for _, m := range model {
			if n := mind.of(m.text); n != 1 {
				t.Errorf("seed %d: %q ran %d times", seed, m.text, n)
			}
		}
	}
}

// A message that comes again while the first one is worked on gets the same answer, in each of the
// ways to ask for it.
func TestRepeatOfRunning(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	h := serve(t, Config{Mind: mindFunc(func(context.Context, Turn, func(Event) error) (Outcome, error) {
		begun <- struct{}{}
		<-finish
		return Outcome{Text: "Yes."}, nil
	})})
	c := client(t, h.url(), 0)
	type result struct {
		task *a2a.Task
		err  error
	}
	results := make(chan result, 2)
	get := func() {
		res, err := c.SendMessage(t.Context(), named("m", "Hi", ""))
		task, _ := res.(*a2a.Task)
		results <- result{task, err}
	}
	go get()
	<-begun
	go get()
	at := named("m", "Hi", "")
	at.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	running := send(t, c, at)
	if running.Status.State.Terminal() {
		t.Errorf("the task is in %s", running.Status.State)
	}
	var last a2a.Event
	n := 0
	for e, err := range c.SendStreamingMessage(t.Context(), named("m", "Hi", "")) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			close(finish)
		}
		last = e
	}
	if u, ok := last.(*a2a.TaskStatusUpdateEvent); !ok || u.Status.State != a2a.TaskStateCompleted || n < 2 || u.TaskID != running.ID {
		t.Errorf("the stream ends with %+v after %d events", last, n)
	}
	for range 2 {
		r := <-results
		if r.err != nil {
			t.Fatal(r.err)
		}
		if text, _ := answerOf(t, r.task); text != "Yes." || r.task.ID != running.ID {
			t.Errorf("%q of task %s", text, r.task.ID)
		}
	}
}

// What is noted of a message goes with its task. A message whose task was refused is not noted.
func TestNotedWithTask(t *testing.T) {
	s := emptyStore(t, Limits{})
	notes := func() (n int) {
		err := s.keeper.(*fileKeeper).db.View(func(tx *bbolt.Tx) error {
			n = tx.Bucket(messagesBucket).Stats().KeyN
			if k := tx.Bucket(takenBucket).Stats().KeyN; k != n {
				t.Errorf("%d messages are noted, and %d by their tasks", n, k)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	take := func(i int) (*a2a.Task, context.Context) {
		task := finishedTask(i, 1)
		m := sendingOf("", named(fmt.Sprint(i), "Hi", "").Message)
		ctx := visit{message: m}.in(t.Context())
		if id, err := s.claim(ctx, m); id != "" || err != nil {
			t.Fatal(id, err)
		}
		create(t, ctx, s, task)
		return task, ctx
	}
	one, ctx := take(1)
	take(2)
	if n := notes(); n != 2 {
		t.Fatalf("%d messages are noted", n)
	}
	twice := finishedTask(3, 1)
	late := *visitFrom(ctx).message
	late.noted = false
	if _, err := s.Create(visit{message: &late}.in(t.Context()), twice); !errors.Is(err, errTaken) {
		t.Errorf("a second task of the same message: %v", err)
	}
	if _, ok := s.keeper.(*fileKeeper).index.get(twice.ID); ok {
		t.Error("it is kept")
	}
	other := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: "refused", ContextID: "c"}, message("Hi").Message)
	m := sendingOf("", named("refused", "Hi", "").Message)
	create(t, visit{message: m}.in(t.Context()), s, other)
	if n := notes(); n != 3 {
		t.Errorf("%d messages are noted", n)
	}
	other.Status.State = a2a.TaskStateRejected
	if _, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: other, PrevVersion: 1}); err != nil || notes() != 2 {
		t.Errorf("%d messages are noted, %v", notes(), err)
	}
	err := s.drop([]*listed{{id: one.ID}})
	if err != nil || notes() != 1 {
		t.Errorf("%d messages are noted, %v", notes(), err)
	}
}

// An unleft is the SDK while it has not yet left the work that made a task wait.
type unleft struct {
	a2asrv.RequestHandler
	mu    sync.Mutex
	times int // how many calls it refuses
}

var errUnleft = errors.New("create execution failure: task execution is already in progress")

func (u *unleft) refuses() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.times--
	return u.times >= 0
}

func (u *unleft) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	if u.refuses() {
		return nil, errUnleft
	}
	return u.RequestHandler.SendMessage(ctx, req)
}

func (u *unleft) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	if u.refuses() {
		return func(yield func(a2a.Event, error) bool) { yield(nil, errUnleft) }
	}
	return u.RequestHandler.SendStreamingMessage(ctx, req)
}

// TestAnswerAtOnce: an answer is taken although the work that asked has not ended for the SDK. A
// message to a task that has ended is refused as it was.
func TestAnswerAtOnce(t *testing.T) {
	mind := &tally{runs: map[string]int{}}
	s := serveUntil(t, Config{Mind: mind, File: file(t)})
	defer s.close(t)
	c := client(t, s.url(), 0)
	h := s.handling.(*handler)
	sdk := h.RequestHandler
	for how := range 3 {
		h.RequestHandler = sdk
		asked := fmt.Sprint("ask ", how)
		task, err := taskAnswering(t.Context(), c, named(asked, asked, ""), 2)
		if err != nil {
			t.Fatal(err)
		}
		busy := &unleft{RequestHandler: sdk, times: 3}
		h.RequestHandler = busy
		said := fmt.Sprint("say ", how)
		if got, err := taskAnswering(t.Context(), c, named(said, said, task), how); err != nil || got != task {
			t.Errorf("way %d: %q, %v", how, got, err)
		}
		if busy.times >= 0 {
			t.Fatalf("way %d: the server did not ask the SDK: %d", how, busy.times)
		}
		h.RequestHandler = &unleft{RequestHandler: sdk, times: 1000}
		if _, err := taskAnswering(t.Context(), c, named(said+"b", said+"b", task), how); err == nil {
			t.Errorf("way %d: the task has ended, and took a message", how)
		}
		if n := mind.of(said); n != 1 {
			t.Errorf("way %d: the answer ran %d times", how, n)
		}
	}
}
