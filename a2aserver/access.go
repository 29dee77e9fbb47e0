package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A Token is what one caller sends as its bearer token or API key. Its Name names the
// caller, who sees only its own tasks. It opens the server if its Scopes contain
// "agent", or if it has no Scopes.
type Token = access.Token

// SetTokens replaces the tokens of the server. Requests that were admitted go on; later
// ones need one of the new tokens. If something is wrong with these, the old ones stay: see
// [Server.CheckTokens].
func (s *Server) SetTokens(tokens []Token) error {
	if err := s.CheckTokens(tokens); err != nil {
		return err
	}
	s.access.SetTokens(tokens)
	return nil
}

// CheckTokens reports for which tokens [Server.SetTokens] would fail: one is wrong, or
// there are none and the server would be open to other machines. A server that needed a
// token goes on to need one: without any, it serves nobody.
func (s *Server) CheckTokens(tokens []Token) error {
	if err := checkTokens(tokens, s.needs && !s.access.Guarded()); err != nil {
		return fmt.Errorf("a2aserver: %w", err)
	}
	return nil
}

// checkTokens reports what is wrong with tokens. If needed, there must be one.
func checkTokens(tokens []Token, needed bool) error {
	if needed && len(tokens) == 0 {
		return errors.New("other machines can reach the server, and there is no token: set Tokens, or Insecure")
	}
	for _, wrong := range access.Check(tokens) {
		return wrong
	}
	return nil
}

// A visit says who makes a request, and how.
type visit struct {
	caller string
	legacy bool // by protocol 0.3
	// principal is who answers questions for a person.
	principal consent.Principal
	resumes   bool             // the task of a process that has ended goes on
	message   *sending         // that the request brings; nil if it brings none
	place     *access.Slot     // reserved for the task that it may start
	load      *serving.Arrival // what the request holds; nil if it holds nothing
}

type visitKey struct{}

func visitFrom(ctx context.Context) visit {
	v, _ := ctx.Value(visitKey{}).(visit)
	return v
}

func (v visit) in(ctx context.Context) context.Context { return context.WithValue(ctx, visitKey{}, v) }

func (v visit) user() *a2asrv.User {
	return &a2asrv.User{Name: v.caller, Authenticated: v.caller != ""}
}

// ServeHTTP admits a request and serves it. The request takes one of the caller's
// places only when its body has arrived, so bodies that never arrive block nobody.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, done := serving.Body(w, r, s.pace)
	defer done()
	if !s.access.Enter(w, r) {
		return
	}
	if isCard(r) { // anyone admitted may read it
		s.mux.ServeHTTP(w, r)
		return
	}
	if s.closing.Err() != nil {
		refuse(w, r, http.StatusServiceUnavailable, "the server is shutting down")
		return
	}
	r, ok := s.access.Authorize(w, r, access.Agent)
	if !ok {
		return
	}
	v := visit{caller: access.Caller(r.Context())}
	v.principal = consent.Principal{Name: v.caller, Way: consent.A2A, Scoped: s.access.Has(r, access.Consent)}
	from := v.caller + " " + network(r.RemoteAddr)
	v.load = s.memory.Begin(from, serving.StopReading(w))
	defer v.load.End()
	r, err := s.takeBody(w, r, v.load)
	if no, ok := errors.AsType[*refusal](err); ok {
		if no.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		if no.code != 0 && speaksRPC(r) {
			refuseRPC(w, no)
			return
		}
		refuse(w, r, no.status, no.why)
		return
	}
	place, err := s.requests.Take(from)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		refuse(w, r, http.StatusTooManyRequests, err.Error())
		return
	}
	place.Use()
	defer place.Release()
	ctx := context.WithValue(v.in(r.Context()), baseKey{}, s.base(r))
	ctx = tracecontext.With(ctx, tracecontext.ReadHeader(r.Header))
	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

// network returns where a request comes from: an IPv4 address, or an IPv6 network,
// since one machine can have any number of IPv6 addresses.
func network(remote string) string {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := ap.Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}

// refuse answers a request that is not admitted. Such a request was not read, so
// its protocol is not known. The body of the answer is like that of REST.
func refuse(w http.ResponseWriter, _ *http.Request, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "message": why}})
}

// refuseRPC answers a request of JSON-RPC that was read and is refused. Its id may be what is
// wrong with it, so the answer has none.
func refuseRPC(w http.ResponseWriter, no *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": no.code, "message": no.why}})
}
