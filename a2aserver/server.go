package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/eventqueue"

	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/record"
)

// A Config configures a server. Its zero value, with a Mind, is right for one
// person on one machine.
type Config struct {
	// Mind answers the messages.
	Mind Mind
	// Card is what the agent's card says about the agent itself.
	Card Card

	// Path is put before the paths of the protocol on the card, for a server that
	// shares its address with others: the handler is reached below it, without it
	// ([http.StripPrefix]).
	Path string
	// Beside is a server of the same process whose limits on memory, requests and
	// running tasks hold for both together. It must be closed last.
	Beside *Server

	// Public says that other machines can reach the server. Then it needs
	// Tokens, or Insecure.
	Public   bool
	Insecure bool
	// Tokens are what callers send. Those whose scopes do not include "agent" are
	// refused. Without tokens, everybody who can reach the server is one caller.
	Tokens []Token
	// Closed says that callers must send a token even if there is none: then nobody is
	// served until [Server.SetTokens] gives some.
	Closed bool
	// AllowHosts are names that requests may use for the server, in addition to IP
	// addresses and the names of this machine; "*" allows any. With Tokens and no
	// listed names, any name is allowed.
	AllowHosts []string
	// AllowOrigins are the origins of web pages that may use the server, in
	// addition to its own; "*" allows any.
	AllowOrigins []string

	// Reasoning says that clients may ask for the model's reasoning, by
	// [ReasoningExtension].
	Reasoning bool

	// Previews says that status updates have the beginnings of what tools get and give.
	Previews bool

	// Record, if set, gets all that the mind thinks, as runs and cycles: a run is a
	// task, named by its id, and a cycle is a message. A turn that cannot be
	// recorded fails.
	Record *record.Writer

	// Shared, if set, is where tasks are kept for several processes with the same Mind. Each of
	// them answers for all tasks, and goes on with those of one that has ended. [Limits.Tasks]
	// and [Limits.Bytes] then hold for each caller.
	Shared *transact.Space

	// File is where tasks are kept, unless Shared is set: then they are moved from there. If empty, they end with the process: they are
	// in a temporary file, which has no name while the server runs if the system
	// allows that (Windows does not).
	File string

	// NoPush turns push notifications off. PushTo are addresses that pushes may go
	// to in addition to public ones, such as 10.1.0.0/16. Plain HTTP to these is
	// also allowed.
	NoPush bool
	PushTo []netip.Prefix

	// Silence is how long a mind may give no sign of life. If zero, 10 min.
	Silence time.Duration
	// KeepAlive is how often a stream on which nothing happens gets a comment. If
	// zero, 15 s.
	KeepAlive time.Duration
	Limits    Limits

	// Logger gets reports of faults, without texts and secrets. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

// A Server is an agent that speaks A2A. It is safe for concurrent use.
type Server struct {
	mind      Mind
	card      Card
	path      string // before those of the protocol, on the card
	access    *access.Control
	needs     bool // callers must have a token
	extended  bool // the extended card is served: there were tokens at the start
	reasoning bool
	previews  bool
	silence   time.Duration
	limits    Limits
	gaps      gaps
	log       *slog.Logger

	store    *store
	leases   *leases               // nil if the tasks are in a file
	sdk      a2asrv.RequestHandler // without what is around a call
	handling a2asrv.RequestHandler // … with it
	push     *sender               // nil if there are no pushes
	requests *access.Slots         // HTTP requests
	memory   *serving.Arrivals     // their bodies, and what they hold
	pace     serving.Pace          // of their bodies
	running  *access.Slots         // tasks
	mux      http.Handler

	closing context.Context
	shut    context.CancelFunc
	once    sync.Once
	closed  error // of Close
	minds   sync.WaitGroup
	mu      sync.Mutex
	open    map[*a2asrv.ExecutorContext]struct{} // executions whose last event is not stored
	idle    chan struct{}                        // closed when there are none, while Close waits
	tasks   sync.WaitGroup                       // of the server's own goroutines
}

// New makes a server and opens its store. Tasks on which an earlier process was
// working fail, with the ending [Interrupted].
func New(c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("a2aserver: %w", err)
	}
	limits := c.Limits.withDefaults()
	or(&c.Silence, 10*time.Minute)
	or(&c.KeepAlive, 15*time.Second)
	or(&c.Logger, slog.New(slog.DiscardHandler))
	st, err := c.open(&limits)
	if err != nil {
		return nil, fmt.Errorf("a2aserver: %w", err)
	}
	s := &Server{
		mind: c.Mind, card: c.Card.withDefaults(), path: c.Path, reasoning: c.Reasoning, previews: c.Previews,
		silence: c.Silence, limits: limits, gaps: gaps{progressGap, chunkGap}, log: c.Logger, store: st,
		requests: access.NewSlots(limits.All, limits.Requests), memory: serving.NewArrivals(maxArriving, limits.MemoryBytes), running: access.NewSlots(limits.Running, limits.Each),
		open: map[*a2asrv.ExecutorContext]struct{}{}, needs: c.needsToken(),
	}
	st.runs = newRecording(&c, s.card)
	s.leases = newLeases(s, st.space)
	st.leases, st.log = s.leases, c.Logger
	if b := c.Beside; b != nil {
		s.requests, s.memory, s.running = b.requests, b.memory, b.running
	}
	s.access = access.New(access.Rules{
		Name: "agent", Public: c.Public, Tokens: c.Tokens, Closed: c.Closed, AllowHosts: c.AllowHosts, AllowOrigins: c.AllowOrigins,
		Methods: []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions}, Log: c.Logger, Refuse: refuse,
	})
	s.extended = s.access.Guarded()
	s.closing, s.shut = context.WithCancel(context.Background())
	if !c.NoPush {
		s.push = newSender(st, guard{allow: c.PushTo}, limits, c.Logger)
		st.post = func(l letter) {
			s.leases.mail(l.owner, l.Task)
			s.push.post(l)
		}
	}
	s.mux = s.routes(c.KeepAlive)
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("a2aserver: %w", err), s.Close())
	}
	s.tasks.Go(s.sweep)
	if s.leases != nil {
		s.tasks.Go(s.leases.run)
	}
	return s, nil
}

// What a store that replicas share can keep of one task.
const (
	sharedTask   = 2 << 20
	sharedAnswer = 1 << 20
)

// open opens the store of the tasks, and lowers limits to what it can keep.
func (c *Config) open(limits *Limits) (*store, error) {
	if c.Shared == nil {
		return openStore(c.File, *limits)
	}
	limits.Task, limits.Answer = min(limits.Task, sharedTask), min(limits.Answer, sharedAnswer)
	s := newStore(&sharedKeeper{c.Shared, *limits}, *limits)
	return s, s.takeIn(c.File)
}

// needsToken reports whether callers must have a token.
func (c *Config) needsToken() bool { return c.Public && !c.Insecure && !c.Closed }

// Check reports faults of a configuration for which New would refuse it. It opens
// nothing.
func (c *Config) Check() error {
	if c.Mind == nil {
		return errors.New("Mind is not set: messages need one")
	}
	if err := checkTokens(c.Tokens, c.needsToken()); err != nil {
		return err
	}
	if c.Card.URL != "" {
		if u, err := url.Parse(c.Card.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("the URL of the card, %q, is not a URL such as https://agent.example", c.Card.URL)
		}
	}
	return nil
}

// handler builds the SDK's part of the server.
func (s *Server) handler() a2asrv.RequestHandler {
	queues := eventqueue.NewInMemoryManager(eventqueue.WithQueueBufferSize(256))
	if s.leases != nil {
		queues = executions{queues, s.leases}
	}
	options := []a2asrv.RequestHandlerOption{
		a2asrv.WithLogger(slog.New(slog.DiscardHandler)), // it quotes what peers sent; the executor logs what matters
		a2asrv.WithTaskStore(s.store),
		a2asrv.WithEventQueueManager(queues),
		a2asrv.WithCallInterceptors(gatekeeper{s: s}),
		a2asrv.WithCapabilityChecks(s.capabilities()),
		a2asrv.WithExecutionPanicHandler(func(v any) error {
			s.log.Error("an execution panicked", "panic", fmt.Sprint(v))
			return a2a.ErrInternalError
		}),
	}
	if s.push != nil {
		options = append(options, a2asrv.WithPushNotifications(s.push, s.push))
	}
	if s.extended {
		options = append(options, a2asrv.WithExtendedAgentCardProducer(a2asrv.ExtendedAgentCardProducerFn(s.extendedCard)))
	}
	s.sdk = a2asrv.NewHandler(&executor{s}, options...)
	s.handling = &handler{RequestHandler: s.sdk, s: s}
	return s.handling
}

// recover fails the tasks that an earlier process left unfinished, and records the ends
// that it did not record.
func (s *Server) recover() error {
	if s.push != nil {
		if err := s.push.resume(); err != nil {
			return err
		}
	}
	if err := s.store.endRuns(); err != nil { // the record is not needed to serve
		s.log.Error("the ends of earlier tasks cannot be recorded", "error", err)
	}
	lost, err := s.store.interrupted()
	for _, task := range lost {
		s.log.Warn("a task did not survive the restart", "task", string(task.ID))
	}
	return err
}

// sweep drops old tasks from time to time.
func (s *Server) sweep() {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := s.store.sweep(time.Now()); err != nil {
			s.log.Error("old tasks cannot be removed", "error", err)
		}
		select {
		case <-tick.C:
		case <-s.closing.Done():
			return
		}
	}
}

// closeWait is how long Close waits until the ended executions are stored.
const closeWait = 10 * time.Second

// Close ends the running tasks, as [Interrupted], and closes the store. Pushes that
// have not arrived are sent by the next server on the same file.
func (s *Server) Close() error {
	s.once.Do(func() { s.closed = s.end() })
	return s.closed
}

func (s *Server) end() (err error) {
	s.shut()
	s.mu.Lock()
	s.idle = make(chan struct{})
	if len(s.open) == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-s.idle
		s.minds.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(closeWait):
		err = errors.New("a2aserver: a mind did not stop")
	}
	if s.push != nil {
		s.push.close()
	}
	s.tasks.Wait()
	s.leases.close()
	return errors.Join(err, s.store.close())
}

// begin registers an execution, or says why it is not accepted.
func (s *Server) begin(ctx context.Context, ec *a2asrv.ExecutorContext) (*access.Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, errClosing
	}
	v := visitFrom(ctx)
	place := v.place
	if place == nil || !place.Use() {
		var err error
		if place, err = s.running.Take(v.caller); err != nil {
			return nil, err
		}
		place.Use()
	}
	s.open[ec] = struct{}{}
	return place, nil
}

// done removes an execution.
func (s *Server) done(ec *a2asrv.ExecutorContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, ec)
	if len(s.open) == 0 && s.idle != nil {
		select {
		case <-s.idle:
		default:
			close(s.idle)
		}
	}
}
