package mcptools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serverMode is the variable that makes this program a server.
const serverMode = "SOTTO_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(runURL) != "" {
		runHere()
		return
	}
	switch mode := os.Getenv(serverMode); mode {
	case "":
		goleak.VerifyTestMain(m)
	case "official":
		if err := official().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	default:
		hostile(mode)
	}
}

// official is a server of the official SDK.
func official() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "official", Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	say := func(parts ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: parts} }
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again.\u202e\x07"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return say(&mcp.TextContent{Text: in.Text}), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "where"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		header := ""
		if r.Extra != nil {
			header = r.Extra.Header.Get("Traceparent")
		}
		return say(&mcp.TextContent{Text: fmt.Sprint(r.Params.Meta["traceparent"], " ", header)}), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "look"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return say(&mcp.TextContent{Text: "Here:"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///secret", Text: "RESOURCE"}}), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it did not work")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "env"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return say(&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "child"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		cmd := exec.Command("sleep", "1000")
		cmd.Stderr = os.Stderr // so that it holds a stream of the server
		if err := cmd.Start(); err != nil {
			return nil, nil, err
		}
		return say(&mcp.TextContent{Text: fmt.Sprint(cmd.Process.Pid)}), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "steps"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			p := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3}
			if i == 0 {
				p.Message = "<think>CANARY</think>begun\n\x1b[31m"
			}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		return say(&mcp.TextContent{Text: "stepped"}), nil, nil
	})
	offer(s)
	return s
}

// offer adds resources, prompts, and tools that ask a person.
func offer(s *mcp.Server) {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}, {URI: r.Params.URI, MIMEType: "image/png", Blob: []byte("123")}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "note:///a", Name: "a", Description: "A note.\u202e", MIMEType: "text/plain"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note:///day/{day}", Name: "day"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet " + r.Params.Arguments["who"] + "."}}}}, nil
		})
	elicits := func(name, message, schema string, more int) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			said := ""
			if p := r.Session.InitializeParams(); p == nil || p.ProtocolVersion >= "2026-07-28" { // a result asks, and the call is made again
				if r.Params.InputResponses == nil {
					asks := mcp.InputRequestMap{}
					for i := range 1 + more {
						asks[fmt.Sprint(i)] = &mcp.ElicitParams{Mode: "form", Message: message + strings.Repeat("!", i), RequestedSchema: json.RawMessage(schema)}
					}
					return &mcp.CallToolResult{InputRequests: asks}, nil, nil
				}
				for i := range 1 + more {
					answer := r.Params.InputResponses[fmt.Sprint(i)].(*mcp.ElicitResult)
					content, _ := json.Marshal(answer.Content)
					said += answer.Action + " " + string(content) + ";"
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, nil
			}
			for i := range 1 + more {
				answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: message + strings.Repeat("!", i), RequestedSchema: json.RawMessage(schema)})
				if err != nil {
					return nil, nil, err
				}
				content, _ := json.Marshal(answer.Content)
				said += answer.Action + " " + string(content) + ";"
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, nil
		})
	}
	const yes = `{"type":"object","properties":{"sure":{"type":"boolean"},"days":{"type":"integer","default":3},"why":{"type":"string"}},"required":["sure"]}`
	elicits("erase", "Erase it?", yes, 0)
	elicits("twice", "Go on?", yes, 1)
	elicits("name", "Who are you?", `{"type":"object","properties":{"name":{"type":"string","minLength":1,"title":"Your name"},"age":{"type":"integer","minimum":0,"default":7},"colours":{"type":"array","items":{"type":"string","enum":["red","blue"]}}},"required":["name"]}`, 0)
	elicits("link", strings.Repeat("?", 5000), yes, 0)
}

// hostile speaks the protocol by hand, until a call.
func hostile(mode string) {
	out := bufio.NewWriter(os.Stdout)
	var mu sync.Mutex
	write := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		out.WriteString(text)
		out.Flush()
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	var held []json.RawMessage
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := func(id json.RawMessage, result string) {
			write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result))
		}
		said := func(text string) string { return `{"content":[{"type":"text","text":"` + text + `"}]}` }
		switch m.Method {
		case "initialize":
			if mode == "noise" {
				write("Starting…\n[1,2]\n{\"a\":1}\nnull\n")
			}
			if mode == "silent" {
				continue
			}
			answer(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
		case "tools/list":
			switch mode {
			case "pages":
				answer(m.ID, fmt.Sprintf(`{"tools":[{"name":"t%s","inputSchema":{"type":"object"}}],"nextCursor":"%sx"}`, m.Params.Cursor, m.Params.Cursor))
			case "list":
				tools := strings.Repeat(`{"name":"t","inputSchema":{"type":"object"}},`, 100_000)
				answer(m.ID, `{"tools":[`+strings.TrimSuffix(tools, ",")+`]}`)
			case "schema":
				answer(m.ID, `{"tools":[{"name":"work","inputSchema":{"type":"object","description":"`+strings.Repeat("x", maxSchema)+`"}}]}`)
			default:
				answer(m.ID, `{"tools":[{"name":"work","description":"`+strings.Repeat("long ", 2000)+`","inputSchema":{"type":"object"}}]}`)
			}
		case "tools/call":
			switch mode {
			case "die":
				os.Exit(3)
			case "hang":
			case "deaf":
				time.Sleep(time.Hour)
			case "flood":
				for {
					write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n")
				}
			case "questions":
				for i := range 1_000_000 {
					write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage","params":{}}`+"\n", i))
				}
			case "endless":
				for {
					write(strings.Repeat("x", 1<<16))
				}
			case "deep":
				answer(m.ID, `{"content":`+strings.Repeat("[", 300_000)+strings.Repeat("]", 300_000)+"}")
			case "batch":
				write("[" + strings.Repeat(`{"jsonrpc":"2.0","id":"same","method":"ping"},`, 3) + `{"jsonrpc":"2.0","id":"same","method":"ping"}]` + "\n")
				answer(m.ID, said("after the batch"))
			case "order":
				if held = append(held, m.ID); len(held) == 2 {
					answer(held[1], said("second"))
					answer(held[0], said("first"))
				}
			case "odd":
				answer(json.RawMessage(`"nobody"`), said("x"))
				answer(m.ID, `{"content":[null,{"type":"resource"},{"type":"text"}]}`)
			case "change":
				write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
				answer(m.ID, said("changed"))
			case "noise":
				answer(m.ID, said("through the noise"))
			}
		default:
			write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID))
		}
	}
}
