// Package doctor finds out what a model server does with reasoning, and what Sotto does
// in front of it: which server and API it is, on which field reasoning comes, how
// replies begin, what the history must hold, and whether something between cuts streams
// or holds them back.
//
// A diagnosis is bounded: in requests, which are announced before the first ([Options.Cost]),
// in time and in bytes. What could not be found out is in the report as unknown or skipped,
// each with the reason.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/spelling"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/internal/reply/leak"
	"github.com/sotto-llm/sotto/wire/providers"
)

// Options say how to examine a server. The zero value is right for most.
type Options struct {
	// Model is the model to ask. If empty, the first that the server lists.
	Model string
	// API is one of [APIs]. If empty, the server's own: Ollama's API for Ollama,
	// Anthropic's for Anthropic, OpenAI's for all others.
	API string
	// UpstreamAPI is the setting upstream-api of a gateway, which is checked. If empty, none
	// is.
	UpstreamAPI string
	// Key, if set, is sent as the API key, to the host of the base URL only.
	Key string
	// Silent says that the model is asked nothing, so that no token is used.
	Silent bool
	// Prompts says that the server is asked how it renders prompts, for [Report.Prompts].
	Prompts bool
	// Tokens bounds each reply. If zero, 512.
	Tokens int
	// Time bounds each request. If zero, 1 min. Whole bounds the diagnosis; if zero, it
	// is ten times Time.
	Time, Whole time.Duration
	// Named and ForModel look up dialects. If nil, those of package sotto are used.
	Named    func(name string) (*sotto.Grammar, error)
	ForModel func(model string) (g *sotto.Grammar, known bool)
	// Transport reaches the server. If nil, one like http.DefaultTransport.
	Transport http.RoundTripper
}

// Check returns what is wrong with the options.
func (o Options) Check() error {
	switch {
	case o.API != "" && findAPI(o.API) == nil:
		return fmt.Errorf("no API is called %.100q: want %s", o.API, strings.Join(APIs(), ", "))
	case o.UpstreamAPI != "" && !slices.ContainsFunc(providers.APIs(), func(a providers.API) bool { return a.Name == o.UpstreamAPI }):
		return fmt.Errorf("--upstream-api: no API is called %.100q", o.UpstreamAPI)
	case o.Tokens < 0 || o.Tokens > maxTokens:
		return fmt.Errorf("--tokens: want a number from 1 to %d", maxTokens)
	case o.Time < 0:
		return fmt.Errorf("--time: want a duration such as 30s")
	}
	return nil
}

const (
	maxTokens = 100_000 // of a reply, that can be asked for
	maxBody   = 4 << 20 // bytes of a response
)

func (o Options) withDefaults() Options {
	if o.Tokens <= 0 {
		o.Tokens = 512
	}
	b := checks.Bounds{Each: o.Time, Whole: o.Whole}.Or(time.Minute)
	o.Time, o.Whole = b.Each, b.Whole
	if o.Named == nil {
		o.Named = sotto.Named
	}
	if o.ForModel == nil {
		o.ForModel = sotto.ForModel
	}
	return o
}

const (
	metadataRequests = 18 // that use no token
	// questions are the requests to the model: one for each way, one with the result of
	// a tool, and one again if the limit has another name.
	questions = 8
)

// A Cost is the most that a diagnosis costs.
type Cost struct {
	Requests  int `json:"requests"`
	Questions int `json:"questions"` // of the requests, those that the model answers
	Prompts   int `json:"prompt_tokens"`
	Replies   int `json:"reply_tokens"`
}

// Cost returns what a diagnosis with these options costs at most.
func (o Options) Cost() Cost {
	o = o.withDefaults()
	metadata := metadataRequests
	if o.Prompts {
		metadata += promptRequests
	}
	if o.Silent {
		return Cost{Requests: metadata}
	}
	return Cost{metadata + questions, questions, questions * promptTokens, (questions-1)*o.Tokens + max(o.Tokens, 2*thinkingBudget)}
}

// String says it in a sentence.
func (c Cost) String() string {
	if c.Questions == 0 {
		return fmt.Sprintf("at most %d requests; the model is asked nothing", c.Requests)
	}
	return fmt.Sprintf("at most %d requests, %d of them questions to the model: at most %d tokens of replies and about %d of prompts", c.Requests, c.Questions, c.Replies, c.Prompts)
}

// A diagnosis is one under way.
type diagnosis struct {
	ctx     context.Context
	options Options
	base    *url.URL
	client  *modelserver.Client
	api     *api
	leaks   *leak.Finder
	report  *Report

	grammar   *sotto.Grammar // that the gateway reads the model's replies in
	seen      map[string]*modelserver.Response
	templates map[string]*modelserver.Response
	opens     bool // the template may open a reasoning block
	asked     []*asked
	long      bool // the server takes only the long name of the limit on tokens
	route     routing.Route
	fixed     bool // the route has something that the model needs
	wrongKey  bool
}

// Run examines the server at a base URL. The error is about the arguments, or says that
// there is no server to report on ([checks.ErrUnreachable]); then the report says
// why. What is wrong with a server is in the report.
func Run(ctx context.Context, base string, o Options) (*Report, error) {
	u, err := checks.ParseURL(base)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	o.API = canonical(o.API)
	d := &diagnosis{
		options: o, base: u, leaks: leak.Shipped(), seen: map[string]*modelserver.Response{}, templates: map[string]*modelserver.Response{},
		report: &Report{V: 1, Upstream: u.String(), Cost: o.Cost(), List: checks.List{Checks: []checks.Check{}}},
	}
	if u.Hostname() == "api.anthropic.com" && o.API == "" {
		d.options.API = "anthropic"
	}
	to := modelserver.Options{Key: o.Key, Time: o.Time, Body: maxBody, Requests: o.Cost().Requests, Transport: o.Transport}
	if d.options.API == "anthropic" { // the key is in a header of its own
		to.Key = ""
	}
	var done func()
	d.client, done = modelserver.New(u, to)
	defer done()
	err = d.report.Within(ctx, checks.Bounds{Each: o.Time, Whole: o.Whole}, func(ctx context.Context) error {
		d.ctx = ctx
		if err := d.run(); !errors.Is(err, errStopped) {
			return err
		}
		return nil
	})
	d.report.Requests = d.client.Made
	d.conclude()
	return d.report, err
}

// note adds a check that found nothing wrong, or that was not made.
func (d *diagnosis) note(name string, s checks.Status, detail, do string) {
	d.report.Add(checks.Check{Name: name, Status: s, Detail: detail, Do: do})
}

// found adds a check by what it found.
func (d *diagnosis) found(name string, f found) {
	d.report.Add(checks.Check{Name: name, Status: f.status, Explain: f.name, Detail: f.detail, Do: f.do})
}

// A found is what a check found: its name is empty if nothing is wrong.
type found struct {
	status     checks.Status
	name       checks.Name
	detail, do string
}

func (d *diagnosis) run() error {
	list, err := d.reach()
	if err != nil {
		return err
	}
	d.report.Server, d.seen = d.identify(list)
	d.describeServer()
	d.findAPIs(list)
	if !d.chooseModel(list) {
		return nil
	}
	d.grammar, _ = d.options.ForModel(d.report.Model)
	d.readTemplate(list)
	d.askAll()
	d.examinePrompts()
	d.describeTemplate()
	d.readLoaded()
	d.describeContext()
	d.judgeHistory()
	return nil
}

func (d *diagnosis) identify(list *modelserver.Response) (Server, map[string]*modelserver.Response) {
	server, seen := identify(d.ctx, d.client, d.base, list)
	if seen == nil {
		seen = map[string]*modelserver.Response{}
	}
	return server, seen
}

// reach makes the first request: for the list of models. It also finds out whether the
// base URL is right.
func (d *diagnosis) reach() (*modelserver.Response, error) {
	header := http.Header{}
	if d.options.API == "anthropic" {
		header = findAPI("anthropic").header(d.options.Key)
	}
	list, err := d.client.Get(d.ctx, below(d.base, "/v1/models"), header)
	if err != nil {
		why, missing := inWords(err, d.base, d.options.Time)
		if missing {
			why.status = checks.Skipped
			d.found("reachable", why)
			return nil, fmt.Errorf("%w: %s", checks.ErrUnreachable, why.detail)
		}
		d.found("reachable", why)
		return nil, errStopped
	}
	switch {
	case list.Status == http.StatusUnauthorized || list.Status == http.StatusForbidden:
		d.note("reachable", checks.OK, "", "")
		d.addKey(list)
		return nil, errStopped
	case list.Status == http.StatusTooManyRequests:
		d.found("reachable", found{checks.Unknown, checks.ServerBusy, "the server is busy: status 429: " + list.Said(), "try again later"})
		return nil, errStopped
	case list.Status == http.StatusBadRequest && strings.Contains(list.Said(), "HTTPS"):
		d.found("reachable", found{checks.Finding, checks.ServerTLS, "the server speaks HTTPS, not HTTP", "write https:// instead of http:// in the URL"})
		return nil, errStopped
	case len(list.Models()) > 0 || isList(list):
		d.note("reachable", checks.OK, "", "")
		return list, nil
	}
	return d.findBase(list)
}

// errStopped ends a diagnosis whose report says why.
var errStopped = errors.New("the diagnosis could not continue")

// isList reports whether a response is a list of models, which may be empty.
func isList(list *modelserver.Response) bool {
	v, ok := list.JSON()
	return ok && list.OK() && (v.Get("data").IsArray() || v.Get("models").IsArray() || v.Get("object").Str == "list")
}

// otherBases are paths below which APIs are, at the servers whose base URL is often
// written without them.
var otherBases = []string{"/v1", "/api/v1", "/openai/v1", "/api"}

// findBase looks for the API below other paths of the same host.
func (d *diagnosis) findBase(first *modelserver.Response) (*modelserver.Response, error) {
	for _, path := range otherBases {
		u := *d.base
		u.Path, u.RawPath = path, ""
		list, err := d.client.Get(d.ctx, u.JoinPath("models"), nil)
		if err == nil && (len(list.Models()) > 0 || isList(list)) {
			d.found("base URL", found{checks.Finding, checks.BaseURL, fmt.Sprintf("there is no API below %s; it is below %s", d.base, &u), "write the URL " + u.String()})
			d.base, d.report.Upstream = &u, u.String()
			return list, nil
		}
	}
	tags, err := d.client.Get(d.ctx, below(d.base, "/api/tags"), nil)
	if err == nil && isList(tags) {
		d.note("reachable", checks.OK, "", "")
		return tags, nil
	}
	if first.Status == http.StatusNotFound && d.options.Model != "" { // some servers list no models
		d.note("reachable", checks.OK, "", "")
		return first, nil
	}
	detail := fmt.Sprintf("GET %s: status %d, and the response is %s", below(d.base, "/v1/models"), first.Status, modelserver.KindOf(first))
	if first.Status >= 500 {
		d.found("reachable", found{checks.Finding, checks.ServerNotReady, detail, "the server, or a proxy before it, is not ready: read its log, and try again"})
	} else {
		d.found("reachable", found{checks.Finding, checks.BaseURL, detail, "this is not the base URL of a model API: correct the URL; if the server lists no models, name one with --model"})
	}
	return nil, errStopped
}

func (d *diagnosis) addKey(res *modelserver.Response) {
	what := "the server wants an API key"
	if d.options.Key != "" {
		what = "the server refuses the API key"
	}
	d.wrongKey = true
	d.found("API key", found{checks.Finding, checks.KeyRefused, fmt.Sprintf("%s: status %d: %s", what, res.Status, res.Said()),
		"put the key into SOTTO_UPSTREAM_KEY, or into a file for --upstream-key-file"})
}

func (d *diagnosis) describeServer() {
	s := d.report.Server
	switch {
	case s.Name == "":
		d.found("server", found{checks.Unknown, checks.ServerUnknown, "it gives no sign of which program it is; it is treated as a server of OpenAI's API", ""})
	case s.Version == "":
		d.note("server", checks.OK, fmt.Sprintf("%s (%s); it does not say its version", s.Name, s.Evidence), "")
	default:
		d.note("server", checks.OK, fmt.Sprintf("%s (%s)", s, s.Evidence), "")
	}
}

// findAPIs finds out which APIs the server has. A request without a model uses no token.
func (d *diagnosis) findAPIs(list *modelserver.Response) {
	r := d.report
	if name := listedBy(list); r.Server.Name != "Anthropic" && name != "" {
		r.APIs = append(r.APIs, name)
	}
	if r.Server.Name == Ollama {
		r.APIs = append(r.APIs, "ollama")
	}
	if _, hosted := hosts[d.base.Hostname()]; !hosted {
		for _, a := range []struct{ name, path string }{{"anthropic", "/v1/messages"}, {"responses", "/v1/responses"}} {
			if res, err := d.client.Post(d.ctx, below(d.base, a.path), nil, object{}); err == nil && hasRoute(res) {
				r.APIs = append(r.APIs, a.name)
			}
		}
	} else if r.Server.Name == "Anthropic" {
		r.APIs = append(r.APIs, "anthropic")
	}
	d.api = findAPI("openai")
	switch {
	case d.options.API != "":
		d.api = findAPI(d.options.API)
	case r.Server.Name == Ollama:
		d.api = findAPI("ollama")
	}
	r.API = d.api.name
	if len(r.APIs) == 0 {
		d.found("APIs", found{checks.Unknown, checks.APIUnknown, "the server lists no models in the form of an API that Sotto knows; it is asked in " + d.api.name + "'s", "--api chooses another"})
		return
	}
	detail := strings.Join(r.APIs, ", ") + "; asked in " + d.api.name + "'s"
	if len(r.APIs) == 1 && r.Server.Name == "" && r.APIs[0] == "openai" {
		detail += ". Only its list of models shows the API: servers with chat completions have one of this form, and some others too"
	}
	d.note("APIs", checks.OK, detail, "")
}

// hasRoute reports whether the answer to an empty request shows that the server has the
// route: it complains about the request.
func hasRoute(res *modelserver.Response) bool {
	return (res.Status == http.StatusBadRequest || res.Status == http.StatusUnprocessableEntity) && !strings.Contains(res.Said(), "Unexpected endpoint")
}

// chooseModel reports whether there is a model to ask.
func (d *diagnosis) chooseModel(list *modelserver.Response) bool {
	names, model := list.Models(), d.options.Model
	d.report.Models = len(names)
	switch {
	case model == "" && len(names) == 0:
		d.found("model", found{checks.Finding, checks.NoModel, "the server lists no model", "load one, or name one with --model"})
		return false
	case model == "":
		d.report.Model = names[0]
		detail := names[0]
		if len(names) > 1 {
			detail += fmt.Sprintf(", the first of %d that the server lists; --model names another", len(names))
		}
		d.note("model", checks.OK, detail, "")
	case len(names) == 0:
		d.report.Model = model
		d.found("model", found{checks.Unknown, checks.NoModel, "the server lists no models, so whether it has " + model + " is not known yet", ""})
	case !slices.ContainsFunc(names, func(n string) bool {
		return n == model || n == model+":latest" || modelname.Normal(n) == modelname.Normal(model)
	}):
		d.report.Model = model
		d.found("model", found{checks.Finding, checks.ModelUnknown, fmt.Sprintf("the server does not list %s", model), nearest(model, names)})
		return d.options.Silent
	default:
		d.report.Model = model
		d.note("model", checks.OK, model, "")
	}
	return true
}

func nearest(model string, names []string) string {
	if near := spelling.Nearest(model, names); near != "" {
		return "did you mean --model " + near + "?"
	}
	return "it has " + shorttext.Ellipsis(strings.Join(names[:min(len(names), 10)], ", "), 300)
}
