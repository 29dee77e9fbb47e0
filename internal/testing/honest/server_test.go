package honest

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"text/template"
)

// A server is a scripted model server that does what it is asked.
type server struct {
	kind   kind
	family family
	parser bool // it separates thoughts from answers
	shows  bool // it answers questions about its template
	script script
	seed   uint64 // of where its streams are cut

	batches batches
}

// An ask is a request as a server understands it.
type ask struct {
	body     map[string]any
	prompts  []string
	stops    []string
	tokens   int
	include  bool // the stop word stays in the reply
	n        int
	thinks   bool // as its template and parser understand the switches of the request
	separate bool
	drops    bool // thoughts are left out
	echo     bool
	tools    bool
	refused  string
}

// A reply is what a server sends of a choice.
type reply struct {
	index            int
	thought, content string
	reason           string
	word             string
	call             bool
	parsed           bool // thought is the server's own finding
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.serveBatch(w, r, data) {
		return
	}
	var body map[string]any
	if len(data) > 0 && json.Unmarshal(data, &body) != nil {
		http.Error(w, `{"error":{"message":"not JSON"}}`, http.StatusBadRequest)
		return
	}
	if s.introspect(w, r.URL.Path, body) {
		return
	}
	a := apiOf(r.URL.Path)
	if a == nil || !slices.Contains(s.kind.apis, a.name) {
		http.NotFound(w, r)
		return
	}
	q := s.read(a, body)
	if q.refused != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write(encode(object{"error": object{"message": q.refused, "type": "invalid_request_error"}}))
		return
	}
	replies := s.replies(q)
	stream, _ := body["stream"].(bool)
	if a.streams(r.URL.Path, body, stream) {
		w.Header().Set("Content-Type", a.kind)
		cuts := rand.New(rand.NewPCG(s.seed, uint64(len(data))))
		for _, frame := range a.stream(s.family.model, replies, cuts) {
			io.WriteString(w, frame)
			w.(http.Flusher).Flush()
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(encode(a.whole(s.family.model, replies)))
}

func (s *server) replies(q *ask) (list []reply) {
	for _, prompt := range q.prompts {
		for range q.n {
			list = append(list, s.reply(q, prompt, len(list)))
		}
	}
	return list
}

// reply continues a prompt and separates the thought, if the server does so.
func (s *server) reply(q *ask, prompt string, index int) reply {
	said := s.family.say(s.script, prompt, index).halt(q.stops, q.tokens, q.include)
	if q.echo {
		said.text = prompt + said.text
	}
	rep := reply{index: index, content: said.text, reason: said.reason, word: said.word}
	if q.separate {
		rep.thought, rep.content = s.kind.parse(s.family, prompt, q, said.text)
		rep.parsed = true
		if q.drops {
			rep.thought = ""
		}
	}
	rep.call = s.script.calls && q.tools && rep.reason == "stop" && rep.word == ""
	return rep
}

// read reads what all kinds have in common, and lets the kind do the rest.
func (s *server) read(a *api, body map[string]any) *ask {
	q := &ask{body: body, n: 1, thinks: s.family.thinks || s.family.kwarg == ""}
	if q.stops = texts(a.get(body, a.stop)); a.name == "responses" && s.kind.name != "llamacpp" { // it is no member of the API
		q.stops = nil
	}
	for _, member := range a.limits {
		if n, ok := a.get(body, member).(float64); ok && n > 0 {
			q.tokens = int(n)
		}
	}
	if n, ok := body["n"].(float64); ok && a.choices {
		q.n = min(max(1, int(n)), 3)
	}
	_, q.tools = body["tools"]
	q.include, _ = body["include_stop_str_in_output"].(bool)
	q.include = q.include && s.kind.includes
	q.separate = s.parser && !a.raw
	q.echo = a.raw && body["echo"] == true
	s.kind.understand(s, a, q)
	return q
}

// rawPrompts reads the prompts of an API without a chat template: a text, a list of
// texts, token ids, lists of token ids. ok is false if the server refuses them.
func (s *server) rawPrompts(body map[string]any) (all []string, ok bool) {
	if data, is := body["prompt_embeds"].(string); is && s.kind.embeds { // in place of a tensor: its text
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, false
		}
		all = append(all, string(text))
	}
	list, is := body["prompt"].([]any)
	if !is {
		if text, is := body["prompt"].(string); is {
			all = append(all, text)
		}
		return all, len(all) > 0
	}
	numbers := 0
	for _, e := range list {
		if isNumber(e) {
			numbers++
		}
	}
	if numbers > 0 {
		return append(all, s.family.decode(list)), numbers == len(list) || s.kind.mixes
	}
	for _, e := range list {
		switch e := e.(type) {
		case string:
			all = append(all, e)
		case []any:
			all = append(all, s.family.decode(e))
		}
	}
	return all, len(all) > 0
}

// readRaw reads a prompt that is not put into a template.
func (s *server) readRaw(q *ask) {
	var ok bool
	if q.prompts, ok = s.rawPrompts(q.body); !ok {
		q.refused = "invalid prompt"
	}
}

func isNumber(v any) bool { _, ok := v.(float64); return ok }

// introspect answers questions about the template.
func (s *server) introspect(w http.ResponseWriter, path string, body map[string]any) bool {
	answer := object(nil)
	known := slices.Contains([]string{"/props", "/api/show", "/apply-template", "/tokenize"}, path)
	if s.shows && s.kind.shows != nil {
		answer = s.kind.shows(s, path, body)
	}
	switch {
	case answer != nil:
		w.Header().Set("Content-Type", "application/json")
		w.Write(encode(answer))
	case known:
		http.Error(w, `{"error":"not found"}`, http.StatusNotFound)
	}
	return answer != nil || known
}

// execute runs a template of Ollama that a client sent.
func execute(text string, turns []turn, system string, thinks bool) (string, error) {
	t, err := template.New("").Parse(text)
	if err != nil {
		return "", err
	}
	type message struct{ Role, Content, Thinking string }
	var v struct {
		System, Prompt string
		Messages       []message
		Think          bool
	}
	v.System, v.Think = system, thinks
	for _, t := range turns {
		v.Prompt = t.text
		v.Messages = append(v.Messages, message{t.role, t.text, t.thought})
	}
	var b strings.Builder
	err = t.Execute(&b, v)
	return b.String(), err
}

type object = map[string]any

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// texts is a list of texts, or one of them.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if t, ok := e.(string); ok {
				list = append(list, t)
			}
		}
	}
	return list
}

// textOf joins the texts of a content.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, e := range v {
			if m, ok := e.(object); ok {
				t, _ := m["text"].(string)
				b.WriteString(t)
			}
		}
		return b.String()
	}
	return ""
}

// turnsOf reads the messages of any API.
func turnsOf(body object) (list []turn) {
	add := func(v any) {
		m, ok := v.(object)
		if !ok {
			return
		}
		t := turn{role: "user"}
		if role, _ := m["role"].(string); role == "assistant" || role == "model" {
			t.role = "assistant"
		}
		if t.text = textOf(m["content"]); m["parts"] != nil {
			t.text = textOf(m["parts"])
		}
		for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
			if s, ok := m[name].(string); ok {
				t.thought = s
			}
		}
		list = append(list, t)
	}
	for _, name := range []string{"messages", "contents", "input"} {
		if text, ok := body[name].(string); ok {
			list = append(list, turn{role: "user", text: text})
		}
		all, _ := body[name].([]any)
		for _, m := range all {
			add(m)
		}
	}
	return list
}
