package settings

import (
	"fmt"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// YAML writes the settings as a configuration file. For a secret from the
// environment, it says only that there is one.
func (s *Settings) YAML() []byte {
	data, err := yamlfile.Write(s.tree())
	if err != nil {
		panic(fmt.Sprintf("settings as YAML: %v", err)) // the values are strings and numbers
	}
	return data
}

// tree returns the settings as the nodes of a configuration file.
func (s *Settings) tree() *yamlfile.Node {
	top := &yamlfile.Node{Kind: yamlfile.Mapping}
	top.Add("v", yamlfile.IntNode(1))
	for _, k := range s.keys() {
		if t, is := k.secretOf(); is && t.file == "" && t.Text != "" {
			top.Add(secretName(k.name), yamlfile.TextNode("(set)"))
		}
		addKey(top, k)
	}
	tokens := &yamlfile.Node{Kind: yamlfile.Mapping}
	for i := range s.tokens {
		token := &yamlfile.Node{Kind: yamlfile.Mapping}
		for _, k := range tokenKeys(&s.tokens[i]) {
			addKey(token, k)
		}
		tokens.Add(s.tokens[i].name, token)
	}
	if s.tokensGiven {
		top.Add("tokens", tokens)
	}
	upstreams := &yamlfile.Node{Kind: yamlfile.Mapping}
	for i := range s.Upstreams {
		upstream := &yamlfile.Node{Kind: yamlfile.Mapping}
		for _, k := range upstreamKeys(&s.Upstreams[i]) {
			addKey(upstream, k)
		}
		upstreams.Add(s.Upstreams[i].Name, upstream)
	}
	if len(s.Upstreams) > 0 {
		top.Add("upstreams", upstreams)
	}
	limits := &yamlfile.Node{Kind: yamlfile.Mapping}
	for _, k := range s.limitKeys() {
		addKey(limits, k)
	}
	top.Add("limits", limits)
	routes := yamlfile.ListNode()
	for i := range s.Gateway.Routes {
		route := &yamlfile.Node{Kind: yamlfile.Mapping}
		for _, k := range routeKeys(&s.Gateway.Routes[i], &s.guards[i]) {
			addKey(route, k)
		}
		routes.Items = append(routes.Items, route)
	}
	if len(routes.Items) > 0 {
		top.Add("routes", routes)
	}
	return top
}

func addKey(m *yamlfile.Node, k key) {
	switch v := k.get().(type) {
	case nil:
	case bool:
		m.Add(k.name, yamlfile.BoolNode(v))
	case int:
		m.Add(k.name, yamlfile.IntNode(int64(v)))
	case int64:
		m.Add(k.name, yamlfile.IntNode(v))
	case string:
		m.Add(k.name, yamlfile.TextNode(v))
	case []string:
		list := yamlfile.ListNode()
		for _, text := range v {
			list.Items = append(list.Items, yamlfile.TextNode(text))
		}
		m.Add(k.name, list)
	default:
		panic(fmt.Sprintf("unreachable: %s is a %T", k.name, v))
	}
}
