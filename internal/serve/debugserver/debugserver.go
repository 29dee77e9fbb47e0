// Package debugserver serves what an operator needs to look into a running process: Go's
// profiles, the log level, the settings in use, and how the program was built. It is for an address that only
// this machine reaches.
package debugserver

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/loglevel"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A Config is what a server needs.
type Config struct {
	// Level is the level of the log. PUT changes it.
	Level *loglevel.Switch
	// Settings returns the settings in use, as a configuration file without secrets.
	Settings func() []byte
	// Tokens are those of the gateway. If there are any, a request needs one with the scope
	// debug or console: other users of this machine reach the address too.
	Tokens []access.Token
	Closed bool // a request needs one even if there is none
	// Log gets a line for each change of the level. It must not be nil.
	Log *slog.Logger
}

// index is what GET /debug/ answers. The list of the profiles is a page of its own.
const index = `GET /debug/log-level    the log level
PUT /debug/log-level    sets it: debug, info, warn or error
GET /debug/settings     the settings in use, without secrets
GET /debug/build        how the program was built, as go version -m -json prints it
GET /debug/pprof/       profiles for go tool pprof
`

// A Server answers below /debug/.
type Server struct {
	http.Handler
	control *access.Control
}

// SetTokens replaces the tokens. Check them before.
func (s *Server) SetTokens(tokens []access.Token) { s.control.SetTokens(tokens) }

// New returns a server.
func New(c Config) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/{$}", func(w http.ResponseWriter, _ *http.Request) { plain(w, index) })
	mux.HandleFunc("GET /debug/log-level", func(w http.ResponseWriter, _ *http.Request) { plain(w, loglevel.Name(c.Level.Level())+"\n") })
	mux.HandleFunc("PUT /debug/log-level", c.setLevel)
	mux.HandleFunc("GET /debug/settings", func(w http.ResponseWriter, _ *http.Request) { plain(w, string(c.Settings())) })
	mux.HandleFunc("GET /debug/build", build)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	control := access.New(access.Rules{
		Name: "debug server", Tokens: c.Tokens, Closed: c.Closed, MaxHeader: serving.MaxHeader, Log: c.Log,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why string) {
			http.Error(w, why, status)
		},
	})
	handler := serving.Bodies(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !control.Enter(w, r) {
			return
		}
		if r, ok := control.Authorize(w, r, access.Debug); ok {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'") // of pprof's index
			mux.ServeHTTP(w, r)
		}
	}))
	return &Server{handler, control}
}

// maxLevel bounds the body that names a level, in bytes.
const maxLevel = 64

// maxReason bounds the reason of a refusal, in bytes.
const maxReason = 256

// setLevel changes the level of the log to the one that the body names. The log says so,
// whatever the level is.
func (c Config) setLevel(w http.ResponseWriter, r *http.Request) {
	body, err := files.ReadAll(io.LimitReader(r.Body, maxLevel), maxLevel) // what is longer is no level
	if err != nil {
		http.Error(w, "the body: "+err.Error(), http.StatusBadRequest)
		return
	}
	level, err := loglevel.Parse(strings.TrimSpace(string(body)))
	if err != nil {
		http.Error(w, shorttext.Escape(err.Error(), maxReason), http.StatusBadRequest)
		return
	}
	fields := []any{"by", r.URL.Path}
	if caller := access.Caller(r.Context()); caller != "" {
		fields = append(fields, "caller", caller)
	}
	c.Level.Change(level, c.Log, fields...)
	plain(w, loglevel.Name(level)+"\n")
}

// build answers with how the program was built.
func build(w http.ResponseWriter, _ *http.Request) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		http.Error(w, errNoBuild.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	out.SetIndent("", "\t")
	_ = out.Encode(info) // the client has left
}

var errNoBuild = errors.New("the program was built without information about its build")

func plain(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // the client has left
}
