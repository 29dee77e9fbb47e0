package a2aserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"

	"github.com/sotto-llm/sotto/internal/base/retry"
)

const (
	pushTries    = 6 // of one push
	pushLongest  = time.Minute
	pushPatience = 24 * time.Hour // that a receiver may ask to wait
	pushTimeout  = 15 * time.Second
	pushAtOnce   = 16
	pushEach     = 4        // at once for the tasks of one caller, so that receivers that hang delay nobody else's
	pushBytes    = 64 << 20 // of pushes that wait in memory
)

// pushPause is the longest wait before the second try. The tests shorten it.
var pushPause = time.Second

// A sender delivers pushes, to each receiver in order. It retries with growing
// pauses. The task never waits for it. Pushes that say that a task has ended or
// waits for input are on disk until they have arrived or were given up.
type sender struct {
	store  *store
	guard  guard
	limits Limits
	log    *slog.Logger
	client *http.Client
	pause  time.Duration // before the second try, at most

	ctx    context.Context
	stop   context.CancelFunc
	atOnce chan struct{}
	wait   sync.WaitGroup
	mu     sync.Mutex
	room   int                      // for the bodies of letters, in bytes
	lanes  map[string]chan struct{} // by caller
	queues map[string][]letter      // waiting letters, by the key of their configuration; an entry exists while a goroutine delivers it
}

var _ push.Sender = (*sender)(nil)

func newSender(s *store, g guard, l Limits, log *slog.Logger) *sender {
	p := &sender{
		store: s, guard: g, limits: l, log: log, client: g.client(pushTimeout), pause: pushPause, room: pushBytes,
		atOnce: make(chan struct{}, pushAtOnce), queues: map[string][]letter{}, lanes: map[string]chan struct{}{},
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// close ends the deliveries. The next sender delivers what is on disk.
func (p *sender) close() {
	p.stop()
	p.wait.Wait()
}

// SendPush implements [push.Sender]. It only queues the push: an error here would
// fail the task. Pushes of tasks that rest are in the outbox already.
func (p *sender) SendPush(ctx context.Context, config *a2a.PushConfig, event a2a.Event) error {
	if rests(event) {
		return nil
	}
	if u, ok := event.(*a2a.TaskArtifactUpdateEvent); ok && !u.LastChunk {
		return nil // a piece of the answer: the whole answer follows
	}
	owner := visitFrom(ctx).caller
	c, ok, err := p.config(owner, config.TaskID, config.ID)
	if err == nil && !ok {
		return nil
	}
	var l letter
	if err == nil {
		l, err = p.letter(owner, c, event)
	}
	if err != nil {
		p.log.Error("a push cannot be written", "task", string(config.TaskID), "error", err)
		return nil
	}
	p.post(l)
	return nil
}

// letter makes a push that is kept in memory.
func (p *sender) letter(owner string, c pushConfig, event a2a.Event) (letter, error) {
	var task *a2a.Task
	if c.Legacy {
		r, err := p.store.row(owner, c.Config.TaskID)
		if err != nil {
			return letter{}, err
		}
		task = r.Task
	}
	return newLetter(owner, c, event, task)
}

// resume posts what an earlier sender left in the outbox.
func (p *sender) resume() error {
	for _, t := range p.store.alone() {
		left, err := p.store.unsent(t.owner, t.id)
		if err != nil {
			return err
		}
		for _, l := range left {
			p.post(l)
		}
	}
	return nil
}

// post queues a push after the others of its receiver. If too many wait, it drops
// the oldest that only reports progress. If they hold too much memory, it drops the
// new one.
func (p *sender) post(l letter) {
	key := string(configKey(l.Task, l.Config))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	if len(l.Body) > p.room {
		p.log.Warn("a push was dropped: too many wait for receivers", "task", string(l.Task))
		return
	}
	p.room -= len(l.Body)
	queue, busy := p.queues[key]
	queue = append(queue, l)
	for i := 0; len(queue) > p.limits.Queue && i < len(queue); i++ {
		if !queue[i].kept() {
			p.room += len(queue[i].Body)
			queue = append(queue[:i:i], queue[i+1:]...)
			break
		}
	}
	p.queues[key] = queue
	if !busy {
		p.wait.Go(func() { p.deliver(key) })
	}
}

// deliver sends what waits for one receiver, until nothing is left.
func (p *sender) deliver(key string) {
	for {
		p.mu.Lock()
		queue := p.queues[key]
		if len(queue) == 0 || p.ctx.Err() != nil {
			delete(p.queues, key)
			p.mu.Unlock()
			return
		}
		l := queue[0]
		p.queues[key] = queue[1:]
		p.mu.Unlock()
		if p.bring(l) {
			if err := p.store.sent(l); err != nil {
				p.log.Error("a push that was delivered may be delivered again", "task", string(l.Task), "error", err)
			}
		}
		p.mu.Lock()
		p.room += len(l.Body)
		p.mu.Unlock()
	}
}

// lane returns the lane for the pushes of a caller's tasks. A lane lets a few
// through at once.
func (p *sender) lane(owner string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	lane, ok := p.lanes[owner]
	if !ok {
		lane = make(chan struct{}, pushEach)
		p.lanes[owner] = lane
	}
	return lane
}

// enter waits for a place in a lane, and among all. It returns false if the sender
// was closed meanwhile.
func (p *sender) enter(lane chan struct{}) bool {
	for _, places := range []chan struct{}{lane, p.atOnce} {
		select {
		case places <- struct{}{}:
		case <-p.ctx.Done():
			return false
		}
	}
	return true
}

// bring tries until a push has arrived or is given up. It returns false if the
// sender was closed meanwhile.
func (p *sender) bring(l letter) bool {
	lane, tries := p.lane(l.owner), 0
	policy := retry.Policy{Attempts: pushTries, First: p.pause, Longest: pushLongest, Patience: pushPatience}
	err := policy.Do(p.ctx, func() (retry.Verdict, error) {
		if !p.enter(lane) {
			return retry.Verdict{}, p.ctx.Err()
		}
		defer func() { <-p.atOnce; <-lane }()
		c, ok, err := p.config(l.owner, l.Task, l.Config)
		if err != nil || !ok { // nobody wants it any more
			return retry.Verdict{Again: err != nil}, err
		}
		tries++
		return p.send(c, l)
	}, nil)
	switch {
	case err == nil:
	case p.ctx.Err() != nil:
		return false
	default:
		p.log.Warn("a push was given up", "task", string(l.Task), "config", l.Config, "tries", tries, "error", err)
	}
	return true
}

// send makes one attempt. It says whether another may help, and when.
func (p *sender) send(c pushConfig, l letter) (v retry.Verdict, err error) {
	body := []byte(l.Body)
	if l.kept() {
		if body, err = p.store.unsentBody(l); err != nil || body == nil {
			return v, err // it was dropped with its task
		}
	}
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, c.Config.URL, bytes.NewReader(body))
	if err != nil {
		return v, err
	}
	req.Header.Set("User-Agent", "sotto")
	req.Header.Set("Idempotency-Key", l.ID)
	req.Header.Set("Content-Type", "application/a2a+json")
	if c.Legacy {
		req.Header.Set("Content-Type", "application/json")
	}
	if t := c.Config.Token; t != "" {
		req.Header.Set("A2A-Notification-Token", t)
		req.Header.Set("X-A2A-Notification-Token", t)
	}
	if a := c.Config.Auth; a != nil && a.Credentials != "" {
		scheme := "Bearer "
		if strings.EqualFold(a.Scheme, "basic") {
			scheme = "Basic "
		}
		req.Header.Set("Authorization", scheme+a.Credentials)
	}
	point("before push")
	res, err := p.client.Do(req)
	point("after push")
	if err != nil {
		return retry.Verdict{Again: !refusedAddress(err)}, scrub(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	if res.StatusCode/100 == 2 {
		return v, nil
	}
	v = retry.Verdict{Again: retry.Status(res.StatusCode), After: retry.After(res.Header, time.Now())}
	return v, fmt.Errorf("the receiver answered %d", res.StatusCode)
}
