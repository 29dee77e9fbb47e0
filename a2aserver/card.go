package a2aserver

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto/a2aserver/internal/v03"
)

// A Card is what an agent's card says about the agent itself. The server fills in
// what it says about the protocol.
type Card struct {
	Name        string // if empty, sotto
	Description string
	Version     string // of the agent; if empty, 1
	// URL is where clients reach the server, such as https://agent.example. If
	// empty, the address that the card was requested from.
	URL      string
	Provider *a2a.AgentProvider
	// Skills are what the agent can do. If nil, there is one skill: to chat.
	Skills []a2a.AgentSkill
	// Details are skills that only callers with a token are told about, in the
	// extended card.
	Details []a2a.AgentSkill
}

func (c Card) withDefaults() Card {
	or(&c.Name, "sotto")
	or(&c.Version, "1")
	or(&c.Description, "Answers messages. Its answers do not contain its reasoning.")
	c.URL = strings.TrimSuffix(c.URL, "/")
	if c.Skills == nil {
		c.Skills = []a2a.AgentSkill{{
			ID: "chat", Name: "Chat", Description: "Answers a message in a conversation.",
			Tags: []string{"chat"},
		}}
	}
	return c
}

// The extensions that a client can request with the header A2A-Extensions.
const (
	// ReasoningExtension lets status updates carry the model's reasoning, in
	// separate parts that are marked with [ThoughtKey].
	ReasoningExtension = "https://github.com/sotto-llm/sotto/blob/main/docs/a2a.md#reasoning"
	// ChunksExtension sends the answer in pieces, as it becomes certain, before the
	// artifact that holds all of it.
	ChunksExtension = "https://github.com/sotto-llm/sotto/blob/main/docs/a2a.md#pieces"
)

func (s *Server) capabilities() *a2a.AgentCapabilities {
	c := &a2a.AgentCapabilities{
		Streaming:         true,
		PushNotifications: s.push != nil,
		ExtendedAgentCard: s.extended,
		Extensions:        []a2a.AgentExtension{{URI: ChunksExtension, Description: "The answer's visible text in pieces, as it becomes certain."}},
	}
	if s.reasoning {
		c.Extensions = append(c.Extensions, a2a.AgentExtension{URI: ReasoningExtension, Description: "The model's reasoning, in marked parts of status updates."})
	}
	return c
}

// asked reports whether the client requested an extension that exists.
func (s *Server) asked(ctx context.Context, uri string) bool {
	call, ok := a2asrv.CallContextFrom(ctx)
	if !ok {
		return false
	}
	known := slices.ContainsFunc(s.capabilities().Extensions, func(e a2a.AgentExtension) bool { return e.URI == uri })
	for _, list := range call.Extensions().RequestedURIs() {
		for one := range strings.SplitSeq(list, ",") {
			if known && strings.TrimSpace(one) == uri {
				call.Extensions().Activate(&a2a.AgentExtension{URI: uri})
				return true
			}
		}
	}
	return false
}

// agentCard returns the card of the server at a base URL. Clients use the first
// interface that they know. REST of protocol 0.3 is not served, because the SDKs
// disagree on how it is written.
func (s *Server) agentCard(base string) *a2a.AgentCard {
	c := &a2a.AgentCard{
		Name: s.card.Name, Description: s.card.Description, Version: s.card.Version,
		Provider: s.card.Provider, Skills: s.card.Skills,
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+rpcPath, a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base+restPath, a2a.TransportProtocolHTTPJSON),
			{URL: base + legacyPath, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: v03.Version},
		},
		Capabilities:       *s.capabilities(),
		DefaultInputModes:  []string{textMode},
		DefaultOutputModes: []string{textMode},
	}
	if s.access.Guarded() {
		c.SecuritySchemes = a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		c.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": a2a.SecuritySchemeScopes{}}}
	}
	return c
}

// textMode is what the agent reads and writes.
const textMode = "text/plain"

func isCard(r *http.Request) bool { return r.URL.Path == cardPath || r.URL.Path == legacyCard }

// serveCard answers in a form that clients of protocol 1.0 and of 0.3 can read.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, r, http.StatusMethodNotAllowed, "the card can only be read")
		return
	}
	body, err := v03.CardJSON(s.agentCard(s.base(r)))
	if err != nil {
		s.log.Error("the card cannot be written", "error", err)
		refuse(w, r, http.StatusInternalServerError, "the card cannot be written")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Vary", "Host")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// base returns the URL before the paths of the protocol.
func (s *Server) base(r *http.Request) string {
	switch {
	case s.card.URL != "":
		return s.card.URL + s.path
	case r.TLS != nil:
		return "https://" + r.Host + s.path
	}
	return "http://" + r.Host + s.path
}

type baseKey struct{}

// extendedCard is the card for callers with a token.
func (s *Server) extendedCard(ctx context.Context, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	base, _ := ctx.Value(baseKey{}).(string)
	c := s.agentCard(base)
	c.Skills = slices.Concat(c.Skills, s.card.Details)
	return c, nil
}
