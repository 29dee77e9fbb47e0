// Package chatprobe checks whether any server of OpenAI's chat completions leaks
// reasoning: in whole answers and streams, in replies that a limit cuts, in titles,
// beside tool calls, in their arguments, and in the answer to a tool's result.
//
// It sends a handful of short requests to one model, follows no redirect, and sends its
// token only to the host of the URL. Its findings have the vocabulary of
// [checks], which package a2aserver/probe uses too.
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
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/internal/reply/leak"
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

// Run probes the server whose paths are below base, or below base/v1 if base has no
// path. The error is about the arguments, or says that there is no server to report on
// ([checks.ErrUnreachable]). What a server does wrong is in the report.
func Run(ctx context.Context, base string, o Options) (*checks.Report, error) {
	u, err := checks.ParseURL(base)
	if err != nil {
		return nil, err
	}
	if o.Message == "" {
		o.Message = checks.Question
	}
	b := checks.Bounds{Each: o.Time, Whole: o.Whole}.Or(2 * time.Minute)
	client, done := modelserver.New(u, modelserver.Options{Key: o.Token, Time: b.Each, Transport: o.Transport})
	defer done()
	p := &prober{
		Options: o, client: client, leaks: leak.Shipped(),
		report: &checks.Report{V: 1, URL: u.String(), List: checks.List{Checks: []checks.Check{}}},
	}
	if p.base = u; strings.Trim(u.Path, "/") == "" {
		p.base = u.JoinPath("v1")
	}
	return p.report, p.report.Within(ctx, b, p.run)
}

// A prober makes the checks, one after the other.
type prober struct {
	Options
	ctx    context.Context
	base   *url.URL
	client *modelserver.Client
	leaks  *leak.Finder
	report *checks.Report

	limit     string // the name of the limit on tokens that the server takes
	separates bool   // some answer had its reasoning on a field
	longest   int    // the bytes of the longest reasoning there
}

func (p *prober) note(name string, s checks.Status, detail string) {
	p.report.Add(checks.Check{Name: name, Status: s, Detail: detail})
}

func (p *prober) run(ctx context.Context) error {
	p.ctx = ctx
	if err := p.chooseModel(); err != nil {
		return err
	}
	if p.Model == "" {
		return nil
	}
	p.report.Model = shorttext.Ellipsis(p.Model, 200)
	question := request{messages: []turn.Message{user(p.Message)}}
	streamed := question
	streamed.stream = true
	p.report.Make(ctx, []checks.Step{
		{Name: "answer", Make: func() string {
			if !p.ask("answer", question) {
				return "the server did not answer the question before"
			}
			return ""
		}},
		step("stream", func(name string) { p.ask(name, streamed) }),
		step("cut answer", func(name string) { p.cut(name, question) }),
		step("cut stream", func(name string) { p.cut(name, streamed) }),
		step("title", func(name string) { p.ask(name, request{messages: []turn.Message{user(titlePrompt)}}) }),
		step("tool call", p.tools),
	})
	return nil
}

// step is a step after which the others can be made, whatever it finds.
func step(name string, make func(name string)) checks.Step {
	return checks.Step{Name: name, Make: func() string { make(name); return "" }}
}

// chooseModel finds the model to ask.
func (p *prober) chooseModel() error {
	names, err := p.models()
	switch {
	case checks.Unreached(err):
		p.note("models", checks.Skipped, "the server cannot be reached: "+checks.Plain(err))
		return fmt.Errorf("%w: %s", checks.ErrUnreachable, checks.Plain(err))
	case p.Model != "" && err != nil:
		p.note("models", checks.Skipped, "the models cannot be listed: "+checks.Plain(err))
	case err != nil:
		p.note("models", checks.Finding, "the models cannot be listed, and --model names none: "+checks.Plain(err))
	case p.Model != "":
		p.note("models", checks.OK, "")
	case len(names) == 0:
		p.note("models", checks.Finding, "the server lists no model, and --model names none")
	default:
		p.Model = names[0]
		p.note("models", checks.OK, "")
	}
	return nil
}

// ask sends a request, and checks what the answer delivers. It reports whether there is
// one.
func (p *prober) ask(name string, r request) bool {
	reply, err := p.send(r)
	if err != nil {
		p.note(name, checks.Finding, "the request failed: "+checks.Plain(err))
		return false
	}
	p.check(name, reply, sotto.EndStopped)
	return true
}

// check checks the answer of a reply.
func (p *prober) check(name string, reply *modelserver.Reply, end sotto.Ending) {
	if reply.Fault != "" {
		p.note(name, checks.Finding, reply.Fault)
	} else {
		p.note(name, checks.OK, "")
	}
	p.separates = p.separates || strings.TrimSpace(reply.Reasoning) != ""
	p.longest = max(p.longest, len(reply.Reasoning))
	if reply.End == sotto.EndCut {
		end = sotto.EndCut
	}
	found := p.leaks.In(reply.Message(), end)
	p.clean(name+" leak", strings.TrimSpace(reply.Text) != "", found.Answer)
}

// clean adds a check of what was delivered.
func (p *prober) clean(name string, came bool, found *leak.Leak) {
	said := ""
	if found != nil {
		said = found.String()
	}
	p.report.Delivered("", name, came, said, "no answer came")
}

// cutAfter is how many tokens a cut reply has. A thought of any model is longer.
const cutAfter = 24

// cut sends a request that is cut after a few tokens. If other replies to the same
// message have their thoughts on a field, and a cut one has none there but a text, the
// text is the beginning of the thought. One such reply may be chance; two are not.
func (p *prober) cut(name string, r request) {
	reply, err := p.sendLimited(r)
	if err != nil {
		p.note(name, checks.Skipped, "the server takes no limit on tokens: "+checks.Plain(err))
		return
	}
	if reply.End != sotto.EndCut {
		p.note(name, checks.Skipped, fmt.Sprintf("the reply was not cut after %d tokens", cutAfter))
		return
	}
	if p.suspicious(reply) {
		if again, err := p.sendLimited(r); err == nil && again.End == sotto.EndCut && p.suspicious(again) {
			p.note(name, checks.OK, "")
			p.clean(name+" leak", true, &leak.Leak{Kind: leak.Unmarked, Sample: again.Text})
			return
		}
	}
	p.check(name, reply, sotto.EndCut)
}

// suspicious reports whether the text of a cut reply is the beginning of a thought
// whose marker the server has removed.
func (p *prober) suspicious(r *modelserver.Reply) bool {
	const longer = 8 * cutAfter // bytes of a thought that does not fit into the cut reply
	return p.separates && p.longest > longer && strings.TrimSpace(r.Reasoning) == "" && strings.TrimSpace(r.Text) != "" &&
		p.leaks.In(r.Message(), sotto.EndCut).Answer == nil
}

// tools lets the model call a tool, and gives it the result.
func (p *prober) tools(name string) {
	r := request{messages: []turn.Message{user("What is the weather in Oslo? Call the tool to find out.")}, tools: weather}
	reply, err := p.send(r)
	if err != nil {
		p.note(name, checks.Skipped, "a request with tools was refused: "+checks.Plain(err))
		return
	}
	p.check(name, reply, sotto.EndStopped)
	if len(reply.Calls) == 0 {
		p.note("tool arguments leak", checks.Skipped, "the model called no tool")
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
