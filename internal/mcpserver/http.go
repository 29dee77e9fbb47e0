package mcpserver

import (
	"bytes"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/serving"
)

const (
	// maxRequests and maxCallerRequests bound the requests that are held at the same
	// time, in total and of each caller. Each holds up to MaxMessage bytes.
	maxRequests, maxCallerRequests = 32, 16
)

// A Handler serves clients over HTTP.
type Handler struct {
	http.Handler
	control *access.Control
}

// SetTokens replaces the tokens. Check them before.
func (h *Handler) SetTokens(tokens []access.Token) { h.control.SetTokens(tokens) }

// Handler serves clients over HTTP, by the protocol's transport "streamable HTTP".
// Each request stands alone: no state is kept for a client. rules say who may use
// the server.
func (s *Server) Handler(rules access.Rules) *Handler {
	rules.Name, rules.Refuse = "MCP server", refuse
	rules.Methods = []string{http.MethodPost}
	control := access.New(rules)
	slots := access.NewSlots(maxRequests, maxCallerRequests)
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: MaxMessage,
		DisableLocalhostProtection:   true, // the rules decide about hosts and origins
		PropagateRequestCancellation: true,
	})
	return &Handler{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, done := serving.Body(w, r, serving.Pace{})
		defer done()
		if !control.Enter(w, r) {
			return
		}
		r, ok := control.Authorize(w, r, access.Record)
		if !ok {
			return
		}
		slot, err := slots.Take(access.Caller(r.Context()))
		if err != nil {
			w.Header().Set("Retry-After", "1")
			refuse(w, r, http.StatusServiceUnavailable, err.Error())
			return
		}
		slot.Use()
		defer slot.Release()
		body, err := files.ReadAll(r.Body, MaxMessage)
		if err == nil && len(body) > 0 {
			_, err = read(body)
		}
		if err != nil {
			refuse(w, r, http.StatusBadRequest, err.Error())
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		protocol.ServeHTTP(w, r)
	}), control}
}

// refuse answers a request with an error in the form of the protocol.
func refuse(w http.ResponseWriter, _ *http.Request, status int, why string) {
	code := serverError
	if status == http.StatusBadRequest {
		code = parseError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(refusal(code, why))
}
