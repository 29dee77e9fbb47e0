// Package mcpserver offers what Sotto reads as tools of the Model Context Protocol
// (MCP): the reading of a reply, its answer, the verdict about it, and the events of
// one record.
//
// A tool reads the arguments of its call, and the record that was named when the
// server started. It opens no file that a caller names, and asks no model. The arguments
// come from another program's model, and a record holds what models and users wrote.
// So arguments, results and searches have bounds, and from a record a caller gets no
// reasoning, unless the operator allows it.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

const (
	// MaxMessage bounds a message of a client, in bytes.
	MaxMessage = 8 << 20
	// maxResult bounds the JSON of a result, in bytes. The client puts it into a
	// model's prompt.
	maxResult = 4 << 20
)

// A Config says what a server offers.
type Config struct {
	Version string
	// Catalogue has the dialects in which replies are read.
	Catalogue *dialectset.Set
	// Record is the record that can be read. If nil, the tools for it are missing.
	Record *sidecar.Store
	// Reasoning says that the tools for the record also give reasoning, and the
	// prompts, which may contain it.
	Reasoning bool
	// Logger gets the faults of the protocol. If nil, there is no log.
	Logger *slog.Logger
}

// A Server serves the tools. Make one with New.
type Server struct {
	mcp *mcp.Server
	// working bounds how many calls are worked on at the same time. Others wait.
	working chan struct{}
}

// New returns a server.
func New(c Config) (*Server, error) {
	s := &Server{working: make(chan struct{}, runtime.GOMAXPROCS(0))}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "sotto", Title: "Sotto", Version: c.Version},
		&mcp.ServerOptions{
			Instructions: "Tools that separate what a language model thinks from what it says.",
			Logger:       c.Logger,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	r, err := newReplyTools(c.Catalogue)
	if err != nil {
		return nil, err
	}
	s.register(splitTool, r.split)
	s.register(extractTool, r.extract)
	s.register(scoreTool, r.score)
	if c.Record != nil {
		t := &recordTools{record: c.Record, reasoning: c.Reasoning}
		s.register(listTool, t.list)
		s.register(showTool, t.show)
		s.register(searchTool, t.search)
	}
	return s, nil
}

// A tool is what a client is told of a tool.
type tool struct {
	name, title, description string
	schema                   string // of its arguments
}

// A call works on the arguments of one call, a JSON object, and returns a JSON
// object.
type call func(ctx context.Context, arguments []byte) ([]byte, error)

// errTooLong is the error of a result that no model could use.
var errTooLong = errors.New("the result is longer than 4 MiB: give a shorter text, or use the command line")

// register adds a tool. A call that fails gives its client the reason as the tool's
// result, so that the client's model can read it.
func (s *Server) register(t tool, work call) {
	s.mcp.AddTool(&mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: json.RawMessage(t.schema),
		// Nothing is written, so a call can be repeated; and nothing outside of this
		// process is asked.
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)},
	}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case s.working <- struct{}{}:
			defer func() { <-s.working }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		arguments := []byte(r.Params.Arguments)
		if len(arguments) == 0 {
			arguments = []byte("{}")
		}
		err := foreignjson.Check(arguments)
		var result []byte
		if err == nil {
			result, err = work(ctx, arguments)
		}
		if err == nil && len(result) > maxResult {
			err = errTooLong
		}
		if err != nil {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: explain(err)}}}, nil
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(result)}},
			StructuredContent: json.RawMessage(result),
		}, nil
	})
}

// explain returns an error with its hint, if it has one.
func explain(err error) string {
	text := err.Error()
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && h.Hint() != "" {
		text += "; " + h.Hint()
	}
	return text
}
