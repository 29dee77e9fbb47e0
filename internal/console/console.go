// Package console is the web page of a record: what models were asked, what they
// thought and what they said. It serves pages that need no script to be read, and
// the same as JSON.
//
// A screen is one file with its handlers and its row in [screens], and a template
// in the folder templates. Package lab has the screens of experiments, as an [Extension].
package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// Config says what a console shows, and to whom.
type Config struct {
	// Record is what the console reads. It writes nothing. If it is nil, the console
	// has only the screens that need none.
	Record *sidecar.Store
	// Dir is the folder of the record, or of what is kept of one in object storage.
	Dir string
	// Chat, if set, is what the chat talks with.
	Chat *Chat
	// Tasks, if set, are the tasks of the agents beside the console.
	Tasks Tasks
	// Health is what the console knows of the gateway beside it; nil without one.
	Health *Health
	// Extension has further screens; nil without any.
	Extension *Extension
	// Own, if it is not nil, changes the texts of pages: the commands that they name are
	// those of this program.
	Own func(string) string
	// Name names the record on the page: its folder.
	Name string
	// Named finds dialects. If it is nil, those that are built in.
	Named func(string) (*sotto.Grammar, error)
	// Dialects lists the names of dialects that a reply can be read in.
	Dialects []string
	// Public says that other machines can reach the console. Tokens open it if they
	// have the scopes console and record. AllowHosts are further names that it is
	// served under.
	Public bool
	Tokens []access.Token
	Closed bool // a token is needed even if there is none
	// Logins, if set, is where the consoles of several gateways know each other's logins, and
	// LoginSecret is what they have in common, of 16 bytes or more.
	Logins      SharedLogins
	LoginSecret []byte
	// Peers, if set, are the consoles of the other gateways. Serve lets them know each other.
	Peers *peers.Peers
	// Certificate is that of the page. If it is nil, the page is served without encryption.
	Certificate *certificates.Source
	AllowHosts  []string
	// Audit records who looked at which thoughts, before they are shown. If it is nil,
	// nobody does. AuditApart says that it writes to another record than the one that is
	// shown.
	Audit      Auditor
	AuditApart bool
	Log        *slog.Logger
	// Schedules, if set, are those of the agents.
	Schedules *Schedules
	// Now is the clock; if it is nil, time.Now.
	Now func() time.Time
}

// A Console serves the page. Close it after its server.
type Console struct {
	config   Config
	source   *view.Source
	look     func() *look
	control  *access.Control
	logins   *logins
	live     *live
	talks    *talks
	mux      *http.ServeMux
	same     *http.CrossOriginProtection
	verifier verifier
	// searches holds a place for each search that runs.
	searches chan struct{}
	bodies   *serving.Arrivals // of those who were admitted
	forms    *serving.Arrivals // of logins
	audit    audit
}

// New returns a console. Check the tokens before.
func New(c Config) *Console {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	k := &Console{
		config: c, source: view.NewSource(c.Record, c.Named), look: sync.OnceValue(func() *look { return newLook(c.Extension, c.Own) }), mux: http.NewServeMux(),
		same: http.NewCrossOriginProtection(), searches: make(chan struct{}, maxSearches),
		bodies: serving.NewArrivals(maxArriving, maxHeld), forms: serving.NewArrivals(maxArriving, 0),
	}
	var err error
	if k.logins, err = newLogins(&c); err != nil {
		panic("console: " + err.Error()) // the settings have checked the secret
	}
	k.control = access.New(access.Rules{
		Name: "console", Public: c.Public, Tokens: c.Tokens, Closed: c.Closed, AllowHosts: c.AllowHosts, Log: c.Log, Refuse: refuse,
		URLKeys: func(*http.Request) bool { return false }, // see refusesURL
	})
	k.live, k.talks = newLive(k.source, c.Peers), newTalks(c.Chat, c.Now)
	k.audit.to = c.Audit
	if c.AuditApart {
		k.audit.other = c.Name
	}
	k.routes()
	return k
}

// SetTokens replaces the tokens. The sessions of tokens that are gone end, and so do the
// streams of their pages.
func (c *Console) SetTokens(tokens []access.Token) { c.control.SetTokens(tokens) }

// Close ends the streams of live pages and the replies under way, which are kept as far
// as they came.
func (c *Console) Close() {
	c.live.close()
	c.talks.close()
}

// A Screen is a part of the console that the rail leads to.
type Screen struct {
	Path string // relative to the console, and the name of its template
	Key  string // g and this key open it
	Icon string // of an SVG path in a box of 20
	// Under is the screen in the rail that leads to this one, if it is not there
	// itself.
	Under string
	// Before is the screen of this package that one of an extension stands before in the
	// rail, after the others of the extension that do.
	Before string
	// Routes are the paths below the screen, as patterns of a ServeMux, and what
	// answers them. "" is the screen itself. A path after "POST " takes a form.
	Routes map[string]Handler
	// streams are the paths whose answers to a form are neither pages nor one JSON value.
	streams map[string]func(*Console, http.ResponseWriter, *http.Request)
	// shown says whether a console has the screen; nil means one with a record.
	shown func(*Config) bool
}

// screens are those of this package in the rail, in its order.
func screens() []Screen {
	return []Screen{
		chatScreen(),
		exchangesScreen(),
		exploreScreen(),
		searchScreen(),
		playgroundScreen(),
		healthScreen(),
		eventsScreen(),
		tasksScreen(),
		schedulesScreen(),
	}
}

// A Handler makes the answer to a request.
type Handler func(*Console, *http.Request) (Answer, error)

// An Answer is what a page shows. It is a page or, if the client asks for it, JSON.
type Answer struct {
	Template string
	Title    string
	Crumbs   []Crumb
	Data     any                       // of the template
	JSON     any                       // the value of ?format=json; Data if nil
	Redirect string                    // relative
	Raw      []byte                    // in place of a page
	Stream   func(http.ResponseWriter) // writes what comes in place of a page
	Header   map[string]string         // of the response
	Live     bool                      // the page follows the record
	Script   string                    // of the folder assets, which the page has in addition to console.js
	// Seen are the events whose thoughts it shows, which the audit records, and Action
	// is how it shows them; view if empty.
	Seen   []uint64
	Action string
}

// A Crumb is a step to a page: its name and its relative address.
type Crumb struct{ Name, Link string }

func (c *Console) routes() {
	c.mux.HandleFunc("GET /assets/{file}", c.asset)
	c.mux.HandleFunc("POST /login", c.login)
	c.mux.Handle("POST /logout", c.guarded(http.HandlerFunc(c.logout)))
	if c.config.Record != nil {
		c.mux.Handle("GET /live", c.guarded(http.HandlerFunc(c.follow)))
	}
	if c.config.Peers != nil {
		c.mux.Handle("/"+atGateway+"/{record}/{path...}", c.guarded(http.HandlerFunc(c.atGateway)))
	}
	c.mux.Handle("GET /{$}", c.guarded(c.page("", func(_ *Console, r *http.Request) (Answer, error) {
		if alone(r) {
			return Answer{Redirect: mergedScreens[0]}, nil
		}
		return Answer{Redirect: c.screens()[0].Path}, nil
	})))
	for _, s := range c.screens() {
		for path, h := range s.Routes {
			method, path := methodOf(path)
			pattern := method + " /" + s.Path
			if path != "" {
				pattern += "/" + path
			}
			c.mux.Handle(pattern, c.guarded(c.page(cmp.Or(s.Under, s.Path), h)))
		}
		for path, h := range s.streams {
			c.mux.Handle("POST /"+s.Path+"/"+path, c.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(c, w, r) })))
		}
	}
	c.mux.Handle("/", c.guarded(c.page("", func(_ *Console, r *http.Request) (Answer, error) {
		return Answer{}, fmt.Errorf("%s %s: %w", r.Method, shorttext.Quote(r.URL.Path), errNoPage)
	})))
}

// methodOf divides a path of a screen into its method and the path.
func methodOf(route string) (method, path string) {
	if path, ok := strings.CutPrefix(route, "POST "); ok {
		return http.MethodPost, path
	}
	return http.MethodGet, route
}

var errBusy = errors.New("too many searches run at once")

var errNoPage = errors.New("there is no such page")

// policy is the content security policy of every page: its own style, script and
// data, images that are within the page, and nothing else from anywhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP serves the console. Its paths begin at the root; a prefix must have been
// removed from them.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, the origin of a form would be null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	if !c.control.Enter(w, followed(r)) {
		return
	}
	if err := c.same.Check(r); err != nil {
		refuse(w, r, http.StatusForbidden, "a page of another site may not use this console")
		return
	}
	if !refusesURL(w, r) {
		c.mux.ServeHTTP(w, r)
	}
}

// followed returns the request, without the mark of another site if a person
// followed a link there. Such a request only opens a page, which that site cannot
// read.
func followed(r *http.Request) *http.Request {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" || r.Header.Get("Origin") != "" {
		return r
	}
	clone := *r
	clone.Header = r.Header.Clone()
	clone.Header.Del("Sec-Fetch-Site")
	return &clone
}

// refuse answers a request that is not admitted.
func refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if WantsJSON(r) {
		writeJSON(w, status, errorJSON(why))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, why)
}

// WantsJSON reports whether a request asks for JSON in place of a page.
func WantsJSON(r *http.Request) bool { return r.URL.Query().Get("format") == "json" }

func errorJSON(why string) any {
	return map[string]any{"v": 1, "error": map[string]string{"message": why}}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		http.Error(w, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

const (
	// maxBody bounds the body of a request to a screen.
	maxBody = 1 << 20
	// MaxAsked bounds the names and identifiers that a request asks for, in bytes, and
	// maxReread that of a dialect and of a start.
	MaxAsked  = 512
	maxReread = 128
	// MaxFault is how many bytes a page shows of an error, MaxCrumb of a name above the page,
	// and MaxHead of one in its title.
	MaxFault = 1 << 10
	MaxCrumb = 64
	MaxHead  = 100
)

// page serves what a handler makes, as a page of a screen.
func (c *Console) page(at string, h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		a, done, err := c.made(h, r)
		defer done()
		if err != nil {
			c.failed(w, r, at, err)
			return
		}
		if err := c.saw(r, cmp.Or(a.Action, "view"), a.Seen...); err != nil {
			c.failed(w, r, at, err)
			return
		}
		for name, value := range a.Header {
			w.Header().Set(name, value)
		}
		switch {
		case a.Redirect != "":
			w.Header().Set("Location", a.Redirect) // relative, unlike what http.Redirect writes
			w.WriteHeader(http.StatusSeeOther)
		case a.Stream != nil:
			a.Stream(w)
		case a.Raw != nil:
			_, _ = w.Write(a.Raw)
		case WantsJSON(r):
			v := a.JSON
			if v == nil {
				v = a.Data
			}
			writeJSON(w, http.StatusOK, v)
		default:
			c.render(w, r, http.StatusOK, at, a)
		}
	})
}

// frame is what every page has.
type frame struct {
	Title   string
	Root    string // the relative way to the console's root
	Top     string // … or, of a page of one gateway, to that of the console that shows all
	Screen  string
	Screens []railItem
	Crumbs  []Crumb
	Record  string
	Live    bool
	Script  string
	Guarded bool   // with a session that can be ended
	Home    string // the first screen
	Version string
	// Shown says which gateway's record the page shows, and Gateways are the others; both are
	// empty if there is only one.
	Shown    string
	Gateways []gatewayLink
	Data     any
}

type railItem struct{ Link, Path, Key, Icon, Name string }

// rootOf returns the relative way from a page to the console's root.
func rootOf(path string) string { return strings.Repeat("../", max(0, strings.Count(path, "/")-1)) }

func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, at string, a Answer) {
	f := frame{
		Title: cmp.Or(a.Title, Word("name")), Root: rootOf(r.URL.Path), Screen: at, Crumbs: a.Crumbs, Record: c.config.Name,
		Live: a.Live, Script: a.Script, Guarded: c.control.Guarded(), Version: c.look().version, Data: a.Data, Home: c.screens()[0].Path,
	}
	f.Top = f.Root
	if alone(r) {
		f.Top += "../../"
	}
	for _, s := range c.screens() {
		if s.Under != "" {
			continue
		}
		item := railItem{c.railRoot(&f, s.Path) + s.Path, s.Path, s.Key, s.Icon, Word("screen." + s.Path)}
		f.Screens = append(f.Screens, item)
		if len(f.Crumbs) == 0 && s.Path == at { // a page that says what is wrong
			f.Crumbs = []Crumb{{Name: item.Name, Link: item.Link}}
		}
	}
	if len(f.Crumbs) == 0 { // … of no screen
		f.Crumbs = []Crumb{{Name: f.Title}}
	}
	c.showGateways(&f, r)
	body, err := c.look().page(a.Template, f)
	if err != nil {
		c.config.Log.Error("a page of the console failed", "path", r.URL.Path, "error", err.Error())
		http.Error(w, Word("error.failed"), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// codes lists the codes of diagnostics, for the filter.
func codes() []sotto.Code {
	return []sotto.Code{
		sotto.CodeTruncated, sotto.CodeRescued, sotto.CodeNested, sotto.CodeMismatchedClose, sotto.CodeOrphanClose, sotto.CodeStrayClose,
		sotto.CodeUnclosedOutput, sotto.CodeUnclosedNarration, sotto.CodeAssumedUnclosed, sotto.CodeLiteralMarker, sotto.CodeSplicedMarker,
		sotto.CodeHoldExpired, sotto.CodeUnknownChannel, sotto.CodeMissingReasoning, sotto.CodeLateReasoning,
		sotto.CodeRepeatedReasoning, sotto.CodeNoVisibleAnswer,
	}
}

// scopes are what a token needs to open the console. The page shows what the record
// holds, so that one for metrics alone is not enough.
func scopes() []access.Scope { return []access.Scope{access.Console, access.Record} }

// guarded lets in requests with a session or a token.
func (c *Console) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v, l, ok := c.admits(r); ok {
			if c.ticketed(r) {
				r = fromPeer(r, v)
			}
			if l != nil {
				during, done := c.logins.during(l, r)
				defer done()
				r = during
			}
			if r, done, ok := whole(w, r, c.bodies, callerOf(v), maxSend); ok {
				defer done()
				h.ServeHTTP(w, v.as(r))
			}
			return
		}
		if c.control.Key(r) == "" && !WantsJSON(r) {
			c.askToken(w, r, http.StatusUnauthorized, "")
			return
		}
		for _, s := range scopes() { // one of them says what is wrong
			if _, ok := c.control.Authorize(w, r, s); !ok {
				return
			}
		}
		refuse(w, r, http.StatusUnauthorized, "the tokens have just changed: try again")
	})
}

// admits returns the viewer of a request that has a login, which it returns too, or a
// token.
func (c *Console) admits(r *http.Request) (viewer, *login, bool) {
	switch {
	case !access.Trusted(r):
		return viewer{}, nil, false
	case c.ticketed(r):
		v, ok := c.fromTicket(r)
		return v, nil, ok
	case !c.control.Guarded():
		return viewer{Talks: true, Operates: true, Consents: true}, nil, true
	}
	if v, l, ok := c.inLogin(r); ok {
		return v, l, true
	}
	_, ok := c.control.Opens(c.control.Key(r), scopes()...)
	return c.viewer(c.control.Key(r)), nil, ok
}

// follow streams to a page that follows the record, or those of all gateways, as long as it is
// admitted.
func (c *Console) follow(w http.ResponseWriter, r *http.Request) {
	all := r.URL.Query().Has("all") && c.Several(r)
	c.live.serve(w, r, all, func() bool { _, _, ok := c.admits(r); return ok })
}

// viewer returns whom a token admits.
func (c *Console) viewer(secret string) viewer {
	name, talks := c.control.Opens(secret, access.Models)
	_, operates := c.control.Opens(secret, access.Operator)
	_, consents := c.control.Opens(secret, access.Consent)
	return viewer{Name: name, Talks: talks, Operates: operates, Consents: consents, token: new(access.MarkOf(secret))}
}
