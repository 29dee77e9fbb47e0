package v03

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// maxInterfaces is how many interfaces of a card are looked at. There are a few
// bindings, in two versions.
const maxInterfaces = 16

// ReadCard reads an agent card of protocol 0.3 or 1.0, or one that is both. The
// security schemes are left out: the client has its token or has none.
func ReadCard(data []byte) (*a2a.AgentCard, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	for _, name := range []string{"securitySchemes", "securityRequirements", "security"} {
		delete(members, name)
	}
	rest, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	var old oldCard
	card := &a2a.AgentCard{}
	if err := errors.Join(json.Unmarshal(rest, card), json.Unmarshal(rest, &old)); err != nil {
		return nil, err
	}
	if len(card.SupportedInterfaces) == 0 {
		card.SupportedInterfaces = old.interfaces()
	}
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(i *a2a.AgentInterface) bool { return i == nil })
	card.SupportedInterfaces = card.SupportedInterfaces[:min(len(card.SupportedInterfaces), maxInterfaces)]
	card.Capabilities.ExtendedAgentCard = card.Capabilities.ExtendedAgentCard || old.Extended
	return card, nil
}

// An oldCard is what the cards of 0.3 have and those of 1.0 have not.
type oldCard struct {
	URL        string `json:"url"`
	Transport  string `json:"preferredTransport"`
	Version    string `json:"protocolVersion"`
	Additional []struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
	} `json:"additionalInterfaces"`
	Extended bool `json:"supportsAuthenticatedExtendedCard"`
}

func (c *oldCard) interfaces() (list []*a2a.AgentInterface) {
	version := a2a.ProtocolVersion(c.Version)
	if version == "" || version == "0.3.0" {
		version = Version
	}
	add := func(url, transport string) {
		if len(list) == maxInterfaces {
			return
		}
		if transport == "" {
			transport = string(a2a.TransportProtocolJSONRPC) // what 0.3 says of a card that names none
		}
		list = append(list, &a2a.AgentInterface{URL: url, ProtocolBinding: a2a.TransportProtocol(transport), ProtocolVersion: version})
	}
	if c.URL != "" {
		add(c.URL, c.Transport)
	}
	for _, i := range c.Additional {
		if i.URL != c.URL || i.Transport != c.Transport {
			add(i.URL, i.Transport)
		}
	}
	return list
}

// CardJSON writes a card with the members of both protocols. Its interface of
// 0.3 is the URL for clients that know no other. Of the security schemes those
// of HTTP are told to clients of 0.3.
func CardJSON(c *a2a.AgentCard) ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var card map[string]any
	if err := json.Unmarshal(data, &card); err != nil {
		return nil, err
	}
	card["protocolVersion"] = Version
	for _, i := range c.SupportedInterfaces {
		if i.ProtocolVersion == Version {
			card["url"], card["preferredTransport"] = i.URL, i.ProtocolBinding
			break
		}
	}
	if c.Capabilities.ExtendedAgentCard {
		card["supportsAuthenticatedExtendedCard"] = true
	}
	if len(c.SecurityRequirements) > 0 {
		type requirement map[a2a.SecuritySchemeName]a2a.SecuritySchemeScopes // without the form of 1.0
		card["security"] = each(c.SecurityRequirements, func(r a2a.SecurityRequirements) requirement { return requirement(r) })
	}
	schemes, _ := card["securitySchemes"].(map[string]any)
	for name, scheme := range c.SecuritySchemes {
		both, _ := schemes[string(name)].(map[string]any)
		if h, ok := scheme.(a2a.HTTPAuthSecurityScheme); ok && both != nil {
			both["type"], both["scheme"] = "http", h.Scheme
		}
	}
	return json.MarshalIndent(card, "", "  ")
}
