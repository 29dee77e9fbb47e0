package scripted

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/sotto-llm/sotto"
)

// ollamaJSON writes JSON as Ollama does.
var ollamaJSON = encoder{html: true}

// ollamaError is Ollama's JSON for an error.
func ollamaError(x *exchange, f *fault) object {
	message := f.message
	switch {
	case f.code == "model_not_found":
		message = "model '" + f.message + "' not found"
	case f.status == http.StatusTooManyRequests:
		f.status = http.StatusServiceUnavailable
		message = "server busy, please try again.  maximum pending requests exceeded"
	}
	return object{{"error", message}}
}

// An ollamaRequest holds the relevant parts of a request to chat or to generate.
type ollamaRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Prompt   string        `json:"prompt"`
	Raw      bool          `json:"raw"`
	Stream   *bool         `json:"stream"`
	Tools    []chatTool    `json:"tools"`
	Options  struct {
		NumPredict int `json:"num_predict"`
	} `json:"options"`
	thinkSwitch
}

func serveOllamaChat(x *exchange) error {
	return serveOllama(x, func(q *ollamaRequest) (cue, bool) {
		if len(q.Messages) == 0 {
			return cue{}, false
		}
		c := (&chatRequest{Messages: q.Messages, Tools: q.Tools, thinkSwitch: q.thinkSwitch}).cue()
		return c, true
	}, ollamaMessage)
}

func serveOllamaGenerate(x *exchange) error {
	return serveOllama(x, func(q *ollamaRequest) (cue, bool) {
		return cue{quiet: q.off(), raw: q.Raw, lead: q.Prompt}, q.Prompt != ""
	}, ollamaResponse)
}

// serveOllama answers a request. read returns the reply that the request wants, if
// any: a request without a prompt only loads the model. say puts the reply into the
// API's members.
func serveOllama(x *exchange, read func(*ollamaRequest) (cue, bool), say ollamaMembers) error {
	var q ollamaRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	c, asked := read(&q)
	c.limit = q.Options.NumPredict
	p := performance{end: sotto.EndStopped}
	if asked {
		p = x.perform(c, 0)
	}
	o := &ollamaReply{exchange: x, p: &p, say: say}
	if !asked {
		v := append(o.frame(say("", "", nil)), member{"done", true}, member{"done_reason", "load"})
		return x.replyWith(ollamaJSON, http.StatusOK, v)
	}
	if q.Stream == nil || *q.Stream {
		return o.play()
	}
	v := o.frame(say(p.text(textPart), p.text(thoughtPart), o.calls()))
	return x.whole(ollamaJSON, append(v, o.ending()...))
}

// ollamaMembers returns the members that hold text, a thought and tool calls.
type ollamaMembers func(text, thought string, calls array) object

// ollamaMessage is the form of /api/chat.
func ollamaMessage(text, thought string, calls array) object {
	m := object{{"role", "assistant"}, {"content", text}}
	if thought != "" {
		m = append(m, member{"thinking", thought})
	}
	return object{{"message", withCalls(m, calls)}}
}

// ollamaResponse is the form of /api/generate.
func ollamaResponse(text, thought string, _ array) object {
	o := object{{"response", text}}
	if thought != "" {
		o = append(o, member{"thinking", thought})
	}
	return o
}

// An ollamaReply is a reply in progress.
type ollamaReply struct {
	*exchange
	p      *performance
	say    ollamaMembers
	frames int
}

// frame begins a frame: the model, the time and the text.
func (o *ollamaReply) frame(said object) object {
	at := o.now.Add(time.Duration(o.frames) * 12345678 * time.Nanosecond)
	o.frames++
	return append(object{{"model", o.name}, {"created_at", at.UTC().Format(time.RFC3339Nano)}}, said...)
}

// ending returns the additional members of the last frame.
func (o *ollamaReply) ending() object {
	prompt, wrote := o.promptTokens(), o.p.wrote
	return object{
		{"done", true}, {"done_reason", o.p.finish("stop", "length", "stop")},
		{"total_duration", 118443792 + wrote*12345678}, {"load_duration", 55811542},
		{"prompt_eval_count", prompt}, {"prompt_eval_duration", 48297334},
		{"eval_count", wrote}, {"eval_duration", wrote * 12345678},
	}
}

func (o *ollamaReply) calls() array {
	if o.p.call == nil {
		return nil
	}
	function := object{{"index", 0}, {"name", o.p.call.Name}, {"arguments", json.RawMessage(o.p.call.Arguments)}}
	return array{object{{"id", o.id("call_", "call", 8)}, {"function", function}}}
}

// play streams the reply, one line per delta.
func (o *ollamaReply) play() error {
	s := o.stream(ndjson)
	s.encoder = ollamaJSON
	going := member{"done", false}
	for _, d := range o.p.parts {
		var said object
		switch d.kind {
		case textPart:
			said = o.say(d.text, "", nil)
		case thoughtPart:
			said = o.say("", d.text, nil)
		default:
			continue
		}
		if err := s.line(append(o.frame(said), going)); err != nil {
			return err
		}
	}
	if calls := o.calls(); calls != nil {
		if err := s.line(append(o.frame(o.say("", "", calls)), going)); err != nil {
			return err
		}
	}
	fail := func() error {
		return s.line(object{{"error", "an error was encountered while running the model: " + failure}})
	}
	if ended, err := s.interrupted(fail); ended {
		return err
	}
	return s.line(append(o.frame(o.say("", "", nil)), o.ending()...))
}
