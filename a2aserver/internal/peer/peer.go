// Package peer connects to A2A servers of others: every size bounded, no
// redirect followed, the token sent to the host that it is for and no other.
package peer

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/sotto-llm/sotto/a2aserver/internal/v03"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
)

// ErrElsewhere says that a card sends clients to another host than its own.
var ErrElsewhere = errors.New("the card sends clients to another host")

// Client returns an HTTP client for one server, with a bearer token if there
// is one.
func Client(base *url.URL, token string, transport http.RoundTripper) *http.Client {
	c := foreignhttp.Config{Base: base, Elsewhere: ErrElsewhere, Transport: transport}
	if token != "" {
		c.Header = http.Header{"Authorization": {"Bearer " + token}}
	}
	return c.Client()
}

// Card reads the agent card of a server, of any version.
func Card(ctx context.Context, base *url.URL, c *http.Client) (*a2a.AgentCard, error) {
	r := agentcard.Resolver{Client: c, CardParser: v03.ReadCard}
	return r.Resolve(ctx, base.String())
}

// Connect returns the official client for one of the card's interfaces.
func Connect(ctx context.Context, card *a2a.AgentCard, i *a2a.AgentInterface, c *http.Client) (*a2aclient.Client, error) {
	one := *card
	one.SupportedInterfaces = []*a2a.AgentInterface{i}
	return a2aclient.NewFromCard(ctx, &one, options(c)...)
}

// ConnectAny returns it for the first interface that is known.
func ConnectAny(ctx context.Context, card *a2a.AgentCard, c *http.Client) (*a2aclient.Client, error) {
	return a2aclient.NewFromCard(ctx, card, options(c)...)
}

func options(c *http.Client) []a2aclient.FactoryOption {
	return []a2aclient.FactoryOption{
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithJSONRPCTransport(c), a2aclient.WithRESTTransport(c),
		a2aclient.WithCompatTransport(v03.Version, a2a.TransportProtocolJSONRPC, v03.Client(c)),
	}
}
