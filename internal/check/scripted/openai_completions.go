package scripted

import "encoding/json"

// A completionRequest holds the relevant parts of a request for a completion.
type completionRequest struct {
	Model         string          `json:"model"`
	Prompt        json.RawMessage `json:"prompt"`
	Stream        bool            `json:"stream"`
	StreamOptions streamOptions   `json:"stream_options"`
	N             int             `json:"n"`
	MaxTokens     int             `json:"max_tokens"`
}

func serveCompletions(x *exchange) error {
	var q completionRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	n, err := checkChoices(q.N)
	if err != nil {
		return err
	}
	var prompts []string
	var prompt string
	json.Unmarshal(q.Prompt, &prompt)
	if json.Unmarshal(q.Prompt, &prompts) == nil && len(prompts) > 1 {
		if n, err = checkChoices(n * len(prompts)); err != nil {
			return err
		}
	}
	c := &completion{exchange: x, usage: q.StreamOptions.IncludeUsage}
	for i := range n {
		p := x.perform(cue{raw: true, lead: prompt, limit: q.MaxTokens}, i)
		c.choices = append(c.choices, p)
	}
	if q.Stream {
		return c.play()
	}
	return c.answer()
}

// A completion is a completion of a prompt in progress.
type completion struct {
	*exchange
	choices []performance
	usage   bool
}

func (c *completion) frame(choices array) object {
	return object{
		{"id", c.id("cmpl-", "reply", 32)}, {"object", "text_completion"}, {"created", int(c.now.Unix())},
		{"model", c.name}, {"choices", choices},
	}
}

func completionChoice(i int, text string, finish any) object {
	return object{{"index", i}, {"text", text}, {"logprobs", nil}, {"finish_reason", finish}}
}

func (c *completion) answer() error {
	var choices array
	for i := range c.choices {
		p := &c.choices[i]
		choices = append(choices, completionChoice(i, p.text(textPart), p.finish("stop", "length", "stop")))
	}
	return c.whole(encoder{}, append(c.frame(choices), member{"usage", openaiUsage(c.exchange, c.choices)}))
}

// play streams the choices, one frame of each in turn.
func (c *completion) play() error {
	s := c.stream(eventStream)
	for k, more := 0, true; more; k++ {
		more = false
		for i := range c.choices {
			choice, ok := c.choice(i, k)
			if !ok {
				continue
			}
			more = true
			v := c.frame(array{choice})
			if c.usage {
				v = append(v, member{"usage", nil})
			}
			if err := s.data(v); err != nil {
				return err
			}
		}
	}
	if ended, err := s.interrupted(s.failOpenAI); ended {
		return err
	}
	if c.usage {
		if err := s.data(append(c.frame(array{}), member{"usage", openaiUsage(c.exchange, c.choices)})); err != nil {
			return err
		}
	}
	return s.text("data: [DONE]\n\n")
}

// choice returns the kth frame's contents for choice i, if there is one.
func (c *completion) choice(i, k int) (object, bool) {
	p := &c.choices[i]
	switch {
	case k < len(p.parts):
		return completionChoice(i, p.parts[k].text, nil), true
	case k == len(p.parts) && c.model.Fault == "":
		return completionChoice(i, "", p.finish("stop", "length", "stop")), true
	}
	return nil, false
}
