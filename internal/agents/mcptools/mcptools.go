// Package mcptools gives agents the tools of MCP servers. It uses the official client
// of the Model Context Protocol.
//
// A server is not trusted. Its list of tools is read when it is opened, so that what a
// model is told of a tool does not change later; it is read again when the server was
// started again, and a tool that has changed is no longer called. A message is bounded in bytes,
// depth and members before anything parses it, and so is what a server may send between
// two calls. Of a result, a model gets the texts. A server that ends, hangs, or breaks
// the protocol fails the calls under way; the next call starts it again.
//
// The client offers a server no files and no sampling. Where the agent's file says so, a
// server may ask a person (elicit.go).
package mcptools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// The bounds of what a server may send.
const (
	startTime      = time.Minute
	messageBytes   = 1 << 20
	maxTools       = 1000 // of a list
	maxPages       = 100  // of a list
	maxDescription = 4 << 10
	maxSchema      = 64 << 10
	maxMessages    = 10_000   // between two calls
	maxRequests    = 100      // … of them, that want an answer
	maxBytes       = 64 << 20 // … of them
)

// shape bounds the JSON of a message.
var shape = foreignjson.Limits{Depth: 64, Members: 100_000}

// Open connects to a server and returns the tools that are allowed, in the order of
// the list. end ends the connection, and the process if there is one.
func Open(c agent.MCPServer) (tools []*agent.Func, end func() error, err error) {
	s := newServer(c)
	ctx, stop := context.WithTimeout(context.Background(), s.Timeout)
	defer stop()
	if tools, err = s.tools(ctx); err != nil {
		_ = s.close()
		if ctx.Err() != nil {
			err = fmt.Errorf("the MCP server %s did not answer within %v%s", c.Name, s.Timeout, s.complaint())
		}
		return nil, nil, err
	}
	return tools, s.close, nil
}

// A server is an MCP server, with or without a connection.
type server struct {
	agent.MCPServer

	alone   chan struct{}     // held during a call of a server that may ask a person
	schemas map[string]string // of the allowed tools, as the model was told; nil before the list was read
	turn    chan struct{}     // held while the session is replaced
	session *session          // nil if there is none
	closing sync.WaitGroup
	closed  bool
	stderr  tail // of the process
}

func newServer(c agent.MCPServer) *server {
	s := &server{MCPServer: c, turn: make(chan struct{}, 1), alone: make(chan struct{}, 1)}
	if s.Timeout <= 0 {
		s.Timeout = startTime
	}
	if s.Limit <= 0 {
		s.Limit = messageBytes
	}
	return s
}

// tools lists the allowed tools of the server.
func (s *server) tools(ctx context.Context) ([]*agent.Func, error) {
	n, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.offers(n.InitializeResult()); err != nil {
		return nil, err
	}
	found, err := n.list(ctx, s.Allow)
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s does not list its tools: %w%s", s.Name, err, s.complaint())
	}
	var list []*agent.Func
	schemas := map[string]string{}
	for _, name := range s.Allow {
		tool := found[name]
		if tool == nil {
			return nil, fmt.Errorf("the MCP server %s has no tool %q: it has %s", s.Name, name, offered(found))
		}
		f, err := s.tool(tool)
		if err != nil {
			return nil, fmt.Errorf("the tool %q of the MCP server %s: %w", name, s.Name, err)
		}
		list = append(list, f)
		schemas[name] = f.Schema
	}
	s.schemas = schemas
	return append(list, s.more()...), nil
}

// list reads the list of tools until it has the wanted ones.
func (n *session) list(ctx context.Context, wanted []string) (map[string]*mcp.Tool, error) {
	found, missing := map[string]*mcp.Tool{}, len(wanted)
	if missing == 0 {
		return found, nil
	}
	params := &mcp.ListToolsParams{}
	for range maxPages {
		n.traffic.refill()
		page, err := n.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if t == nil || found[t.Name] != nil {
				continue
			}
			found[t.Name] = t
			if slices.Contains(wanted, t.Name) {
				missing--
			}
		}
		if missing == 0 || page.NextCursor == "" || len(found) >= maxTools {
			break
		}
		params.Cursor = page.NextCursor
	}
	return found, nil
}

// maxOffered is how many names an error shows.
const maxOffered = 20

// offered lists names of tools for people.
func offered(found map[string]*mcp.Tool) string {
	var names []string
	for name := range found {
		names = append(names, visible.Line(shorttext.Ellipsis(name, 64)))
	}
	slices.Sort(names)
	if n := len(names); n > maxOffered {
		names = append(names[:maxOffered], fmt.Sprintf("%d others", n-maxOffered))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// tool returns a tool as a model gets it.
func (s *server) tool(t *mcp.Tool) (*agent.Func, error) {
	schema, err := encode(t.InputSchema)
	if err != nil {
		return nil, err
	}
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("its schema has %d bytes: the limit is %d", len(schema), maxSchema)
	}
	name := t.Name
	return &agent.Func{
		Description: shorttext.Ellipsis(readable(t.Description), maxDescription), Schema: string(schema),
		Do: func(ctx context.Context, u agent.Use) (string, error) { return s.call(ctx, name, u) },
	}, nil
}

// call calls a tool of the server. The error is for the model: it does not have the
// server's address.
func (s *server) call(ctx context.Context, name string, u agent.Use) (string, error) {
	if s.Elicitation {
		return s.callAsking(ctx, name, u)
	}
	return s.callTool(ctx, name, u, nil)
}

func (s *server) callTool(ctx context.Context, name string, u agent.Use, a *asking) (string, error) {
	return s.request(ctx, a, func(n *session) (string, error) {
		if why := n.changed[name]; why != "" {
			return "", &ownError{fmt.Errorf("not called: the server %s was started again, and %s", s.Name, why)}
		}
		params := &mcp.CallToolParams{Name: name, Arguments: u.Arguments}
		if place := tracecontext.From(ctx).String(); place != "" {
			params.Meta = mcp.Meta{tracecontext.Name: place} // as for a server that no header reaches
		}
		token, forget := n.expect(func(text string) { agent.Narrate(ctx, text) })
		defer forget()
		params.SetProgressToken(token)
		result, err := n.CallTool(ctx, params)
		if err != nil {
			return "", err
		}
		text, err := s.textOf(result)
		if err != nil {
			return "", &ownError{err}
		}
		return text, nil
	})
}

// An ownError is no fault of the connection.
type ownError struct{ error }

// request makes a request of a session that works.
func (s *server) request(ctx context.Context, a *asking, do func(*session) (string, error)) (string, error) {
	n, err := s.connected(ctx)
	if err != nil {
		return "", s.unreached(ctx)
	}
	n.traffic.refill()
	n.asks(a)
	defer n.asks(nil)
	text, err := do(n)
	if own, ok := errors.AsType[*ownError](err); ok {
		return "", own.error
	}
	if err != nil {
		if ctx.Err() == nil && refusal(err) == nil || ctx.Err() != nil && a != nil {
			n.broken.Store(true) // a call that was given up may still ask, and the next one is another's
		}
		return "", s.failure(ctx, n, err)
	}
	return text, nil
}

// unreached says that a call was not made.
func (s *server) unreached(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("not called: the server %s did not start in time: %w", s.Name, ctx.Err())
	}
	return fmt.Errorf("not called: the server %s could not be reached in %d attempts", s.Name, 1+len(s.waits()))
}

// failure says why a call failed.
func (s *server) failure(ctx context.Context, n *session, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the server %s did not answer in time: %w", s.Name, ctx.Err())
	}
	if said := refusal(err); said != nil {
		return fmt.Errorf("the server %s refused the call: %s", s.Name, said.Message)
	}
	if bound := n.traffic.broken(); bound != "" {
		return fmt.Errorf("the server %s %s", s.Name, bound)
	}
	return fmt.Errorf("the server %s ended, or broke the protocol, during the call, which may have taken effect", s.Name)
}

// rejected is the code of errors that the client makes of those of HTTP.
const rejected = -32005

// refusal returns the error with which a server answered, if it did.
func refusal(err error) *jsonrpc.Error {
	said, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || said.Code == rejected {
		return nil
	}
	return said
}

// expect returns the token of a call's progress, and a function that forgets it.
func (n *session) expect(on func(text string)) (token string, forget func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	token = fmt.Sprintf("call-%d", n.calls)
	n.progress[token] = on
	return token, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.progress, token)
	}
}

// hear takes the progress of a call.
func (n *session) hear(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	if r == nil || r.Params == nil {
		return
	}
	token, _ := r.Params.ProgressToken.(string)
	n.mu.Lock()
	on := n.progress[token]
	n.mu.Unlock()
	if on == nil {
		return
	}
	text := r.Params.Message
	if text == "" {
		text = fmt.Sprint(r.Params.Progress)
		if r.Params.Total > 0 {
			text += fmt.Sprintf(" of %v", r.Params.Total)
		}
	}
	on(text)
}

// complaint is the end of what the process wrote to standard error, for the operator.
func (s *server) complaint() string {
	text := readable(s.stderr.String())
	for _, v := range s.Env {
		if v != "" {
			text = strings.ReplaceAll(text, v, "[secret]")
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "; it says: " + text
}
