package scripted

import (
	"encoding/json"
	"net/http"
)

// llamaError is the JSON of llama.cpp's server for an error.
func llamaError(x *exchange, f *fault) object {
	message, kind := f.message, "invalid_request_error"
	switch {
	case f.code == "model_not_found":
		message, kind = "model '"+f.message+"' not found", "not_found_error"
	case f.status == http.StatusTooManyRequests:
		f.status, message, kind = http.StatusServiceUnavailable, "No slot available", "unavailable_error"
	case f.status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return object{{"error", object{{"code", f.status}, {"message", message}, {"type", kind}}}}
}

// A llamaRequest holds the relevant parts of a request to /completion.
type llamaRequest struct {
	Model    string          `json:"model"`
	Prompt   json.RawMessage `json:"prompt"`
	Stream   bool            `json:"stream"`
	NPredict int             `json:"n_predict"`
	NProbs   int             `json:"n_probs"`
}

// serveLlama answers in the own form of llama.cpp's server. A request that names no
// model gets the first one: the server has one model.
func serveLlama(x *exchange) error {
	var q llamaRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if q.Model == "" {
		q.Model = load()[0].Name
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	var prompts []string
	if json.Unmarshal(q.Prompt, &prompts) != nil {
		var prompt string
		if err := json.Unmarshal(q.Prompt, &prompt); err != nil {
			return badRequest(`"prompt" must be a string or a list of strings`)
		}
		prompts = []string{prompt}
	}
	if n, err := checkChoices(len(prompts)); err != nil || n > len(prompts) {
		return badRequest(`"prompt" must have 1 to %d texts`, maxChoices)
	}
	l := &llamaReply{exchange: x, probs: q.NProbs > 0}
	for i, prompt := range prompts {
		l.prompts = append(l.prompts, prompt)
		l.texts = append(l.texts, x.perform(cue{raw: true, lead: prompt, limit: max(q.NPredict, 0)}, i))
	}
	if q.Stream {
		return l.play()
	}
	return l.answer()
}

// A llamaReply is a reply in progress: a text for each prompt.
type llamaReply struct {
	*exchange
	prompts []string
	texts   []performance
	probs   bool
}

// llamaProb is the probability of a token. Each delta is one.
func llamaProb(text string) object {
	return object{{"id", len(text)}, {"token", text}, {"bytes", bytesOf(text)}, {"logprob", json.RawMessage("-0.5")}, {"top_logprobs", array{}}}
}

func bytesOf(text string) array {
	list := array{}
	for _, b := range []byte(text) {
		list = append(list, int(b))
	}
	return list
}

// ending is the last object of a text. A stream has sent the text before it.
func (l *llamaReply) ending(i int, content string) object {
	p := &l.texts[i]
	wrote, prompt := p.wrote, l.promptTokens()
	return object{
		{"index", i}, {"content", content}, {"tokens", array{}}, {"id_slot", 0}, {"stop", true}, {"model", l.name},
		{"tokens_predicted", wrote}, {"tokens_evaluated", prompt},
		{"generation_settings", object{{"n_predict", -1}, {"temperature", json.RawMessage("0.8")}, {"stop", array{}}}},
		{"prompt", l.prompts[i]}, {"has_new_line", false}, {"truncated", false}, {"stop_type", p.finish("eos", "limit", "eos")},
		{"stopping_word", ""}, {"tokens_cached", prompt + wrote - 1},
		{"timings", object{{"cache_n", 0}, {"prompt_n", prompt}, {"predicted_n", wrote}}},
	}
}

// answer sends an object, or a list of them if there are several prompts.
func (l *llamaReply) answer() error {
	all := make(array, len(l.texts))
	for i := range l.texts {
		p := &l.texts[i]
		o := l.ending(i, p.text(textPart))
		if l.probs {
			probs := array{}
			for _, d := range p.parts {
				probs = append(probs, llamaProb(d.text))
			}
			o = append(o, member{"completion_probabilities", probs})
		}
		all[i] = o
	}
	if len(all) > 1 {
		return l.reply(http.StatusOK, all)
	}
	return l.whole(encoder{}, all[0].(object))
}

// play streams the texts, one frame of each in turn.
func (l *llamaReply) play() error {
	s := l.stream(eventStream)
	for k, more := 0, true; more; k++ {
		more = false
		for i := range l.texts {
			o, ok := l.frame(i, k)
			if !ok {
				continue
			}
			more = true
			if err := s.data(o); err != nil {
				return err
			}
		}
	}
	_, err := s.interrupted(func() error {
		return s.data(llamaError(l.exchange, &fault{status: http.StatusInternalServerError, message: failure}))
	})
	return err
}

// frame returns the kth frame of text i, if there is one.
func (l *llamaReply) frame(i, k int) (object, bool) {
	p := &l.texts[i]
	switch {
	case k < len(p.parts):
		text := p.parts[k].text
		o := object{
			{"index", i}, {"content", text}, {"tokens", array{len(text)}}, {"stop", false}, {"id_slot", -1},
			{"tokens_predicted", k + 1}, {"tokens_evaluated", l.promptTokens()},
		}
		if l.probs {
			o = append(o, member{"completion_probabilities", array{llamaProb(text)}})
		}
		return o, true
	case k == len(p.parts) && l.model.Fault == "":
		return l.ending(i, ""), true
	}
	return nil, false
}
