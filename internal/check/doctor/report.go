package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
)

// A Report is what a diagnosis found.
type Report struct {
	V        int    `json:"v"` // 1
	Upstream string `json:"upstream"`
	Server   Server `json:"server"`
	// APIs are the APIs that the server has; API is the one in which it was asked.
	APIs []string `json:"apis,omitempty"`
	API  string   `json:"api,omitempty"`
	// Speaks are the APIs by their names in settings, and UpstreamAPI is the one to set as
	// upstream-api.
	Speaks      []string `json:"speaks,omitempty"`
	UpstreamAPI string   `json:"upstream_api,omitempty"`
	Model       string   `json:"model,omitempty"`
	Models      int      `json:"models"` // how many the server lists
	Context     Context  `json:"context"`
	Template    Template `json:"template"`
	Asks        []Ask    `json:"asks,omitempty"`
	History     History  `json:"history"`
	// Prompts are what the server showed of how it renders prompts, if it was asked.
	Prompts []promptshown.Entry `json:"prompts,omitempty"`
	Between []string            `json:"between,omitempty"` // proxies that headers show
	// Cost is what was announced; the others are what was used, as the server counts it.
	Cost         Cost  `json:"cost"`
	Requests     int   `json:"requests"`
	PromptTokens int64 `json:"prompt_tokens"`
	ReplyTokens  int64 `json:"reply_tokens"`
	checks.List
	// Sotto says what Sotto does in front of this server. Configuration is a file for
	// sotto serve that fixes what it can.
	Sotto         []string `json:"sotto,omitempty"`
	Configuration string   `json:"configuration,omitempty"`
}

func gatewayRestore(model string) routing.Route {
	return routing.Route{Models: []string{model}, History: history.Restore}
}

// conclude says what Sotto does, and writes the configuration.
func (d *diagnosis) conclude() {
	r := d.report
	if d.api == nil || r.Model == "" || d.grammar == nil {
		return
	}
	d.describeUpstreamAPI()
	r.Configuration = d.configuration()
	dialect := d.grammar.Dialect().Name
	_, known := d.options.ForModel(r.Model)
	switch {
	case d.fixed && d.route.Dialect != "":
		r.Sotto = append(r.Sotto, "reads the model's replies in the dialect "+d.route.Dialect+", with the configuration below")
	case known:
		r.Sotto = append(r.Sotto, "reads the model's replies in the dialect "+dialect+", which it knows by the model's name")
	default:
		r.Sotto = append(r.Sotto, "does not know the model's name, and reads its replies in the dialect "+dialect)
	}
	can := d.api.codec.Capabilities()
	field := can.Field
	switch {
	case can.Kind != "":
		field = "blocks of the kind " + can.Kind
	case field == "":
		field = "reasoning_content"
	}
	if mended(r) {
		r.Sotto = append(r.Sotto, "moves reasoning from the text to "+field+"; display: hide would drop it")
	} else if len(d.asked) > 0 && !d.wrongKey {
		r.Sotto = append(r.Sotto, "leaves the replies of this model as they are, as far as the questions show")
	}
	if d.opens {
		r.Sotto = append(r.Sotto, "holds the beginning of a stream until it is certain whether it is a thought")
	}
	switch does := doing[r.History.Need]; {
	case d.route.History != "":
		r.Sotto = append(r.Sotto, "puts the reasoning of earlier turns back, with the configuration below")
	case does != "":
		r.Sotto = append(r.Sotto, does)
	default:
		r.Sotto = append(r.Sotto, "does not change what requests hold of earlier reasoning, except what Sotto made itself")
	}
}

func mended(r *Report) bool {
	for _, a := range r.Asks {
		if len(a.Markers) > 0 {
			return true
		}
	}
	return false
}

// configuration writes a file for sotto serve.
func (d *diagnosis) configuration() string {
	top := &yamlfile.Node{Kind: yamlfile.Mapping}
	top.Add("v", yamlfile.IntNode(1))
	top.Add("upstream", yamlfile.TextNode(d.report.Upstream))
	if len(d.report.Speaks) == 1 { // clients of an API that a server has itself need no translation
		top.Add("upstream-api", yamlfile.TextNode(d.report.UpstreamAPI))
	}
	if d.fixed {
		route := &yamlfile.Node{Kind: yamlfile.Mapping}
		models := yamlfile.ListNode()
		for _, m := range d.route.Models {
			models.Items = append(models.Items, yamlfile.TextNode(m))
		}
		route.Add("models", models)
		for _, k := range []struct{ key, value string }{
			{"dialect", d.route.Dialect}, {"start", string(d.route.Start)}, {"history", string(d.route.History)}, {"on-no-answer", string(d.route.OnNoAnswer)},
		} {
			if k.value != "" {
				route.Add(k.key, yamlfile.TextNode(k.value))
			}
		}
		routes := yamlfile.ListNode()
		routes.Items = append(routes.Items, route)
		top.Add("routes", routes)
	}
	data, err := yamlfile.Write(top)
	if err != nil {
		return ""
	}
	return string(data)
}

// Made returns the checks.
func (r *Report) Made() *checks.List { return &r.List }

// Print writes the report for a reader.
func (r *Report) Print(w io.Writer) error {
	if err := checks.Print(w, r.Checks); err != nil {
		return err
	}
	var b strings.Builder
	if len(r.Sotto) > 0 {
		b.WriteString("\nIn front of this server, Sotto\n")
		for _, s := range r.Sotto {
			fmt.Fprintf(&b, "  - %s\n", visible.OneLine(s))
		}
	}
	if r.Configuration != "" {
		b.WriteString("\nsotto.yaml, for sotto serve --config sotto.yaml:\n")
		for line := range strings.Lines(r.Configuration) {
			b.WriteString("  " + visible.Line(strings.TrimRight(line, "\n")) + "\n")
		}
	}
	fmt.Fprintf(&b, "\n%s: %s, %s; %d requests", visible.OneLine(r.Upstream), shorttext.Count(r.Findings, "finding"), shorttext.Count(r.Unknown, "thing")+" not known", r.Requests)
	if r.ReplyTokens > 0 {
		fmt.Fprintf(&b, ", %d tokens of replies", r.ReplyTokens)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
