package ollamawire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/middleware"
	"github.com/ollama/ollama/model/parsers"
	"github.com/ollama/ollama/model/renderers"
	"github.com/ollama/ollama/template"
	"github.com/ollama/ollama/thinking"
	"github.com/ollama/ollama/tools"
	"github.com/ollama/ollama/types/model"
)

// Version is the version of Ollama whose code this is.
const Version = "0.17.4"

// contextTokens is the size of a model's context.
const contextTokens = 4096

// A Model is a scripted model. It has the names of a renderer and a parser of Ollama, or
// a template.
type Model struct {
	Name, Renderer, Parser, Template string
	// Parameters are its defaults, such as "num_predict". A request may set others.
	Parameters map[string]any
	// Say continues a prompt, and returns the tokens.
	Say func(prompt string) []string
}

// Handler serves models as Ollama does.
func Handler(models ...Model) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	s := server{models}
	r.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "Ollama is running") })
	r.GET("/api/version", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"version": Version}) })
	r.GET("/api/tags", s.tags)
	r.GET("/api/ps", s.running)
	r.POST("/api/show", s.show)
	r.POST("/api/chat", s.chat)
	r.POST("/api/generate", s.generate)
	r.POST("/api/embed", s.embed)
	r.POST("/v1/embeddings", middleware.EmbeddingsMiddleware(), s.embed)
	r.GET("/v1/models", middleware.ListMiddleware(), s.tags)
	r.POST("/v1/chat/completions", middleware.ChatMiddleware(), s.chat)
	r.POST("/v1/completions", middleware.CompletionsMiddleware(), s.generate)
	r.POST("/v1/responses", middleware.ResponsesMiddleware(), s.chat)
	r.POST("/v1/messages", middleware.AnthropicMessagesMiddleware(), s.chat)
	return r
}

type server struct{ models []Model }

func (s server) find(c *gin.Context, name string) *Model {
	for i := range s.models {
		if s.models[i].Name == strings.TrimSuffix(name, ":latest") {
			return &s.models[i]
		}
	}
	c.JSON(http.StatusNotFound, gin.H{"error": fmt.Sprintf("model '%s' not found", name)})
	return nil
}

// started is when all models were made and loaded.
var started = time.Now().UTC()

func (s server) tags(c *gin.Context) {
	list := api.ListResponse{Models: []api.ListModelResponse{}}
	for _, m := range s.models {
		list.Models = append(list.Models, api.ListModelResponse{Name: m.tag(), Model: m.tag(), ModifiedAt: started})
	}
	c.JSON(http.StatusOK, list)
}

func (s server) running(c *gin.Context) {
	list := api.ProcessResponse{Models: []api.ProcessModelResponse{}}
	for _, m := range s.models {
		list.Models = append(list.Models, api.ProcessModelResponse{Name: m.tag(), Model: m.tag(), ContextLength: contextTokens})
	}
	c.JSON(http.StatusOK, list)
}

func (s server) show(c *gin.Context) {
	var req api.ShowRequest
	if err := c.ShouldBindJSON(&req); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	if req.Model == "" {
		req.Model = req.Name
	}
	m := s.find(c, req.Model)
	if m == nil {
		return
	}
	can := []model.Capability{model.CapabilityCompletion}
	if m.canThink() {
		can = append(can, model.CapabilityThinking)
	}
	c.JSON(http.StatusOK, api.ShowResponse{
		Template: m.text(), Capabilities: can, ModifiedAt: started, Renderer: m.Renderer, Parser: m.Parser,
		ModelInfo: map[string]any{"general.architecture": "llama", "llama.context_length": contextTokens},
	})
}

// embed gives each text its length in bytes as its vector.
func (s server) embed(c *gin.Context) {
	var req api.EmbedRequest
	if err := c.ShouldBindJSON(&req); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	if s.find(c, req.Model) == nil {
		return
	}
	texts, ok := req.Input.([]any)
	if !ok {
		texts = []any{req.Input}
	}
	res := api.EmbedResponse{Model: req.Model}
	for _, text := range texts {
		text, ok := text.(string)
		if !ok {
			c.JSON(http.StatusBadRequest, gin.H{"error": "invalid input type"})
			return
		}
		res.Embeddings = append(res.Embeddings, []float32{float32(len(text))})
		res.PromptEvalCount += len(text)
	}
	c.JSON(http.StatusOK, res)
}

func (m *Model) tag() string {
	if strings.Contains(m.Name, ":") {
		return m.Name
	}
	return m.Name + ":latest"
}

// text is the template of a model. One with a renderer has none of its own.
func (m *Model) text() string {
	if m.Template == "" {
		return "{{ .Prompt }}"
	}
	return m.Template
}

// thoughts returns the tags that Ollama finds in the template.
func (m *Model) thoughts() (open, closing string) {
	t, err := template.Parse(m.text())
	if err != nil {
		return "", ""
	}
	return thinking.InferTags(t.Template)
}

// canThink is what Model.Capabilities in server/images.go says.
func (m *Model) canThink() bool {
	open, closing := m.thoughts()
	p := parsers.ParserForName(m.Parser)
	return open != "" && closing != "" || p != nil && p.HasThinkingSupport()
}

// accepts checks the switch of a request, and sets its default. The Messages API gives up
// the switch where a model does not know it.
func (m *Model) accepts(c *gin.Context, think **api.ThinkValue) bool {
	_, relaxed := c.Get("relax_thinking")
	switch t := *think; {
	case t != nil && t.IsString() && m.Parser != "harmony":
		c.JSON(http.StatusBadRequest, gin.H{"error": fmt.Sprintf("think value %q is not supported for this model", t.String())})
		return false
	case m.canThink():
		if t == nil {
			*think = &api.ThinkValue{Value: true}
		}
	case t != nil && t.Bool() && relaxed:
		*think = nil
	case t != nil && t.Bool():
		c.JSON(http.StatusBadRequest, gin.H{"error": fmt.Sprintf("%q does not support thinking", m.Name)})
		return false
	}
	return true
}

// render makes the prompt, by the template of the request if it has one.
func (m *Model) render(own string, msgs []api.Message, tools []api.Tool, think *api.ThinkValue) (string, error) {
	if own == "" && m.Renderer != "" {
		return renderers.RenderWithRenderer(m.Renderer, msgs, tools, think)
	}
	if own == "" {
		own = m.text()
	}
	t, err := template.Parse(own)
	if err != nil {
		return "", err
	}
	values := template.Values{Messages: msgs, Tools: tools, IsThinkSet: think != nil}
	if think != nil {
		values.Think, values.ThinkLevel = think.Bool(), think.String()
	}
	var b bytes.Buffer
	err = t.Execute(&b, values)
	return b.String(), err
}

// A reader separates what a model writes.
type reader struct {
	parser parsers.Parser
	tags   *thinking.Parser
	calls  *tools.Parser
}

// read returns the reader of a reply to a prompt. The parser of the model, if there is
// one, was made before the prompt.
func (m *Model) read(p parsers.Parser, prompt string, list []api.Tool, think *api.ThinkValue) reader {
	r := reader{parser: p}
	open, closing := m.thoughts()
	if p == nil && think != nil && think.Bool() && open != "" && closing != "" {
		r.tags = &thinking.Parser{OpeningTag: open, ClosingTag: closing}
		if strings.HasSuffix(strings.TrimSpace(prompt), open) {
			r.tags.AddContent(open)
		}
	}
	if t, err := template.Parse(m.text()); err == nil && len(list) > 0 && (p == nil || !p.HasToolSupport()) {
		r.calls = tools.NewParser(t.Template, list)
	}
	return r
}

func (r reader) add(piece string, done bool) (content, thought string, calls []api.ToolCall, err error) {
	if r.parser != nil {
		return r.parser.Add(piece, done)
	}
	content = piece
	if r.tags != nil {
		thought, content = r.tags.AddContent(piece)
	}
	if r.calls != nil {
		calls, content = r.calls.Add(content)
		if done && len(calls) == 0 {
			content += r.calls.Content()
		}
	}
	return content, thought, calls, nil
}

// An engine's reply, and what it cost.
type reply struct {
	pieces []string
	reason string
	metric api.Metrics
}

// run lets a model continue a prompt, up to a stop word or a limit, as the runner does.
func (m *Model) run(prompt string, options map[string]any) reply {
	all := maps.Clone(m.Parameters)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, options)
	r := reply{pieces: m.Say(prompt), reason: "stop"}
	switch n := all["num_predict"].(type) {
	case float64:
		r.limit(int(n))
	case int:
		r.limit(n)
	}
	var stops []string
	switch list := all["stop"].(type) {
	case string:
		stops = []string{list}
	case []string: // of a middleware
		stops = list
	case []any:
		for _, word := range list {
			if word, ok := word.(string); ok {
				stops = append(stops, word)
			}
		}
	}
	r.stop(stops)
	r.metric = api.Metrics{PromptEvalCount: len(prompt), EvalCount: len(r.pieces), TotalDuration: 2, EvalDuration: 1}
	return r
}

// limit ends a reply after n tokens.
func (r *reply) limit(n int) {
	if n > 0 && n <= len(r.pieces) {
		r.pieces, r.reason = r.pieces[:n], "length"
	}
}

// stop ends a reply before the first of the stop words.
func (r *reply) stop(words []string) {
	text := strings.Join(r.pieces, "")
	end := len(text)
	for _, w := range words {
		if i := strings.Index(text, w); w != "" && i >= 0 {
			end = min(end, i)
		}
	}
	if end == len(text) {
		return
	}
	r.reason = "stop"
	for i, p := range r.pieces {
		if len(p) >= end {
			r.pieces = append(slices.Clone(r.pieces[:i]), p[:end])
			return
		}
		end -= len(p)
	}
}

func (s server) chat(c *gin.Context) {
	var req api.ChatRequest
	if err := c.ShouldBindJSON(&req); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	m := s.find(c, req.Model)
	if m == nil || !m.accepts(c, &req.Think) {
		return
	}
	if len(req.Messages) == 0 {
		c.JSON(http.StatusOK, api.ChatResponse{Model: req.Model, CreatedAt: time.Now().UTC(), Message: api.Message{Role: "assistant"}, Done: true, DoneReason: "load"})
		return
	}
	list := req.Tools
	p := parsers.ParserForName(m.Parser)
	if p != nil {
		list = p.Init(req.Tools, &req.Messages[len(req.Messages)-1], req.Think)
	}
	prompt, err := m.render("", req.Messages, list, req.Think)
	if err != nil {
		c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		return
	}
	said := m.run(prompt, req.Options)
	var all api.ChatResponse
	event := func(content, thought string, calls []api.ToolCall, done bool) any {
		one := api.ChatResponse{
			Model: req.Model, CreatedAt: time.Now().UTC(), Done: done,
			Message: api.Message{Role: "assistant", Content: content, Thinking: thought, ToolCalls: calls},
		}
		if done {
			one.DoneReason, one.Metrics = said.reason, said.metric
		}
		before := all.Message
		all = one
		all.Message.Content = before.Content + content
		all.Message.Thinking = before.Thinking + thought
		all.Message.ToolCalls = append(before.ToolCalls, calls...)
		return one
	}
	play(c, req.Stream, m.read(p, prompt, req.Tools, req.Think), said.pieces, event, &all)
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
	if !m.accepts(c, &req.Think) {
		return
	}
	if req.Prompt == "" {
		c.JSON(http.StatusOK, api.GenerateResponse{Model: req.Model, CreatedAt: time.Now().UTC(), Done: true, DoneReason: "load"})
		return
	}
	prompt := req.Prompt
	var p parsers.Parser
	if !req.Raw {
		if p = parsers.ParserForName(m.Parser); p != nil {
			p.Init(nil, nil, req.Think)
		}
		msgs := []api.Message{{Role: "user", Content: req.Prompt}}
		if req.System != "" {
			msgs = append([]api.Message{{Role: "system", Content: req.System}}, msgs...)
		}
		var err error
		if prompt, err = m.render(req.Template, msgs, nil, req.Think); err != nil {
			c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
			return
		}
	}
	said := m.run(prompt, req.Options)
	var all api.GenerateResponse
	event := func(content, thought string, _ []api.ToolCall, done bool) any {
		one := api.GenerateResponse{Model: req.Model, CreatedAt: time.Now().UTC(), Response: content, Thinking: thought, Done: done}
		if done {
			one.DoneReason, one.Metrics = said.reason, said.metric
		}
		before := all
		all = one
		all.Response, all.Thinking = before.Response+content, before.Thinking+thought
		return one
	}
	play(c, req.Stream, m.read(p, prompt, nil, req.Think), said.pieces, event, &all)
}

// play sends the pieces of a reply one by one, or all of it.
func play(c *gin.Context, stream *bool, r reader, pieces []string, event func(content, thought string, calls []api.ToolCall, done bool) any, all any) {
	streams := stream == nil || *stream
	if streams {
		c.Header("Content-Type", "application/x-ndjson")
	}
	for i := range len(pieces) + 1 {
		done, piece := i == len(pieces), ""
		if !done {
			piece = pieces[i]
		}
		content, thought, calls, err := r.add(piece, done)
		if err != nil {
			c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
			return
		}
		if content == "" && thought == "" && len(calls) == 0 && !done {
			continue
		}
		one := event(content, thought, calls, done)
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
