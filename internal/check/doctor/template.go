package doctor

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
)

// A Template says what the chat template does at the beginning of a reply.
type Template struct {
	// Opens says whether it may open a reasoning block, so that replies begin inside:
	// "yes", "no", or "" if the template could not be read.
	Opens  string `json:"opens,omitempty"`
	Source string `json:"source,omitempty"`
}

// readTemplate reads the chat template, where the server shows it.
func (d *diagnosis) readTemplate(list *modelserver.Response) {
	var text, source string
	switch d.report.Server.Name {
	case Ollama:
		res, err := d.client.Post(d.ctx, below(d.base, "/api/show"), nil, object{"model": d.report.Model})
		if err == nil && res.OK() {
			d.seen["/api/show"], d.templates["/api/show"] = res, res
			source = "POST /api/show"
			if v, ok := res.JSON(); ok {
				text = v.Get("template").Str
			}
		}
	case LlamaCPP:
		if res := d.seen["/props"]; res != nil {
			d.templates["/props"], source = res, "GET /props"
			if v, ok := res.JSON(); ok {
				text = v.Get("chat_template").Str
			}
		}
	case VLLM: // only with --enable-tokenizer-info-endpoint
		res, err := d.client.Get(d.ctx, below(d.base, "/tokenizer_info"), nil)
		if err == nil && res.Status == http.StatusOK {
			source = "GET /tokenizer_info"
			if v, ok := res.JSON(); ok {
				text = v.Get("chat_template").Str
			}
		}
	}
	d.report.Context = d.readContext(list, d.seen["/api/show"])
	if text != "" {
		d.report.Template = Template{"no", source}
		if d.opens = d.grammar.Dialect().TemplateOpens(text); d.opens {
			d.report.Template.Opens = "yes"
		}
	}
	d.report.Template.Source = source
}

// describeTemplate says what the template shows, and whether the replies agree.
func (d *diagnosis) describeTemplate() {
	t := d.report.Template
	inside := slices.ContainsFunc(d.report.Asks, func(a Ask) bool { return a.Inside })
	switch {
	case t.Opens == "yes":
		d.note("template", checks.OK, fmt.Sprintf("it may open a reasoning block, so that replies begin inside it (%s)", t.Source), "")
	case t.Opens == "no" && inside:
		d.note("template", checks.OK, fmt.Sprintf("it opens no reasoning block (%s), and replies begin inside one all the same", t.Source), "")
	case t.Opens == "no":
		d.note("template", checks.OK, fmt.Sprintf("it opens no reasoning block (%s)", t.Source), "")
	case inside:
		d.note("template", checks.OK, "the server does not show its chat template; the replies begin inside a reasoning block, so it opens one", "")
	case t.Source != "":
		d.found("template", found{checks.Unknown, checks.TemplateUnknown, "there is no chat template in the answer to " + t.Source, ""})
	default:
		d.found("template", found{checks.Unknown, checks.TemplateUnknown, "the server does not show its chat template; no reply began inside a reasoning block", ""})
	}
}

// readLoaded asks Ollama how much context it made room for, once the model is loaded.
func (d *diagnosis) readLoaded() {
	if d.report.Server.Name != Ollama || len(d.asked) == 0 {
		return
	}
	res, err := d.client.Get(d.ctx, below(d.base, "/api/ps"), nil)
	if err != nil {
		return
	}
	v, ok := res.JSON()
	if !ok {
		return
	}
	v.Get("models").ForEach(func(_, m value) bool {
		if name := m.Get("name").Str; name != d.report.Model && name != d.report.Model+":latest" {
			return true
		}
		if n := m.Get("context_length").Int(); n > 0 {
			d.report.Context.Used = n
		}
		return false
	})
}

func (d *diagnosis) describeContext() {
	c := d.report.Context
	switch {
	case c.Tokens == 0:
		d.found("context", found{checks.Unknown, checks.ContextUnknown, "the server does not say how large the model's context is", ""})
	case c.Used > 0 && c.Used < c.Tokens:
		do := ""
		if d.report.Server.Name == Ollama {
			do = "a longer conversation loses its beginning: set num_ctx, or OLLAMA_CONTEXT_LENGTH for the server"
		}
		d.note("context", checks.OK, c.String(), do)
	default:
		d.note("context", checks.OK, c.String(), "")
	}
}
