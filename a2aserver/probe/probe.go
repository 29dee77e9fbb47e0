// Package probe checks any A2A server: the card, the versions and bindings that
// it declares, the methods, the shape of streams, the life of a task, and whether
// reasoning leaks into what is delivered.
//
//	r, err := probe.Run(ctx, "https://agent.example", probe.Options{})
//	…
//	for _, c := range r.Checks { fmt.Println(c.Status, c.Name, c.Detail) }
//
// It uses the official client, over every interface that the card declares and
// the client knows, and sends a few short messages: a server that charges for
// messages charges for these. It follows no redirect and sends its token only to
// the host of the URL.
package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/sotto-llm/sotto/a2aserver/internal/peer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/checks"
)

// Options say how to probe. The zero value is right for most servers.
type Options struct {
	// Message is the message to send. If empty, one that makes most models think.
	Message string
	// Token, if set, is sent as a bearer token.
	Token string
	// Time bounds each call. If zero, 2 min.
	Time time.Duration
	// Whole bounds the probe. If zero, ten times Time.
	Whole time.Duration
	// Transport reaches the server. If nil, http.DefaultTransport.
	Transport http.RoundTripper
}

// A Report is what a probe found, with a [Check] for each thing that was looked at.
type (
	Report = checks.Report
	Check  = checks.Check
	Status = checks.Status
)

// How a check ended.
const (
	OK      = checks.OK
	Finding = checks.Finding
	Skipped = checks.Skipped // it could not be made, or does not apply
)

// ErrURL is the error of a URL that cannot be a server's.
var ErrURL = checks.ErrURL

// ErrUnreachable is in the error of a probe that found no server: nothing listens
// at the address, or its name is not known.
var ErrUnreachable = checks.ErrUnreachable

// Run probes the server whose card is below base. The error is about the arguments,
// or says that there is no server to report on ([ErrUnreachable]). What a server
// does wrong is in the report.
func Run(ctx context.Context, base string, o Options) (*Report, error) {
	u, err := checks.ParseURL(base)
	if err != nil {
		return nil, err
	}
	if o.Message == "" {
		o.Message = checks.Question
	}
	b := checks.Bounds{Each: o.Time, Whole: o.Whole}.Or(2 * time.Minute)
	o.Time = b.Each
	p := &prober{Options: o, base: u, http: peer.Client(u, o.Token, o.Transport), report: &Report{V: 1, URL: u.String()}}
	return p.report, p.report.Within(ctx, b, p.run)
}

// A prober makes the checks, one after the other.
type prober struct {
	Options
	base   *url.URL
	http   *http.Client
	card   *a2a.AgentCard
	report *Report
	at     string // the interface that is being looked at
}

func (p *prober) note(name string, s Status, detail string) {
	p.report.Add(Check{Interface: p.at, Name: name, Status: s, Detail: detail})
}

// expect adds a check that holds or not.
func (p *prober) expect(name string, holds bool, format string, args ...any) {
	if holds {
		p.note(name, OK, "")
		return
	}
	p.note(name, Finding, fmt.Sprintf(format, args...))
}

func (p *prober) run(ctx context.Context) error {
	if there, err := p.checkCard(ctx); !there {
		return err
	}
	spoken := 0
	for _, i := range p.card.SupportedInterfaces {
		p.at = shorttext.Ellipsis(strings.TrimSpace(string(i.ProtocolBinding)+" "+string(i.ProtocolVersion)), 64)
		c, err := peer.Connect(ctx, p.card, i, p.http)
		if err != nil {
			p.note("connect", Skipped, "this binding is not supported by the probe")
			continue
		}
		spoken++
		p.checkInterface(ctx, c, i)
		_ = c.Destroy()
		if ctx.Err() != nil {
			return nil
		}
	}
	p.at = ""
	p.expect("interfaces", spoken > 0, "the card has no interface of JSON-RPC 1.0, REST 1.0 or JSON-RPC 0.3")
	return nil
}

// checkCard reports whether there is a card. The error says that there is no server.
func (p *prober) checkCard(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Time)
	defer cancel()
	card, err := peer.Card(ctx, p.base, p.http)
	switch {
	case checks.Unreached(err):
		p.note("card", Skipped, "the server cannot be reached: "+checks.Plain(err))
		return false, fmt.Errorf("%w: %s", ErrUnreachable, checks.Plain(err))
	case err != nil:
		p.note("card", Finding, "no card can be read at /.well-known/agent-card.json: "+checks.Plain(err))
		return false, nil
	}
	p.card, p.report.Agent = card, shorttext.Ellipsis(card.Name, 200)
	p.note("card", OK, "")
	var missing []string
	for name, there := range map[string]bool{
		"name": card.Name != "", "description": card.Description != "", "version": card.Version != "",
		"skills": len(card.Skills) > 0, "defaultInputModes": len(card.DefaultInputModes) > 0,
		"defaultOutputModes": len(card.DefaultOutputModes) > 0, "supportedInterfaces": len(card.SupportedInterfaces) > 0,
	} {
		if !there {
			missing = append(missing, name)
		}
	}
	p.expect("card members", len(missing) == 0, "the card lacks %s", strings.Join(missing, ", "))
	var away []string
	for _, i := range card.SupportedInterfaces {
		if u, err := url.Parse(i.URL); err != nil || u.Host != p.base.Host || u.Scheme != p.base.Scheme {
			away = append(away, i.URL)
		}
	}
	p.expect("card addresses", len(away) == 0, "the card sends clients to another host, which is not probed: %s", strings.Join(away, ", "))
	return true, nil
}

func (p *prober) checkInterface(ctx context.Context, c *a2aclient.Client, i *a2a.AgentInterface) {
	l := &life{prober: p, ctx: ctx, c: c, legacy: !strings.HasPrefix(string(i.ProtocolVersion), "1")}
	steps := []checks.Step{
		l.step("send", func() {
			if l.send() {
				l.after()
			}
		}),
		l.step("stream", l.stream), l.step("get, unknown", l.unknown), l.step("push", l.push), l.step("extended card", l.extended),
	}
	if i.ProtocolBinding == a2a.TransportProtocolJSONRPC && !l.legacy {
		steps = append(steps, l.step("unknown method", func() { p.checkRPC(ctx, i.URL) }))
	}
	p.report.Make(ctx, steps)
}

// step is a step after which the others can be made, whatever it finds.
func (p *prober) step(name string, make func()) checks.Step {
	return checks.Step{Interface: p.at, Name: name, Make: func() string { make(); return "" }}
}
