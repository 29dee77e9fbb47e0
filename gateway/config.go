package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A Config configures a gateway. Its zero value, with an Upstream set, is right for
// one person on one machine.
type Config struct {
	// Upstream is the base URL of the model server. It is fixed here, so that no
	// request can choose another. Its path is put before the request's.
	Upstream *url.URL
	// UpstreamAPI is the API that the upstream speaks, by a name of [APIs]. Requests of other APIs
	// are translated, and so are the replies. If empty, each request goes on in its own API.
	UpstreamAPI string
	// Templates says that a [Handler] asks its upstream how it renders a prompt, if
	// nothing else shows where a reply begins. A prompt that opens the model's reasoning
	// would otherwise make the first two streams leak. An Asking says which upstreams
	// are asked; if empty, AskAuto.
	Templates   bool
	AskUpstream Asking
	// UpstreamKey, if set, is the API key sent to the upstream in place of the
	// client's.
	UpstreamKey string
	// Token, if set, is an API key of clients, with all scopes. Its name is "token".
	// Tokens are those of several callers. If there is any token, clients must send
	// one. Tokens are compared in constant time and never sent on.
	Token  string
	Tokens []Token
	// Closed says that clients must send a token even if there is none: then nobody is
	// served until [Handler.Reload] gives some. A gateway that needed a token goes on to
	// need one after a reload that gives none.
	Closed bool

	// UpstreamHeaderTimeout is how long the header of the upstream's response may take,
	// from the moment the request is sent. If zero, only Silence bounds it.
	UpstreamHeaderTimeout time.Duration
	// UpstreamRetries is how often, 10 at most, a request is sent again whose response has
	// not begun: because the upstream could not be connected to, or the connection broke,
	// or the upstream answered 502, 503 or 504, or 429 with a Retry-After of 10 s or less.
	// The waits between grow from 250 ms to 4 s. If zero, nothing is sent again.
	UpstreamRetries int
	// Upstreams are further model servers, by names for [routing.Route.Upstream]: up to 32
	// lower-case letters and digits, with - or _ between them. Which one a request goes to
	// is decided by its route alone. A request that names no model goes where a model of
	// any name would go. The key of one upstream never goes to another.
	Upstreams map[string]Upstream

	// Default says how replies are handled if no route says otherwise. Routes are
	// tried in order, and the first that matches is used.
	Default routing.Route
	Routes  []routing.Route

	// Named and ForModel look up dialects. If nil, those of package sotto are used.
	Named    func(name string) (*sotto.Grammar, error)
	ForModel func(model string) (g *sotto.Grammar, known bool)

	// Public says that the gateway can be reached from other machines. Then only
	// routes of models and harmless routes pass, unless PassAll is set.
	Public  bool
	PassAll bool
	// PathPrefix, such as "/openai", may precede the paths that pass for other
	// machines. It is sent to the upstream with the path.
	PathPrefix string
	// AllowHosts are names that requests may use for the gateway, in addition to IP
	// addresses and the names of this machine; "*" allows any. With a token and no
	// listed names, any name is allowed.
	AllowHosts []string
	// AllowOrigins are the origins of web pages that may use the gateway, in
	// addition to its own; "*" allows any, and "null" pages without one, such as
	// files, which needs a token.
	AllowOrigins []string

	// An Exactness says which replies are written from what was read of them, and which are edited;
	// if empty, ExactAuto.
	Exact Exactness

	// HistoryDryRun reports what the history policy would do, in the response
	// header Sotto-History and in the log, and does not do it.
	HistoryDryRun bool

	// Data is the folder in which learned starts and conversations are kept. If empty, they are kept
	// only in memory.
	Data string

	// Shared is what this gateway shares with its replicas. If nil, it shares nothing.
	// The caller closes it, after closing the gateway. SharedSecret is the same for all
	// of them, and has 16 bytes or more. It also seals the copies of thoughts that clients
	// keep, with or without Shared; if it is empty, a secret in the data folder does.
	// OldSecrets open such copies that were sealed before the secret was replaced.
	Shared       Shared
	SharedSecret []byte
	OldSecrets   [][]byte

	Limits Limits

	// KeepAlive is how long a client may hear nothing of a stream that has begun: while
	// reasoning is hidden, a start is held, or the upstream is silent. If zero, 10 s.
	KeepAlive time.Duration
	// Silence is how long an upstream may send nothing, or a client take
	// nothing, before the exchange ends as an error. If zero, 10 min.
	Silence time.Duration

	// Logger gets one line per exchange, without content. If nil, nothing is
	// logged.
	Logger *slog.Logger
	// Ready, if set, is asked for each request of /readyz, which answers 503 with the
	// text of the error if there is one, or 200 if it is a [*DegradedError]. Anybody may ask,
	// so it must be cheap.
	Ready func() error
	// Observers see the exchanges, for example [Metrics]. If none of them has
	// metrics, the gateway makes its own.
	Observers []Observer
	// Recorder gets an event for every exchange with a model: what was asked and
	// what was replied, byte for byte, and how it was read. If nil, nothing is
	// recorded. The caller closes it, after closing the gateway.
	Recorder Recorder
	// RecordHeaders are headers of requests, such as X-Session-Id, whose values are
	// recorded as identifiers. They are not taken for credentials.
	RecordHeaders []string
	// Transport reaches the upstream. If nil, the gateway makes its own; see
	// [UpstreamTransport].
	Transport http.RoundTripper
	// Separated reports whether the replies of a model have their reasoning in the
	// API's own place for it, and only the answer in their text. Such a text is not
	// read: markers in it are text. If nil, no model's have.
	Separated func(model string) bool
}

// Limits bound everything that a peer can make larger. Zero means the default; a
// negative value is an error.
type Limits struct {
	// MemoryBytes bounds the bytes that are held for all exchanges together: bodies,
	// frames, held text, what reading a history takes, and what waits to be
	// recorded. When they are spent, new requests are refused with 503. Streams
	// that have begun continue, as long as they overdraw it by no more than half.
	// If zero, a quarter of the memory that the process may use.
	MemoryBytes int64
	Body        int64 // bytes of a request's body, and of a whole reply's; 64 MiB
	Frame       int   // bytes of one frame of a stream; 4 MiB
	Header      int   // bytes of a request's header, and of an upstream's response; 64 KiB
	Exchanges   int   // at the same time; 10000
	Choices     int   // texts, blocks or items of a reply; one more is an error; 1024
	Hold        int   // bytes of a reply held while their channel is undecided; 256 KiB
	Learned     int   // entries of learned starts; 4096
	Restored    int   // entries of reasoning to restore; 4096
	// RestoredBytes bounds the memory of the restored entries, 64 MiB; RestoredFor
	// bounds their age, 6 h.
	RestoredBytes int64
	RestoredFor   time.Duration
	Recorded      int // bytes recorded of an exchange's messages, and of its reply; 4 MiB
	Labels        int // models and other values of metric labels; the rest is "other"; 64
	// Conversations bounds how many conversations a [Handler] keeps, 10000, and ConversationsBytes
	// the bytes of all, 1 GiB; with Shared, they hold for each caller. At Conversation bytes, 4 MiB,
	// one takes no further turn. ConversationsFor is how long one is kept after its last turn, 30 days.
	Conversations                    int
	ConversationsBytes, Conversation int64
	ConversationsFor                 time.Duration
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&l.Frame, 4<<20)
	set(&l.Header, 64<<10)
	set(&l.Exchanges, 10000)
	set(&l.Choices, 1024)
	set(&l.Hold, 256<<10)
	set(&l.Learned, 4096)
	set(&l.Restored, 4096)
	set(&l.Labels, 64)
	set(&l.Recorded, 4<<20)
	if l.MemoryBytes == 0 {
		l.MemoryBytes = serving.DefaultMemory()
	}
	if l.Body == 0 {
		l.Body = 64 << 20
	}
	if l.RestoredBytes == 0 {
		l.RestoredBytes = 64 << 20
	}
	if l.RestoredFor == 0 {
		l.RestoredFor = 6 * time.Hour
	}
	return l
}

// boundsOf returns the limits of one reply.
func boundsOf(l Limits) reading.Bounds {
	return reading.Bounds{Frame: l.Frame, Choices: l.Choices, Hold: l.Hold, Recorded: l.Recorded}
}

// A ConfigError says which part of a configuration is wrong.
type ConfigError struct {
	Route int    // its index in Config.Routes; -1 for Config.Default, or for a part outside the routes
	Key   string // the part, as a configuration file spells it
	Err   error
}

func (e *ConfigError) Error() string {
	if e.Route >= 0 {
		return fmt.Sprintf("routes[%d].%s: %v", e.Route, e.Key, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Key, e.Err)
}

func (e *ConfigError) Unwrap() error { return e.Err }

// Check reports everything that is wrong with a configuration, each fault as a
// [*ConfigError].
func (c *Config) Check() []error {
	all := c.faults()
	if err := checkUpstream(c.Upstream); err != nil {
		all = append([]error{&ConfigError{-1, "upstream", err}}, all...)
	}
	return all
}

// faults are what is wrong whoever sends the requests.
func (c *Config) faults() []error {
	var all []error
	fault := func(route int, key string, err error) {
		if err != nil {
			all = append(all, &ConfigError{route, key, err})
		}
	}
	fault(-1, "path-prefix", checkPrefix(c.PathPrefix))
	fault(-1, "allow-hosts", checkHosts(c.AllowHosts))
	fault(-1, "allow-origins", c.checkOrigins())
	fault(-1, "record-headers", checkIDHeaders(c.RecordHeaders))
	fault(-1, "ask-upstream", faults.OneOf(c.AskUpstream, Askings()))
	fault(-1, "exact", faults.OneOf(c.Exact, Exactnesses()))
	for _, wrong := range access.Check(c.tokens()) {
		fault(-1, "tokens."+wrong.Name, wrong.Err)
	}
	for _, b := range c.bounds() {
		if b.value < 0 {
			fault(-1, b.key, errNegative)
		}
	}
	c.checkUpstreams(fault)
	for i, r := range append([]routing.Route{c.Default}, c.Routes...) {
		i--
		fault(i, "dialect", c.checkDialect(r.Dialect))
		fault(i, "start", c.checkStart(r))
		r.Check(c.Default, func(key string, err error) { fault(i, key, err) })
	}
	return all
}

// secrets are the values that no log and no record may hold.
func (c *Config) secrets() []string {
	list := c.keys()
	for _, t := range c.tokens() {
		list = append(list, t.Secret)
	}
	return list
}

// A bound is a value of a configuration that cannot be negative.
type bound struct {
	key   string
	value int64
}

func (c *Config) bounds() []bound {
	l := &c.Limits
	return []bound{
		{"limits.memory", l.MemoryBytes}, {"limits.body", l.Body}, {"limits.frame", int64(l.Frame)},
		{"limits.header", int64(l.Header)}, {"limits.exchanges", int64(l.Exchanges)}, {"limits.choices", int64(l.Choices)},
		{"limits.hold", int64(l.Hold)}, {"limits.learned", int64(l.Learned)}, {"limits.restored", int64(l.Restored)},
		{"limits.restored-bytes", l.RestoredBytes}, {"limits.restored-for", int64(l.RestoredFor)},
		{"limits.recorded", int64(l.Recorded)}, {"limits.labels", int64(l.Labels)},
		{"limits.conversations", int64(l.Conversations)}, {"limits.conversations-bytes", l.ConversationsBytes},
		{"limits.conversation", l.Conversation}, {"limits.conversations-for", int64(l.ConversationsFor)},
		{"keep-alive", int64(c.KeepAlive)}, {"silence", int64(c.Silence)}, {"upstream-header-timeout", int64(c.UpstreamHeaderTimeout)},
	}
}

func checkUpstream(u *url.URL) error {
	switch {
	case u == nil:
		return fmt.Errorf("none is given")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q: want http://HOST or https://HOST", u.Redacted())
	case u.Host == "":
		return fmt.Errorf("%q has no host", u.Redacted())
	case u.User != nil:
		return fmt.Errorf("%q has a password: use the upstream key", u.Redacted())
	}
	return nil
}

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	u := &url.URL{Path: prefix}
	if access.CheckPath(u) != nil || u.EscapedPath() != prefix || strings.HasSuffix(prefix, "/") {
		return fmt.Errorf("%q: want the beginning of a path such as /openai, without a slash at its end", prefix)
	}
	return nil
}

func checkHosts(names []string) error {
	for _, name := range names {
		other := func(r rune) bool {
			return r != '-' && r != '.' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}
		if name != "*" && (name == "" || strings.ContainsFunc(strings.ToLower(name), other)) {
			return fmt.Errorf("%q: want a name such as chat.example, without a scheme and a port, or *", name)
		}
	}
	return nil
}

// checkOrigins refuses an origin that does not tell pages apart.
func (c *Config) checkOrigins() error {
	if slices.Contains(c.AllowOrigins, "null") && len(c.tokens()) == 0 {
		return errors.New("null is the origin of files, and of frames that any web page can make: it needs a token (token-file)")
	}
	return nil
}

// checkIDHeaders refuses headers that hold credentials, or that are not headers.
func checkIDHeaders(names []string) error {
	for _, name := range names {
		if !headerName.MatchString(name) {
			return fmt.Errorf("%q is not the name of a header such as X-Session-Id", name)
		}
		if credentialHeader.MatchString(name) {
			return fmt.Errorf("%s holds credentials, which are not recorded: name a header with an identifier, such as X-Session-Id", name)
		}
	}
	return nil
}

var (
	headerName       = lazyregexp.New(`^[A-Za-z0-9-]{1,64}$`)
	credentialHeader = lazyregexp.New(`(?i)authorization|token|secret|passw|credential|cookie|signature|api-?key`)
)

func (c *Config) checkDialect(name string) error {
	if name == "" {
		return nil
	}
	_, err := c.named(name)
	return err
}

// checkStart tries the start with the route's dialect, or with the default grammar
// if the route names no dialect.
func (c *Config) checkStart(r routing.Route) error {
	if r.Start == "" || r.Start == sotto.BeginOutside || r.Start == sotto.BeginAuto || r.Start == sotto.BeginInsideFirst {
		return nil
	}
	g := sotto.Default()
	if r.Dialect != "" {
		named, err := c.named(r.Dialect)
		if err != nil {
			return nil // already reported
		}
		g = named
	}
	_, err := g.NewSplitter(sotto.Options{Start: r.Start})
	return err
}

func (c *Config) named(name string) (*sotto.Grammar, error) {
	if c.Named != nil {
		return c.Named(name)
	}
	return sotto.Named(name)
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	if c.KeepAlive == 0 {
		c.KeepAlive = 10 * time.Second
	}
	if c.Silence == 0 {
		c.Silence = 10 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Transport == nil {
		c.Transport = UpstreamTransport(c.Limits)
	}
	c.Default = c.Default.WithDefaults()
	c.Routes = slices.Clone(c.Routes)
	for i := range c.Routes {
		c.Routes[i] = c.Routes[i].Over(c.Default)
		c.Routes[i].Name = cmp.Or(c.Routes[i].Name, fmt.Sprintf("routes[%d]", i))
	}
	c.Default.Name = cmp.Or(c.Default.Name, defaultRoute)
	return c
}

// defaultRoute is the name of the route that holds if no other does.
const defaultRoute = "default"
