package mcpserver

import (
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

const (
	// maxRequests and maxCallerRequests bound the requests that are worked on at the same
	// time, in total and of each caller. Each holds up to MaxMessage bytes.
	maxRequests, maxCallerRequests = 32, 16
	// maxArriving bounds the bodies that are on their way.
	maxArriving = 256
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
	slots, bodies := access.NewSlots(maxRequests, maxCallerRequests), serving.NewArrivals(maxArriving, maxRequests*MaxMessage)
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
		caller := access.Caller(r.Context())
		body, end, err := bodies.Take(w, r, caller, MaxMessage)
		if err != nil {
			refuseBody(w, r, err)
			return
		}
		defer end()
		slot, err := slots.Take(caller)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			refuse(w, r, http.StatusServiceUnavailable, err.Error())
			return
		}
		slot.Use()
		defer slot.Release()
		if len(body) > 0 {
			if _, err := decodeMessage(body); err != nil {
				refuse(w, r, http.StatusBadRequest, err.Error())
				return
			}
		}
		protocol.ServeHTTP(w, serving.WithBody(r, body))
	}), control}
}

// refuseBody answers a request whose body did not arrive.
func refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	switch status := serving.StatusOf(err); status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
		refuse(w, r, status, err.Error())
	case http.StatusRequestTimeout:
		refuse(w, r, status, "the body took too long")
	case http.StatusRequestEntityTooLarge:
		refuse(w, r, http.StatusBadRequest, fmt.Sprintf("the message is longer than %d bytes", MaxMessage))
	default:
		refuse(w, r, status, "the body cannot be read")
	}
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
