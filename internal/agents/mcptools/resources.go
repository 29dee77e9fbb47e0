package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// The bounds of lists of resources and prompts.
const (
	maxEntries = 200
	maxList    = 64 << 10 // bytes
	maxURI     = 2 << 10  // bytes of a URI
	maxEntry   = 1 << 10  // bytes of what is said of an entry
)

// offers reports what the agent's file asks for and the server does not have.
func (s *server) offers(r *mcp.InitializeResult) error {
	switch {
	case r == nil || r.Capabilities == nil:
	case s.Resources && r.Capabilities.Resources == nil:
		return fmt.Errorf("the MCP server %s has no resources: remove resources from its entry", s.Name)
	case s.Prompts && r.Capabilities.Prompts == nil:
		return fmt.Errorf("the MCP server %s has no prompts: remove prompts from its entry", s.Name)
	}
	return nil
}

// more returns the tools for resources and prompts, in the order of [agent.MCPServer.Names].
func (s *server) more() []*agent.Func {
	var list []*agent.Func
	add := func(description, schema string, do func(context.Context, *session, json.RawMessage) (string, error)) {
		list = append(list, &agent.Func{Description: description, Schema: schema, Do: func(ctx context.Context, u agent.Use) (string, error) {
			return s.request(ctx, nil, func(n *session) (string, error) { return do(ctx, n, u.Arguments) })
		}})
	}
	if s.Resources {
		add("Lists what can be read of "+s.Name+", with the URI of each.", `{"type":"object","properties":{},"additionalProperties":false}`, listResources)
		add("Reads a resource of "+s.Name+".", `{"type":"object","properties":{"uri":{"type":"string","description":"Its URI, or that of a template with its parts filled in."}},`+
			`"required":["uri"],"additionalProperties":false}`, readResource)
	}
	if s.Prompts {
		add("Lists the prompts of "+s.Name+", with their arguments.", `{"type":"object","properties":{},"additionalProperties":false}`, listPrompts)
		add("Returns a prompt of "+s.Name+".", `{"type":"object","properties":{"name":{"type":"string"},`+
			`"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`, s.getPrompt)
	}
	return list
}

// An entry is a line of a list.
type entry struct {
	URI         string   `json:"uri,omitempty"`
	Template    string   `json:"template,omitempty"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type,omitempty"`
	Bytes       int64    `json:"bytes,omitempty"`
	Arguments   []string `json:"arguments,omitempty"`
}

// entries are the lines of a list, up to the bound.
type entries struct {
	lines []string
	bytes int
	more  bool
}

func (l *entries) full() bool { return len(l.lines) >= maxEntries || l.more }

func (l *entries) add(e entry) error {
	if l.full() {
		l.more = true
		return nil
	}
	short := func(text *string) { *text = shorttext.Ellipsis(readable(*text), maxEntry) }
	short(&e.Name)
	short(&e.Description)
	short(&e.Type)
	line, err := encode(e)
	if err != nil {
		return err
	}
	if l.bytes += len(line) + 1; l.bytes > maxList {
		l.more = true
		return nil
	}
	l.lines = append(l.lines, string(line))
	return nil
}

func (l *entries) text() string {
	switch {
	case l.more:
		return strings.Join(append(l.lines, fmt.Sprintf("[there are more: %d are shown]", len(l.lines))), "\n")
	case len(l.lines) == 0:
		return "none"
	}
	return strings.Join(l.lines, "\n")
}

// eachPage reads the pages of a list until it is full. read returns the cursor of the next one.
func (l *entries) eachPage(n *session, read func(cursor string) (next string, err error)) error {
	cursor := ""
	for range maxPages {
		n.traffic.refill()
		next, err := read(cursor)
		switch {
		case err != nil:
			return err
		case next == "":
			return nil
		case l.full():
			l.more = true
			return nil
		}
		cursor = next
	}
	l.more = true
	return nil
}

func listResources(ctx context.Context, n *session, _ json.RawMessage) (string, error) {
	var list entries
	err := list.eachPage(n, func(cursor string) (string, error) {
		page, err := n.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, r := range page.Resources {
			if r == nil || len(r.URI) > maxURI {
				continue
			}
			if err := list.add(entry{URI: r.URI, Name: r.Name, Description: r.Description, Type: r.MIMEType, Bytes: r.Size}); err != nil {
				return "", err
			}
		}
		return page.NextCursor, nil
	})
	if err != nil {
		return "", err
	}
	err = list.eachPage(n, func(cursor string) (string, error) {
		page, err := n.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		if said := refusal(err); said != nil && said.Code == jsonrpc.CodeMethodNotFound {
			return "", nil // templates are optional
		}
		if err != nil {
			return "", err
		}
		for _, r := range page.ResourceTemplates {
			if r == nil || len(r.URITemplate) > maxURI {
				continue
			}
			if err := list.add(entry{Template: r.URITemplate, Name: r.Name, Description: r.Description, Type: r.MIMEType}); err != nil {
				return "", err
			}
		}
		return page.NextCursor, nil
	})
	return list.text(), err
}

func readResource(ctx context.Context, n *session, arguments json.RawMessage) (string, error) {
	var a struct{ URI string }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return "", &ownError{err}
	}
	if a.URI == "" || len(a.URI) > maxURI {
		return "", &ownError{fmt.Errorf("uri: want 1 to %d bytes", maxURI)}
	}
	r, err := n.ReadResource(ctx, &mcp.ReadResourceParams{URI: a.URI})
	if err != nil {
		return "", err
	}
	if r.NeedsInput() {
		return "", &ownError{errNeedsInput}
	}
	var parts []string
	for _, c := range r.Contents {
		if c != nil {
			parts = append(parts, contentsOf(c))
		}
	}
	return strings.Join(parts, "\n"), nil
}

// contentsOf returns the text of a resource.
func contentsOf(c *mcp.ResourceContents) string {
	if len(c.Blob) > 0 {
		return leftOut("a resource", c.MIMEType, len(c.Blob))
	}
	return c.Text
}

func listPrompts(ctx context.Context, n *session, _ json.RawMessage) (string, error) {
	var list entries
	err := list.eachPage(n, func(cursor string) (string, error) {
		page, err := n.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, p := range page.Prompts {
			if p == nil {
				continue
			}
			e := entry{Name: p.Name, Description: p.Description}
			for i, a := range p.Arguments {
				if a == nil || i >= maxEntries {
					continue
				}
				name := shorttext.Ellipsis(readable(a.Name), maxEntry)
				if a.Required {
					name += " (required)"
				}
				e.Arguments = append(e.Arguments, name)
			}
			if err := list.add(e); err != nil {
				return "", err
			}
		}
		return page.NextCursor, nil
	})
	return list.text(), err
}

// getPrompt returns the messages of a prompt, each after the name of its role.
func (s *server) getPrompt(ctx context.Context, n *session, arguments json.RawMessage) (string, error) {
	var a struct {
		Name      string
		Arguments map[string]string
	}
	if err := json.Unmarshal(arguments, &a); err != nil {
		return "", &ownError{err}
	}
	r, err := n.GetPrompt(ctx, &mcp.GetPromptParams{Name: a.Name, Arguments: a.Arguments})
	if err != nil {
		return "", err
	}
	if r.NeedsInput() {
		return "", &ownError{errNeedsInput}
	}
	var parts []string
	for _, m := range r.Messages {
		if m != nil {
			parts = append(parts, string(m.Role)+": "+s.partOf(m.Content))
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

var errNeedsInput = errors.New("the server asks a person for more, which its entry in the agent's file does not allow: see elicitation")
