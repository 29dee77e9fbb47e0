// Package chatprobe checks whether any server of OpenAI's chat completions leaks
// reasoning: in whole answers and streams, in replies that a limit cuts, in titles,
// beside tool calls, in their arguments, and in the answer to a tool's result.
//
// It sends a handful of short requests to one model, follows no redirect, and sends its
// token only to the host of the URL. Its findings have the vocabulary of
// [probereport], which package a2aserver/probe uses too.
package chatprobe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/leak"
	"github.com/sotto-llm/sotto/internal/check/probereply"
	"github.com/sotto-llm/sotto/internal/check/probereport"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Options say how to probe. The zero value is right for most servers.
type Options struct {
	// Model is the model to ask. If empty, the first that the server lists.
	Model string
	// Message is the message to send. If empty, one that makes most models think.
	Message string
	// Token, if set, is sent as a bearer token.
	Token string
	// Time bounds each request. If zero, 2 min.
	Time time.Duration
	// Whole bounds the probe. If zero, ten times Time.
	Whole time.Duration
	// Transport reaches the server. If nil, http.DefaultTransport.
	Transport http.RoundTripper
}

const defaultMessage = "Think step by step, then answer in one sentence: how many prime numbers lie between 20 and 40?"

// Run probes the server whose paths are below base, or below base/v1 if base has no
// path. The error is about the arguments, or says that there is no server to report on
// ([probereport.ErrUnreachable]). What a server does wrong is in the report.
func Run(ctx context.Context, base string, o Options) (*probereport.Report, error) {
	u, err := probereport.ParseURL(base)
	if err != nil {
		return nil, err
	}
	if o.Message == "" {
		o.Message = defaultMessage
	}
	if o.Time == 0 {
		o.Time = 2 * time.Minute
	}
	if o.Whole == 0 {
		o.Whole = 10 * o.Time
	}
	client := foreignhttp.Config{Base: u, Transport: o.Transport}
	if o.Token != "" {
		client.Header = http.Header{"Authorization": {"Bearer " + o.Token}}
	}
	p := &prober{
		Options: o, http: client.Client(), leaks: leak.Shipped(),
		report: &probereport.Report{V: 1, URL: u.String(), Checks: []probereport.Check{}},
	}
	if p.base = u; strings.Trim(u.Path, "/") == "" {
		p.base = u.JoinPath("v1")
	}
	whole, cancel := context.WithTimeout(ctx, o.Whole)
	defer cancel()
	p.ctx = whole
	if err := p.run(); err != nil {
		return p.report, err
	}
	if ctx.Err() == nil && whole.Err() != nil {
		p.add("time", probereport.Finding, fmt.Sprintf("the checks did not finish within %s", o.Whole))
	}
	return p.report, ctx.Err()
}

// A prober makes the checks, one after the other.
type prober struct {
	Options
	ctx    context.Context
	base   *url.URL
	http   *http.Client
	leaks  *leak.Finder
	report *probereport.Report

	limit     string // the name of the limit on tokens that the server takes
	separates bool   // some answer had its reasoning on a field
	longest   int    // the bytes of the longest reasoning there
}

func (p *prober) add(name string, s probereport.Status, detail string) {
	p.report.Add("", name, s, detail)
}

func (p *prober) run() error {
	if err := p.chooseModel(); err != nil {
		return err
	}
	if p.Model == "" {
		return nil
	}
	p.report.Model = shorttext.Ellipsis(p.Model, 200)
	ask := []turn.Message{user(p.Message)}
	if !p.ask("answer", request{messages: ask}) {
		return nil
	}
	for _, step := range []func(){
		func() { p.ask("stream", request{messages: ask, stream: true}) },
		func() { p.cut("cut answer", request{messages: ask}) },
		func() { p.cut("cut stream", request{messages: ask, stream: true}) },
		func() { p.ask("title", request{messages: []turn.Message{user(titlePrompt)}}) },
		p.tools,
	} {
		if p.ctx.Err() == nil {
			step()
		}
	}
	return nil
}

// chooseModel finds the model to ask.
func (p *prober) chooseModel() error {
	names, err := p.models()
	switch {
	case probereport.Unreached(err):
		p.add("models", probereport.Skipped, "the server cannot be reached: "+probereport.Plain(err))
		return fmt.Errorf("%w: %s", probereport.ErrUnreachable, probereport.Plain(err))
	case p.Model != "" && err != nil:
		p.add("models", probereport.Skipped, "the models cannot be listed: "+probereport.Plain(err))
	case err != nil:
		p.add("models", probereport.Finding, "the models cannot be listed, and --model names none: "+probereport.Plain(err))
	case p.Model != "":
		p.add("models", probereport.OK, "")
	case len(names) == 0:
		p.add("models", probereport.Finding, "the server lists no model, and --model names none")
	default:
		p.Model = names[0]
		p.add("models", probereport.OK, "")
	}
	return nil
}

// ask sends a request, and checks what the answer delivers. It reports whether there is
// one.
func (p *prober) ask(name string, r request) bool {
	reply, err := p.send(r)
	if err != nil {
		p.add(name, probereport.Finding, "the request failed: "+probereport.Plain(err))
		return false
	}
	p.check(name, reply, sotto.EndStopped)
	return true
}

// check checks the answer of a reply.
func (p *prober) check(name string, reply *probereply.Reply, end sotto.End) {
	if reply.Fault != "" {
		p.add(name, probereport.Finding, reply.Fault)
	} else {
		p.add(name, probereport.OK, "")
	}
	p.separates = p.separates || strings.TrimSpace(reply.Reasoning) != ""
	p.longest = max(p.longest, len(reply.Reasoning))
	if reply.End == sotto.EndCut {
		end = sotto.EndCut
	}
	found := p.leaks.In(reply.Message(), end)
	p.clean(name+" leak", strings.TrimSpace(reply.Text) != "", found.Answer)
}

// clean adds a check of what was delivered. Where nothing was, there is nothing to say
// about it.
func (p *prober) clean(name string, came bool, found *leak.Leak) {
	switch {
	case found != nil:
		p.report.Answers++
		p.add(name, probereport.Finding, found.String())
	case !came:
		p.add(name, probereport.Skipped, "no answer came")
	default:
		p.report.Answers++
		p.add(name, probereport.OK, "")
	}
}

// cutAfter is how many tokens a cut reply has. A thought of any model is longer.
const cutAfter = 24

// cut sends a request that is cut after a few tokens. If other replies to the same
// message have their thoughts on a field, and a cut one has none there but a text, the
// text is the beginning of the thought. One such reply may be chance; two are not.
func (p *prober) cut(name string, r request) {
	reply, err := p.sendLimited(r)
	if err != nil {
		p.add(name, probereport.Skipped, "the server takes no limit on tokens: "+probereport.Plain(err))
		return
	}
	if reply.End != sotto.EndCut {
		p.add(name, probereport.Skipped, fmt.Sprintf("the reply was not cut after %d tokens", cutAfter))
		return
	}
	if p.suspicious(reply) {
		if again, err := p.sendLimited(r); err == nil && again.End == sotto.EndCut && p.suspicious(again) {
			p.add(name, probereport.OK, "")
			p.clean(name+" leak", true, &leak.Leak{Kind: leak.Unmarked, Sample: again.Text})
			return
		}
	}
	p.check(name, reply, sotto.EndCut)
}

// suspicious reports whether the text of a cut reply is the beginning of a thought
// whose marker the server has removed.
func (p *prober) suspicious(r *probereply.Reply) bool {
	const longer = 8 * cutAfter // bytes of a thought that does not fit into the cut reply
	return p.separates && p.longest > longer && strings.TrimSpace(r.Reasoning) == "" && strings.TrimSpace(r.Text) != "" &&
		p.leaks.In(r.Message(), sotto.EndCut).Answer == nil
}

// tools lets the model call a tool, and gives it the result.
func (p *prober) tools() {
	r := request{messages: []turn.Message{user("What is the weather in Oslo? Call the tool to find out.")}, tools: weather}
	reply, err := p.send(r)
	if err != nil {
		p.add("tool call", probereport.Skipped, "a request with tools was refused: "+probereport.Plain(err))
		return
	}
	p.check("tool call", reply, sotto.EndStopped)
	if len(reply.Calls) == 0 {
		p.add("tool arguments leak", probereport.Skipped, "the model called no tool")
		return
	}
	p.clean("tool arguments leak", true, p.leaks.In(reply.Message(), sotto.EndStopped).Arguments)
	r.messages = append(r.messages, reply.Turn(), result(reply.Calls[0].ID, `{"celsius":4,"sky":"light rain"}`))
	p.ask("tool result", r)
}

// titlePrompt asks for a title as chat applications do.
const titlePrompt = `### Task:
Generate a concise title of 3 to 5 words for the chat history below. Answer with the title alone.
### Chat history:
USER: How many prime numbers lie between 20 and 40?
ASSISTANT: Four: 23, 29, 31 and 37.`
