package scripted

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// geminiError is Google's JSON for an error.
func geminiError(x *exchange, f *fault) object {
	status, message := "INVALID_ARGUMENT", f.message
	switch f.status {
	case http.StatusNotFound:
		status = "NOT_FOUND"
		if f.code == "model_not_found" {
			message = "models/" + f.message + " is not found for API version v1beta, or is not supported for generateContent."
		}
	case http.StatusTooManyRequests:
		status, message = "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."
	case http.StatusInternalServerError:
		status = "INTERNAL"
	}
	return object{{"error", object{{"code", f.status}, {"message", message}, {"status", status}}}}
}

// A geminiRequest holds the relevant parts of a request for content.
type geminiRequest struct {
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Declarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig struct {
		Calling struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Config struct {
		MaxTokens  int `json:"maxOutputTokens"`
		Candidates int `json:"candidateCount"`
		Thinking   struct {
			Budget *int `json:"thinkingBudget"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      string          `json:"text"`
	Thought   bool            `json:"thought"`
	Signature string          `json:"thoughtSignature"`
	Call      *geminiCall     `json:"functionCall"`
	Result    json.RawMessage `json:"functionResponse"`
}

type geminiCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func (q *geminiRequest) cue() cue {
	c := cue{limit: q.Config.MaxTokens}
	c.quiet = q.Config.Thinking.Budget != nil && *q.Config.Thinking.Budget == 0
	for _, t := range q.Tools {
		for _, d := range t.Declarations {
			if q.ToolConfig.Calling.Mode != "NONE" {
				c.tools = append(c.tools, d.Name)
			}
		}
	}
	c.rounds = roundsOf(len(q.Contents), func(i int) (asked, results bool) {
		results = slices.ContainsFunc(q.Contents[i].Parts, func(p geminiPart) bool { return p.Result != nil })
		return q.Contents[i].Role != "model" && !results, results
	})
	last := q.Contents[len(q.Contents)-1]
	for _, p := range last.Parts {
		c.result = c.result || p.Result != nil
		if last.Role == "model" {
			c.lead = p.Text
		}
	}
	return c
}

// unsignedCall stands in place of a signature on a call of another model.
const unsignedCall = "skip_thought_signature_validator"

// geminiHistory checks what a request must return of a model that signs its calls:
// the first call of each reply of the turn under way, with its signature.
func geminiHistory(m *Model, q *geminiRequest) *fault {
	if m.Wire != "google" {
		return nil
	}
	for _, content := range q.Contents[geminiTurn(q):] {
		first := true
		for i, p := range content.Parts {
			if p.Call == nil || !first {
				continue
			}
			first = false
			switch p.Signature {
			case "":
				return badRequest("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", p.Call.Name, i+1)
			case signCall(m.Name, string(p.Call.Args)), unsignedCall:
			default:
				return badRequest("Corrupted thought signature.")
			}
		}
	}
	return nil
}

// geminiTurn is the index of the content that the turn under way begins with.
func geminiTurn(q *geminiRequest) int {
	for i := len(q.Contents) - 1; i >= 0; i-- {
		isResult := func(p geminiPart) bool { return p.Result != nil }
		if c := q.Contents[i]; c.Role != "model" && !slices.ContainsFunc(c.Parts, isResult) {
			return i
		}
	}
	return 0
}

// serveGemini serves what a path asks of a model: MODEL:VERB.
func serveGemini(x *exchange) error {
	call := x.r.PathValue("call")
	colon := max(strings.LastIndexByte(call, ':'), 0)
	name, verb := call[:colon], strings.TrimPrefix(call[colon:], ":")
	var q geminiRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(name); err != nil {
		return err
	}
	stream := verb == "streamGenerateContent"
	switch {
	case verb == "countTokens":
		return x.reply(http.StatusOK, object{{"totalTokens", x.promptTokens()}})
	case !stream && verb != "generateContent":
		return &fault{status: http.StatusNotFound, message: "Requested entity was not found."}
	case len(q.Contents) == 0:
		return badRequest("* GenerateContentRequest.contents: contents is not specified")
	}
	n, err := checkChoices(q.Config.Candidates)
	if err != nil {
		return err
	}
	if f := geminiHistory(x.model, &q); f != nil {
		return f
	}
	g := &content{exchange: x, id: x.id("", "reply", 22)}
	for i := range n {
		g.choices = append(g.choices, x.perform(q.cue(), i))
	}
	if stream {
		return g.play(x.r.URL.Query().Get("alt") == "sse")
	}
	return x.whole(encoder{}, g.object())
}

// Content is a reply in progress.
type content struct {
	*exchange
	choices []performance
	id      string
}

// object returns the whole reply.
func (g *content) object() object {
	var candidates array
	for i := range g.choices {
		p := &g.choices[i]
		var parts array
		for _, b := range p.blocks() {
			if b.kind != redactedPart {
				parts = append(parts, geminiText(b.kind, b.text()))
			}
		}
		candidates = append(candidates, g.candidate(i, append(parts, g.last(p)...), p.finish("STOP", "MAX_TOKENS", "STOP")))
	}
	return g.envelope(candidates)
}

func geminiText(kind partKind, text string) object {
	if kind == thoughtPart {
		return object{{"text", text}, {"thought", true}}
	}
	return object{{"text", text}}
}

// last returns the parts after the texts: a call, signed by Google's own models, or
// the signature alone.
func (g *content) last(p *performance) array {
	signs := g.model.Wire == "google"
	switch {
	case p.call != nil && signs:
		return array{object{g.call(p), {"thoughtSignature", signCall(g.model.Name, p.call.Arguments)}}}
	case p.call != nil:
		return array{object{g.call(p)}}
	case signs && g.model.Fault == "":
		return array{object{{"text", ""}, {"thoughtSignature", sign(g.model.Name, "text")}}}
	}
	return nil
}

func (g *content) call(p *performance) member {
	return member{"functionCall", object{{"name", p.call.Name}, {"args", json.RawMessage(p.call.Arguments)}, {"id", g.exchange.id("", "call", 8)}}}
}

func (g *content) candidate(i int, parts array, finish any) object {
	c := object{{"content", object{{"parts", parts}, {"role", "model"}}}}
	if parts == nil {
		c = nil
	}
	if finish != nil {
		c = append(c, member{"finishReason", finish})
	}
	return append(c, member{"index", i})
}

func (g *content) envelope(candidates array) object {
	wrote, thoughts := 0, 0
	for i := range g.choices {
		wrote += g.choices[i].wrote
		thoughts += g.choices[i].thoughts()
	}
	prompt := g.promptTokens()
	usage := object{{"promptTokenCount", prompt}, {"candidatesTokenCount", wrote - thoughts}, {"totalTokenCount", prompt + wrote}}
	if thoughts > 0 {
		usage = append(usage, member{"thoughtsTokenCount", thoughts})
	}
	return object{{"candidates", candidates}, {"usageMetadata", usage}, {"modelVersion", g.name}, {"responseId", g.id}}
}

// play streams the candidates, an event of each in turn: as server-sent events, or as
// a JSON array.
func (g *content) play(events bool) error {
	kind := "application/json; charset=UTF-8"
	if events {
		kind = eventStream
	}
	s := g.stream(kind)
	sent := 0
	send := func(v object) error {
		sent++
		switch {
		case events:
			return s.data(v)
		case sent == 1:
			return s.send(append([]byte("["), pretty(v)...))
		}
		return s.send(append([]byte("\n,\r\n"), pretty(v)...))
	}
	for k, more := 0, true; more; k++ {
		more = false
		for i := range g.choices {
			frame, ok := g.event(i, k)
			if more = more || ok; !ok {
				continue
			}
			if err := send(g.envelope(array{frame})); err != nil {
				return err
			}
		}
	}
	fail := func() error {
		return send(geminiError(g.exchange, &fault{status: http.StatusInternalServerError, message: failure}))
	}
	if ended, err := s.interrupted(fail); ended || events {
		return err
	}
	return s.text("\n]\n")
}

// event returns the k-th event of a candidate.
func (g *content) event(i, k int) (candidate object, ok bool) {
	p := &g.choices[i]
	var texts []part
	for _, d := range p.parts {
		if d.kind != redactedPart {
			texts = append(texts, d)
		}
	}
	switch {
	case k < len(texts):
		return g.candidate(i, array{geminiText(texts[k].kind, texts[k].text)}, nil), true
	case k == len(texts) && g.model.Fault == "":
		last := g.last(p)
		if last == nil {
			last = array{geminiText(textPart, "")} // a chat drops a reply with an event without parts
		}
		return g.candidate(i, last, p.finish("STOP", "MAX_TOKENS", "STOP")), true
	}
	return nil, false
}

// pretty writes JSON on several lines, as Google's service does.
func pretty(v object) []byte {
	b, err := json.MarshalIndent(json.RawMessage(encoder{}.encode(nil, v)), "", "  ")
	if err != nil {
		panic(err) // the encoder's own JSON
	}
	return b
}

func geminiModel(m *Model) object {
	return object{
		{"name", "models/" + m.Name}, {"displayName", m.Caption}, {"supportedGenerationMethods", array{"generateContent", "countTokens"}},
	}
}

func serveGeminiModels(x *exchange) error {
	models := load()
	list := make(array, len(models))
	for i := range models {
		list[i] = geminiModel(&models[i])
	}
	return x.reply(http.StatusOK, object{{"models", list}})
}

func serveGeminiModel(x *exchange) error {
	name := x.r.PathValue("model")
	m, ok := Find(name)
	if !ok {
		return &fault{status: http.StatusNotFound, message: name, code: "model_not_found"}
	}
	return x.reply(http.StatusOK, geminiModel(m))
}
