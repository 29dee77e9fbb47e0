package a2aserver

import (
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto/a2aserver/internal/v03"
)

// The paths of the protocol's bindings.
const (
	rpcPath    = "/a2a"      // JSON-RPC
	restPath   = "/a2a/rest" // REST
	legacyPath = "/a2a/v0.3" // JSON-RPC of protocol 0.3
	cardPath   = a2asrv.WellKnownAgentCardPath
	legacyCard = "/.well-known/agent.json" // where older clients look
)

// stallWait is how long a client may take nothing of what it is sent. Without this
// limit a client that hangs would block the task: the SDK waits for every
// subscriber.
const stallWait = 30 * time.Second

func (s *Server) routes(keepAlive time.Duration) http.Handler {
	h := s.handler()
	option := a2asrv.WithTransportKeepAlive(keepAlive)
	mux := http.NewServeMux()
	mux.HandleFunc(cardPath, s.serveCard)
	mux.HandleFunc(legacyCard, s.serveCard)

	old := legacy(v03.Handler(h, keepAlive))
	mux.Handle(legacyPath, old)
	mux.Handle(legacyPath+"/{$}", old)

	rpc := a2asrv.NewJSONRPCHandler(h, option)
	mux.Handle(rpcPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("A2A-Version"), "0.3") {
			old.ServeHTTP(w, r)
			return
		}
		rpc.ServeHTTP(w, r)
	}))
	mux.Handle(restPath+"/", http.StripPrefix(restPath, a2asrv.NewRESTHandler(h, option)))
	return withWriteDeadline(mux)
}

// legacy marks the requests of protocol 0.3.
func legacy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitFrom(r.Context())
		v.legacy = true
		next.ServeHTTP(w, r.WithContext(v.in(r.Context())))
	})
}

// withWriteDeadline ends the connection of a client that takes nothing.
func withWriteDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		defer func() { _ = rc.SetWriteDeadline(time.Time{}) }() // the connection stays in use
		next.ServeHTTP(&stallWriter{ResponseWriter: w, rc: rc}, r)
	})
}

type stallWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

func (w *stallWriter) Write(b []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(stallWait)) // a test's recorder has no deadline
	return w.ResponseWriter.Write(b)
}

// Flush is required by the SDK for a writer that streams.
func (w *stallWriter) Flush() { _ = w.rc.Flush() }

func (w *stallWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// speaksRPC reports whether a request is for JSON-RPC, of any version.
func speaksRPC(r *http.Request) bool {
	return r.URL.Path == rpcPath || r.URL.Path == legacyPath || r.URL.Path == legacyPath+"/"
}

// IsProtocolPath reports whether a path is one of the protocol's, for a server that
// shares its address with another.
func IsProtocolPath(path string) bool {
	return path == cardPath || path == legacyCard || path == rpcPath || strings.HasPrefix(path, rpcPath+"/")
}
