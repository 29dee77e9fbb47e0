package doctor

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// asked is a question with what came for it.
type asked struct {
	way      way
	request  *turn.Request
	response *modelserver.Response // nil if there was none
	reply    *modelserver.Reply    // nil if there was none, or the request was refused
}

// An Ask is what a report says about a question.
type Ask struct {
	Way string `json:"way"`
	// Status is the HTTP status; 0 if there was no response.
	Status int `json:"status"`
	// Answer and Reasoning are bytes as the server separated them; Fields are the members
	// or blocks that held reasoning.
	Answer    int      `json:"answer"`
	Reasoning int      `json:"reasoning"`
	Fields    []string `json:"fields,omitempty"`
	// Markers are those of reasoning in the text. Inside says that the text began inside
	// a block.
	Markers []string `json:"markers,omitempty"`
	Inside  bool     `json:"inside,omitempty"`
	Calls   int      `json:"calls,omitempty"`
	Finish  string   `json:"finish,omitempty"`
	// Behind is the same reply as a client of Sotto gets it.
	Behind *Behind `json:"behind,omitempty"`
}

// A Behind is a reply that Sotto has read.
type Behind struct {
	Answer    int      `json:"answer"`
	Reasoning int      `json:"reasoning"`
	Fields    []string `json:"fields,omitempty"`
	Leak      bool     `json:"leak"`
}

// askAll asks in every way. It stops where further answers can say nothing new: the key
// is wrong, there is no such model, or the server does not answer.
func (d *diagnosis) askAll() {
	if d.options.Silent {
		d.note("questions", checks.Skipped, "the model was asked nothing, as you wanted: where its reasoning comes, and whether streams arrive whole, is not known", "")
		return
	}
	var steps []checks.Step
	for _, w := range ways {
		steps = append(steps, checks.Step{Name: w.name, Make: func() string { return d.askIn(w) }})
	}
	d.report.Make(d.ctx, steps)
	d.judgeSwitch()
	d.judgeDelivery()
}

// askIn asks in a way, and judges what comes. It returns why nothing more should be asked,
// or "".
func (d *diagnosis) askIn(w way) (stop string) {
	a, err := d.ask(w)
	if err == nil {
		d.asked = append(d.asked, a)
		return d.judge(a)
	}
	why, _ := inWords(err, d.base, d.options.Time)
	d.report.Asks = append(d.report.Asks, Ask{Way: w.name})
	d.found(w.name, why)
	switch {
	case errors.Is(err, modelserver.ErrSpent):
		return err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF): // the other ways may work
		return ""
	}
	return "the server did not answer the question before"
}

// judgeSwitch says whether requests can turn the model's thinking on and off.
func (d *diagnosis) judgeSwitch() {
	thinks := map[string]bool{}
	for _, a := range d.report.Asks {
		if a.Status == http.StatusOK {
			thinks[a.Way] = a.Reasoning > 0 || len(a.Markers) > 0
		}
	}
	on, asked := thinks["thinking on"]
	off, askedOff := thinks["thinking off"]
	switch {
	case !asked || !askedOff:
		d.found("switch", found{checks.Unknown, checks.SwitchUnknown, "requests that turn thinking on and off were not both answered", ""})
	case on && !off:
		d.note("switch", checks.OK, "requests turn thinking on and off"+d.translates(), "")
	case on:
		d.note("switch", checks.OK, "the model thinks whether or not a request turns thinking off", "")
	case off:
		d.note("switch", checks.OK, "the model thinks only where a request turns thinking off", "")
	default:
		d.note("switch", checks.OK, "the model does not think, or its thoughts have no marker that is known", "")
	}
}

// translates says which setting lets clients use other switches of thinking, if the server
// does not read the one of its API.
func (d *diagnosis) translates() string {
	words := openaiWords(d.report.Server.Name)
	if api := d.api.codec.Name(); api != "openai.chat" || words == switches.Native.In(api) {
		return ""
	}
	return fmt.Sprintf(" with %s; for clients that use another switch, set thinking-switch: %[1]s", words)
}

// ask asks in one way. A server that takes only the other name of the limit on tokens is
// asked again.
func (d *diagnosis) ask(w way) (*asked, error) {
	for {
		a := &asked{way: w, request: d.api.request(asking{way: w, model: d.report.Model, tokens: d.options.Tokens, server: d.report.Server.Name, long: d.long})}
		if err := d.send(a); err != nil {
			return nil, err
		}
		if a.reply == nil && !d.long && strings.Contains(a.response.Said(), "max_completion_tokens") {
			d.long = true
			continue
		}
		return a, nil
	}
}

func (d *diagnosis) send(a *asked) (err error) {
	body, err := d.api.codec.WriteTurn(nil, a.request)
	if err != nil {
		return err
	}
	a.response, err = d.client.Do(d.ctx, http.MethodPost, below(d.base, d.api.path), d.api.header(d.options.Key), body)
	if err != nil {
		return err
	}
	if a.response.OK() {
		a.reply = modelserver.Read(d.api.codec, a.response, a.way.stream)
		d.report.PromptTokens += max(a.reply.Input, 0)
		d.report.ReplyTokens += max(a.reply.Output, 0)
	}
	return nil
}

// statusOverloaded is Anthropic's status of a server that is busy.
const statusOverloaded = 529

// refused judges a request that has an error for its answer. It returns why nothing
// more should be asked, or "".
func (d *diagnosis) refused(a *asked) (stop string) {
	res := a.response
	said := fmt.Sprintf("status %d: %s", res.Status, res.Said())
	optional := a.way.think != "" || a.way.tools || a.way.json
	switch {
	case res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden:
		d.addKey(res)
		return "the server wants another API key"
	case res.Status == http.StatusTooManyRequests || res.Status == http.StatusServiceUnavailable || res.Status == statusOverloaded:
		d.found(a.way.name, found{checks.Unknown, checks.ServerBusy, "the server is busy: " + said, "try again later"})
		return "the server is busy"
	case optional && res.Status < 500:
		d.note(a.way.name, checks.OK, "the server refuses this, so clients cannot use it: "+said, "")
		return ""
	case res.Status == http.StatusNotFound && strings.Contains(strings.ToLower(res.Said()), "model"):
		d.found(a.way.name, found{checks.Finding, checks.ModelUnknown, "the server has no such model: " + said, "name one that it has with --model"})
		return "the server has no such model"
	case res.Status == http.StatusNotFound || res.Status == http.StatusMethodNotAllowed:
		d.found(a.way.name, found{checks.Finding, checks.BaseURL, fmt.Sprintf("there is no %s: %s", below(d.base, d.api.path), said), "correct the path in the URL (many servers have their API below /v1), or choose another API with --api"})
		return "there is no such route"
	case res.Status >= 300 && res.Status < 400:
		d.found(a.way.name, found{checks.Finding, checks.Redirected, fmt.Sprintf("the server redirects to %s", shorttext.Ellipsis(res.Header.Get("Location"), 200)), "write that address in the URL: no redirect is followed, since the key must not go elsewhere"})
		return "the server redirects"
	}
	d.found(a.way.name, found{checks.Finding, checks.RequestFailed, "the request failed: " + said, "read the server's log"})
	return ""
}
