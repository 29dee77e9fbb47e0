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
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/lazyregexp"
	"github.com/sotto-llm/sotto/internal/serving"
	"github.com/sotto-llm/sotto/wire/switches"
)

// A Config configures a gateway. Its zero value, with an Upstream set, is right for
// one person on one machine.
type Config struct {
	// Upstream is the base URL of the model server. It is fixed here, so that no
	// request can choose another. Its path is put before the request's.
	Upstream *url.URL
	// Templates says that a [Handler] asks its upstream how it renders a prompt, if
	// nothing else shows where a reply begins. A prompt that opens the model's reasoning
	// would otherwise make the first two streams leak. AskUpstream says which upstreams
	// are asked; if empty, AskAuto.
	Templates   bool
	AskUpstream AskUpstream
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
	// Upstreams are further model servers, by names for [Route.Upstream]: up to 32
	// lower-case letters and digits, with - or _ between them. Which one a request goes to
	// is decided by its route alone. A request that names no model goes where a model of
	// any name would go. The key of one upstream never goes to another.
	Upstreams map[string]Upstream

	// Default says how replies are handled if no route says otherwise. Routes are
	// tried in order, and the first that matches is used.
	Default Route
	Routes  []Route

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

	// Exact says which replies are written from what was read of them, and which are edited;
	// if empty, ExactAuto.
	Exact Exact

	// HistoryDryRun reports what the history policy would do, in the response
	// header Sotto-History and in the log, and does not do it.
	HistoryDryRun bool

	// Data is the folder in which learned starts are kept. If empty, they are kept
	// only in memory.
	Data string

	// Shared is what this gateway shares with its replicas. If nil, it shares nothing.
	// The caller closes it, after closing the gateway. SharedSecret is the same for all
	// of them, and has 16 bytes or more.
	Shared       Shared
	SharedSecret []byte

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
	// text of the error if there is one, or 200 if it is a [*Degraded]. Anybody may ask,
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

// A Route says how the replies of some models are handled.
type Route struct {
	// Name names the route in the metrics and in the record: letters, digits, and .-_
	// between them. If empty, routes[N], with its index; the name of the default is default.
	Name string
	// Models are patterns of model names, as dialects have them: lower case, no
	// registry path, a hyphen for : and @, * for any run of characters. If empty,
	// the route matches any model. APIs are names of codecs ("openai.chat",
	// "ollama.generate" …). If empty, it matches any API.
	Models []string
	APIs   []string
	// Upstream is the name of one of [Config.Upstreams], to which the requests of the
	// route go. If empty, that of the default route; if that is empty too,
	// [Config.Upstream].
	Upstream string

	Dialect string      // if empty, chosen by the model's name
	Start   sotto.Start // how every reply begins; if empty, decided by evidence

	Display Display // if empty, DisplayField
	// ReasoningFields are the members that reasoning is written to in chat
	// completions. If empty, reasoning_content.
	ReasoningFields []string
	Narration       Narration      // if empty, NarrationText
	History         history.Policy // if empty, history.Auto
	OnNoAnswer      OnNoAnswer     // if empty, NoAnswerEmpty
	// ThinkingLimit is how many bytes of reasoning a reply may have; 0 means no limit.
	// OnThinkingLimit says what happens beyond it; if empty, ThinkingStop.
	ThinkingLimit   int
	OnThinkingLimit OnThinking
	// OnThinkingLoop says what happens if the reasoning repeats one passage again and
	// again; if empty, ThinkingIgnore.
	OnThinkingLoop OnThinking
	// ThinkingSwitch is the form in which the server reads whether and how much to think. A
	// request in another form is translated. If empty, switches.Untouched: none is.
	ThinkingSwitch switches.Words
	// Guard judges the replies before clients get them.
	Guard guard.Rule
	// ResponsesReasoning is the form of reasoning in the responses API; if empty,
	// ReasoningContent. A request that asks for a summary gets ReasoningSummary.
	ResponsesReasoning ResponsesReasoning
	// ThinkingSignature is the signature of a block of thinking that the gateway makes
	// in the messages API; if empty, SignatureEmpty.
	ThinkingSignature ThinkingSignature
	// Calls says what becomes of calls of tools that a model writes into its text; if
	// empty, CallsText.
	Calls Calls

	separated bool // the text holds only the answer; see Config.Separated
}

// A Display says where a reply's reasoning is put.
type Display string

const (
	DisplayField Display = "field" // in the API's place for it: a field, block or item
	DisplayHide  Display = "hide"  // nowhere
	DisplayKeep  Display = "keep"  // where the upstream put it: replies pass unchanged
	DisplayTags  Display = "tags"  // in <think> tags in the content, for clients that know only these
)

// A Narration says where a reply's narration is put.
type Narration string

const (
	NarrationText  Narration = "text"  // in the content, without its tags
	NarrationField Narration = "field" // in a field of its own, where the API has room for one
	NarrationDrop  Narration = "drop"  // nowhere
)

// A ResponsesReasoning is a form of reasoning in the responses API.
type ResponsesReasoning string

const (
	ReasoningContent ResponsesReasoning = "content" // reasoning_text in the content of an item
	ReasoningSummary ResponsesReasoning = "summary" // summary_text, for clients that read nothing else
)

// A ThinkingSignature says how a block is signed that the gateway itself makes.
type ThinkingSignature string

const (
	SignatureEmpty ThinkingSignature = "empty" // an empty one
	// SignatureSotto is one by which the gateway knows the block in the next request,
	// for clients that drop a block with an empty one. No upstream gets it.
	SignatureSotto ThinkingSignature = "sotto"
)

// ResponsesReasonings lists the values of [Route.ResponsesReasoning].
func ResponsesReasonings() []ResponsesReasoning {
	return []ResponsesReasoning{ReasoningContent, ReasoningSummary}
}

// ThinkingSignatures lists the values of [Route.ThinkingSignature].
func ThinkingSignatures() []ThinkingSignature {
	return []ThinkingSignature{SignatureEmpty, SignatureSotto}
}

// Displays lists the values of [Route.Display].
func Displays() []Display {
	return []Display{DisplayField, DisplayHide, DisplayKeep, DisplayTags}
}

// Narrations lists the values of [Route.Narration].
func Narrations() []Narration {
	return []Narration{NarrationText, NarrationField, NarrationDrop}
}

// Policies lists the values of [Route.History].
func Policies() []history.Policy {
	return history.Policies()
}

// Limits bound everything that a peer can make larger. Zero means the default; a
// negative value is an error.
type Limits struct {
	// Memory bounds the bytes that are held for all exchanges together: bodies,
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
	fault(-1, "ask-upstream", oneOf(c.AskUpstream, AskUpstreams()))
	fault(-1, "exact", oneOf(c.Exact, Exacts()))
	for _, wrong := range access.Check(c.tokens()) {
		fault(-1, "tokens."+wrong.Name, wrong.Err)
	}
	for _, b := range c.bounds() {
		if b.value < 0 {
			fault(-1, b.key, errNegative)
		}
	}
	c.checkUpstreams(fault)
	for i, r := range append([]Route{c.Default}, c.Routes...) {
		i--
		fault(i, "dialect", c.checkDialect(r.Dialect))
		fault(i, "start", c.checkStart(r))
		fault(i, "display", oneOf(r.Display, Displays()))
		fault(i, "narration", oneOf(r.Narration, Narrations()))
		fault(i, "history", oneOf(r.History, Policies()))
		fault(i, "on-no-answer", checkNoAnswer(r, c.Default))
		fault(i, "on-thinking-limit", oneOf(r.OnThinkingLimit, OnThinkings()))
		fault(i, "on-thinking-loop", oneOf(r.OnThinkingLoop, OnThinkings()))
		if r.ThinkingLimit < 0 {
			fault(i, "thinking-limit", errors.New("is negative: want 0 (no limit) or more"))
		}
		fault(i, "thinking-switch", oneOf(r.ThinkingSwitch, ThinkingSwitches()))
		r.Guard.Check(func(key string, err error) { fault(i, key, err) })
		fault(i, "responses-reasoning", oneOf(r.ResponsesReasoning, ResponsesReasonings()))
		fault(i, "thinking-signature", oneOf(r.ThinkingSignature, ThinkingSignatures()))
		fault(i, "calls", checkCalls(r, c.Default))
		fault(i, "name", checkRouteName(r.Name))
		fault(i, "models", checkModels(r.Models))
		fault(i, "apis", checkAPIs(r.APIs))
		fault(i, "reasoning-field", checkFields(r.ReasoningFields))
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
func (c *Config) checkStart(r Route) error {
	if r.Start == "" || r.Start == sotto.StartOutside || r.Start == sotto.StartAuto || r.Start == sotto.StartInsideFirst {
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

func oneOf[T ~string](v T, all []T) error {
	if v == "" || slices.Contains(all, v) {
		return nil
	}
	words := make([]string, len(all))
	for i, a := range all {
		words[i] = string(a)
	}
	return fmt.Errorf("%q: want one of %s", string(v), strings.Join(words, ", "))
}

// checkNoAnswer refuses to show hidden reasoning as the answer.
func checkNoAnswer(r, d Route) error {
	if r = r.over(d); r.OnNoAnswer == NoAnswerPromote && r.Display == DisplayHide {
		return fmt.Errorf("%s would show the reasoning that display: %s hides", r.OnNoAnswer, r.Display)
	}
	return oneOf(r.OnNoAnswer, OnNoAnswers())
}

func checkModels(patterns []string) error {
	for _, p := range patterns {
		if p == "" || p != strings.ToLower(p) || strings.ContainsAny(p, "/:@ \t") {
			return fmt.Errorf("%q: write names in lower case, without the registry path, and with a hyphen for : and @", p)
		}
	}
	return nil
}

// routeName is the form of a route's name, which is a label of metrics.
var routeName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)

func checkRouteName(name string) error {
	if name != "" && !routeName.MatchString(name) {
		return fmt.Errorf("%q: want up to 64 letters and digits, with . - or _ between them", name)
	}
	return nil
}

func checkAPIs(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(codecs, func(c codec) bool { return c.Name() == name }) {
			return fmt.Errorf("%q: want one of %s", name, strings.Join(codecNames(), ", "))
		}
	}
	return nil
}

func checkFields(names []string) error {
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "\"\\ \t\n") || name == "content" || name == "role" {
			return fmt.Errorf("%q cannot be the name of a reasoning field", name)
		}
	}
	return nil
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
	c.Default = c.Default.withDefaults()
	c.Routes = slices.Clone(c.Routes)
	for i := range c.Routes {
		c.Routes[i] = c.Routes[i].over(c.Default)
		c.Routes[i].Name = cmp.Or(c.Routes[i].Name, fmt.Sprintf("routes[%d]", i))
	}
	c.Default.Name = cmp.Or(c.Default.Name, defaultRoute)
	return c
}

// defaultRoute is the name of the route that holds if no other does.
const defaultRoute = "default"

func (r Route) withDefaults() Route {
	return r.over(Route{
		Display: DisplayField, ReasoningFields: []string{"reasoning_content"},
		Narration: NarrationText, History: history.Auto, OnNoAnswer: NoAnswerEmpty, OnThinkingLimit: ThinkingStop, OnThinkingLoop: ThinkingIgnore, ThinkingSwitch: switches.Untouched,
		ResponsesReasoning: ReasoningContent, ThinkingSignature: SignatureEmpty, Calls: CallsText, Guard: guard.Usual(),
	})
}

// over fills in what a route leaves open from another route.
func (r Route) over(d Route) Route {
	r.Upstream = cmp.Or(r.Upstream, d.Upstream)
	r.Dialect = cmp.Or(r.Dialect, d.Dialect)
	r.Start = cmp.Or(r.Start, d.Start)
	r.Display = cmp.Or(r.Display, d.Display)
	if len(r.ReasoningFields) == 0 {
		r.ReasoningFields = d.ReasoningFields
	}
	r.Narration = cmp.Or(r.Narration, d.Narration)
	r.History = cmp.Or(r.History, d.History)
	r.OnNoAnswer = cmp.Or(r.OnNoAnswer, d.OnNoAnswer)
	r.ThinkingLimit = cmp.Or(r.ThinkingLimit, d.ThinkingLimit)
	r.OnThinkingLimit = cmp.Or(r.OnThinkingLimit, d.OnThinkingLimit)
	r.Calls = cmp.Or(r.Calls, d.Calls)
	r.OnThinkingLoop = cmp.Or(r.OnThinkingLoop, d.OnThinkingLoop)
	r.ThinkingSwitch = cmp.Or(r.ThinkingSwitch, d.ThinkingSwitch)
	r.Guard = r.Guard.Over(d.Guard)
	r.ResponsesReasoning = cmp.Or(r.ResponsesReasoning, d.ResponsesReasoning)
	r.ThinkingSignature = cmp.Or(r.ThinkingSignature, d.ThinkingSignature)
	return r
}
