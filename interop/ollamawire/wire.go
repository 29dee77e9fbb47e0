package ollamawire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/middleware"
	"github.com/ollama/ollama/model/parsers"
	"github.com/ollama/ollama/model/renderers"
	"github.com/ollama/ollama/template"
	"github.com/ollama/ollama/thinking"
)

// A Model is a scripted model. It has the names of a renderer and a parser of Ollama, or
// a template.
type Model struct {
	Name, Renderer, Parser, Template string
	// Say continues a prompt.
	Say func(prompt string) string
}

// Handler serves models as Ollama does.
func Handler(models ...Model) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	s := server{models}
	r.POST("/api/chat", s.chat)
	r.POST("/api/generate", s.generate)
	r.POST("/v1/chat/completions", middleware.ChatMiddleware(), s.chat)
	r.POST("/v1/completions", middleware.CompletionsMiddleware(), s.generate)
	r.POST("/v1/responses", middleware.ResponsesMiddleware(), s.chat)
	r.POST("/v1/messages", middleware.AnthropicMessagesMiddleware(), s.chat)
	r.POST("/api/show", s.show)
	return r
}

type server struct{ models []Model }

func (s server) find(c *gin.Context, name string) *Model {
	for i := range s.models {
		if s.models[i].Name == name {
			return &s.models[i]
		}
	}
	c.JSON(http.StatusNotFound, gin.H{"error": "model '" + name + "' not found"})
	return nil
}

func (s server) show(c *gin.Context) {
	var req api.ShowRequest
	if err := c.ShouldBindJSON(&req); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	if m := s.find(c, req.Model); m != nil {
		c.JSON(http.StatusOK, gin.H{"template": m.template(), "capabilities": []string{"completion", "thinking"}})
	}
}

// template is that of a model; one with a renderer has none of its own.
func (m *Model) template() string {
	if m.Template == "" {
		return "{{ .Prompt }}"
	}
	return m.Template
}

func (m *Model) tags() (open, closing string) {
	t, err := template.Parse(m.template())
	if err != nil {
		return "", ""
	}
	return thinking.InferTags(t.Template)
}

// thinks sets the default of the switch, as the handlers of server/routes.go do.
func (m *Model) thinks(think *api.ThinkValue) *api.ThinkValue {
	open, _ := m.tags()
	p := parsers.ParserForName(m.Parser)
	if think == nil && (open != "" || p != nil && p.HasThinkingSupport()) {
		return &api.ThinkValue{Value: true}
	}
	return think
}

// render makes the prompt.
func (m *Model) render(own string, msgs []api.Message, tools []api.Tool, think *api.ThinkValue) (string, error) {
	if own == "" && m.Renderer != "" {
		return renderers.RenderWithRenderer(m.Renderer, msgs, tools, think)
	}
	if own == "" {
		own = m.template()
	}
	t, err := template.Parse(own)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, template.Values{Messages: msgs, Tools: tools, Think: think.Bool(), IsThinkSet: think != nil})
	return b.String(), err
}

// A reader separates what a model writes.
type reader struct {
	parser parsers.Parser
	tags   *thinking.Parser
}

func (m *Model) reader(prompt string, raw bool, tools []api.Tool, last *api.Message, think *api.ThinkValue) reader {
	if p := parsers.ParserForName(m.Parser); p != nil && !raw {
		p.Init(tools, last, think)
		return reader{parser: p}
	}
	open, closing := m.tags()
	if think == nil || !think.Bool() || open == "" {
		return reader{}
	}
	t := &thinking.Parser{OpeningTag: open, ClosingTag: closing}
	if strings.HasSuffix(strings.TrimSpace(prompt), open) {
		t.AddContent(open)
	}
	return reader{tags: t}
}

func (r reader) add(piece string, done bool) (content, thought string, calls []api.ToolCall, err error) {
	switch {
	case r.parser != nil:
		return r.parser.Add(piece, done)
	case r.tags != nil:
		thought, content = r.tags.AddContent(piece)
		return content, thought, nil, nil
	}
	return piece, "", nil, nil
}

// halt ends a text as the runner does: at a stop word, or at the limit of tokens.
func halt(text string, options map[string]any) (string, string) {
	reason := "stop"
	stops, _ := options["stop"].([]any)
	if list, ok := options["stop"].([]string); ok { // of a middleware
		for _, w := range list {
			stops = append(stops, w)
		}
	}
	for _, w := range stops {
		if w, ok := w.(string); ok && w != "" {
			text, _, _ = strings.Cut(text, w)
		}
	}
	limit := 0
	switch n := options["num_predict"].(type) {
	case float64:
		limit = int(n)
	case int:
		limit = n
	}
	if words := strings.SplitAfter(text, " "); limit > 0 && limit < len(words) {
		return strings.Join(words[:limit], ""), "length"
	}
	return text, reason
}

func cut(text string) (pieces []string) {
	runes := []rune(text)
	for n := 1; len(runes) > 0; n = n%7 + 1 {
		n := min(n, len(runes))
		pieces = append(pieces, string(runes[:n]))
		runes = runes[n:]
	}
	return pieces
}

func (s server) chat(c *gin.Context) {
	var req api.ChatRequest
	if err := c.ShouldBindJSON(&req); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	m := s.find(c, req.Model)
	if m == nil {
		return
	}
	req.Think = m.thinks(req.Think)
	prompt, err := m.render("", req.Messages, req.Tools, req.Think)
	if err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	var last *api.Message
	if n := len(req.Messages); n > 0 {
		last = &req.Messages[n-1]
	}
	text, reason := halt(m.Say(prompt), req.Options)
	all := api.ChatResponse{Model: req.Model, CreatedAt: time.Now().UTC(), Message: api.Message{Role: "assistant"}}
	send := func(content, thought string, calls []api.ToolCall, done bool) any {
		one := api.ChatResponse{Model: req.Model, CreatedAt: all.CreatedAt, Message: api.Message{Role: "assistant", Content: content, Thinking: thought, ToolCalls: calls}, Done: done}
		if done {
			one.DoneReason = reason
		}
		all.Message.Content += content
		all.Message.Thinking += thought
		all.Message.ToolCalls = append(all.Message.ToolCalls, calls...)
		all.Done, all.DoneReason = one.Done, one.DoneReason
		return one
	}
	play(c, req.Stream, m.reader(prompt, false, req.Tools, last, req.Think), text, send, &all)
}

func (s server) generate(c *gin.Context) {
	var req api.GenerateRequest
	if err := c.ShouldBindJSON(&req); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	m := s.find(c, req.Model)
	if m == nil {
		return
	}
	if req.Raw && (req.Template != "" || req.System != "" || len(req.Context) > 0) {
		c.JSON(http.StatusBadRequest, gin.H{"error": "raw mode does not support template, system, or context"})
		return
	}
	req.Think = m.thinks(req.Think)
	prompt := req.Prompt
	if !req.Raw {
		var err error
		if prompt, err = m.render(req.Template, []api.Message{{Role: "user", Content: req.Prompt}}, nil, req.Think); err != nil {
			c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
			return
		}
	}
	text, reason := halt(m.Say(prompt), req.Options)
	all := api.GenerateResponse{Model: req.Model, CreatedAt: time.Now().UTC()}
	send := func(content, thought string, _ []api.ToolCall, done bool) any {
		one := api.GenerateResponse{Model: req.Model, CreatedAt: all.CreatedAt, Response: content, Thinking: thought, Done: done}
		if done {
			one.DoneReason = reason
		}
		all.Response += content
		all.Thinking += thought
		all.Done, all.DoneReason = one.Done, one.DoneReason
		return one
	}
	play(c, req.Stream, m.reader(prompt, req.Raw, nil, nil, req.Think), text, send, &all)
}

// play sends a text, piece by piece or whole.
func play(c *gin.Context, stream *bool, r reader, text string, send func(content, thought string, calls []api.ToolCall, done bool) any, all any) {
	streams := stream == nil || *stream
	if streams {
		c.Header("Content-Type", "application/x-ndjson")
	}
	pieces := append(cut(text), "")
	for i, p := range pieces {
		done := i == len(pieces)-1
		content, thought, calls, err := r.add(p, done)
		if err != nil {
			c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
			return
		}
		if content == "" && thought == "" && len(calls) == 0 && !done {
			continue
		}
		one := send(content, thought, calls, done)
		if !streams {
			continue
		}
		line, err := json.Marshal(one)
		if err != nil {
			return
		}
		c.Writer.Write(append(line, '\n'))
		c.Writer.Flush()
	}
	if !streams {
		c.JSON(http.StatusOK, all)
	}
}
