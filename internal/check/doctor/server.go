package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
)

type value = gjson.Result

// The servers that are recognized.
const (
	Ollama     = "Ollama"
	LlamaCPP   = "llama.cpp"
	VLLM       = "vLLM"
	SGLang     = "SGLang"
	LMStudio   = "LM Studio"
	OpenRouter = "OpenRouter"
)

// A Server says which program answers.
type Server struct {
	Name    string `json:"name,omitempty"` // "" if it is not known
	Version string `json:"version,omitempty"`
	// Evidence is the request whose answer says so.
	Evidence string `json:"evidence,omitempty"`
}

func (s Server) String() string {
	switch {
	case s.Name == "":
		return "a server that does not say which it is"
	case s.Version == "":
		return s.Name
	}
	return s.Name + " " + s.Version
}

// hosts are services that are known by their names, so that nothing else is asked.
var hosts = map[string]string{
	"api.openai.com": "OpenAI", "api.anthropic.com": "Anthropic", "openrouter.ai": OpenRouter, "api.deepseek.com": "DeepSeek",
	"api.groq.com": "Groq", "api.together.xyz": "Together", "api.mistral.ai": "Mistral", "api.x.ai": "xAI",
	"generativelanguage.googleapis.com": "Gemini", "api.moonshot.ai": "Moonshot", "api.fireworks.ai": "Fireworks",
}

// A sign tells a server by the answer at a path, which no other server gives.
type sign struct {
	server, path string
	is           func(v value) (version string, ok bool)
}

var signs = []sign{
	{Ollama, "/api/version", func(v value) (string, bool) { return v.Get("version").Str, v.Get("version").Str != "" }},
	{LlamaCPP, "/props", func(v value) (string, bool) {
		return v.Get("build_info").Str, v.Get("default_generation_settings").IsObject()
	}},
	{VLLM, "/version", func(v value) (string, bool) { return v.Get("version").Str, v.Get("version").Str != "" }},
	{LMStudio, "/api/v0/models", func(v value) (string, bool) {
		return "", v.Get("data.0.compatibility_type").Exists() || v.Get("data.0.max_context_length").Exists()
	}},
	{SGLang, "/server_info", isSGLang},
	{SGLang, "/get_server_info", isSGLang},
}

func isSGLang(v value) (string, bool) {
	return v.Get("version").Str, v.Get("model_path").Exists() && v.Get("tokenizer_path").Exists()
}

// owners are what servers write as the owner of a model.
var owners = map[string]string{"vllm": VLLM, "sglang": SGLang, "llamacpp": LlamaCPP, "organization_owner": LMStudio}

// identify finds out which server it is. Of what it read, it returns the answers by
// path.
func identify(ctx context.Context, c *modelserver.Client, base *url.URL, list *modelserver.Response) (Server, map[string]*modelserver.Response) {
	if name, ok := hosts[base.Hostname()]; ok {
		return Server{Name: name, Evidence: "the name of the host"}, nil
	}
	asked := map[string]*modelserver.Response{}
	likely := ""
	if list != nil {
		if v, ok := list.JSON(); ok {
			likely = owners[v.Get("data.0.owned_by").Str]
		}
	}
	order := slices.Clone(signs)
	slices.SortStableFunc(order, func(a, b sign) int { return cmp.Compare(rank(a, likely), rank(b, likely)) })
	for _, s := range order {
		res, err := c.Get(ctx, below(base, s.path), nil)
		if err != nil {
			continue
		}
		asked[s.path] = res
		if v, ok := res.JSON(); ok && res.OK() {
			if version, is := s.is(v); is {
				return Server{s.server, shorttext.Ellipsis(version, 64), "GET " + s.path}, asked
			}
		}
	}
	if likely != "" {
		return Server{Name: likely, Evidence: "owned_by in GET /v1/models"}, asked
	}
	return Server{}, asked
}

func rank(s sign, likely string) int {
	if s.server == likely {
		return 0
	}
	return 1
}

// A Local is a server on this machine.
type Local struct {
	URL    string
	Server Server
	Models []string
}

// localAddresses are where model servers listen unless they are configured otherwise.
var localAddresses = []struct{ server, host string }{
	{Ollama, "127.0.0.1:11434"}, {LlamaCPP, "127.0.0.1:8080"}, {VLLM, "127.0.0.1:8000"},
	{LMStudio, "127.0.0.1:1234"}, {SGLang, "127.0.0.1:30000"},
}

// localTime bounds a request to an address at which perhaps no model server listens.
const localTime = 2 * time.Second

// Addresses returns where FindLocal looks, with the names of the servers that are
// expected there. OLLAMA_HOST moves Ollama's, if it is on this machine.
func Addresses(getenv func(string) string) [][2]string {
	var list [][2]string
	for _, a := range localAddresses {
		if host := loopback(getenv("OLLAMA_HOST")); a.server == Ollama && host != "" {
			a.host = host
		}
		list = append(list, [2]string{a.server, "http://" + a.host})
	}
	return list
}

// loopback returns the address that OLLAMA_HOST names, or "" if it is not of this
// machine.
func loopback(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "http://"), "/")
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "11434"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return ""
	}
	ip := net.ParseIP(name)
	switch {
	case name == "localhost" || ip != nil && ip.IsUnspecified():
		name = "127.0.0.1"
	case ip == nil || !ip.IsLoopback():
		return ""
	}
	return net.JoinHostPort(name, port)
}

// FindLocal looks for model servers at the usual ports of this machine. It only reads:
// it asks for versions and lists of models.
func FindLocal(ctx context.Context, transport http.RoundTripper, getenv func(string) string) []Local {
	var found []Local
	for _, a := range Addresses(getenv) {
		if l, err := Look(ctx, a[1], transport); err == nil {
			found = append(found, l)
		}
	}
	return found
}

// Look says which server there is at a base URL. Like FindLocal, it only reads. A hosted
// service is known by its name, and asked nothing.
func Look(ctx context.Context, base string, transport http.RoundTripper) (Local, error) {
	u, err := checks.ParseURL(base)
	if err != nil {
		return Local{}, err
	}
	if name, ok := hosts[u.Hostname()]; ok {
		return Local{URL: base, Server: Server{Name: name, Evidence: "the name of the host"}}, nil
	}
	c, done := modelserver.New(u, modelserver.Options{Time: localTime, Body: maxBody, Requests: metadataRequests, Transport: transport})
	defer done()
	list, err := c.Get(ctx, below(u, "/v1/models"), nil)
	if err != nil {
		return Local{}, err
	}
	server, _ := identify(ctx, c, u, list)
	names := list.Models()
	if server.Name == "" && len(names) == 0 {
		return Local{}, errors.New("no model server answers there")
	}
	return Local{base, server, names}, nil
}

// A Context is how much the model can read and write in one request.
type Context struct {
	Tokens int64 `json:"tokens,omitempty"` // 0 if it is not known
	// Used is what the server makes room for now, if that is less.
	Used   int64  `json:"used,omitempty"`
	Source string `json:"source,omitempty"`
}

// readContext finds the size of the model's context in what the server said.
func (d *diagnosis) readContext(list *modelserver.Response, show *modelserver.Response) Context {
	if show != nil {
		if v, ok := show.JSON(); ok {
			if c, ok := ollamaContext(v); ok {
				return c
			}
		}
	}
	if props := d.seen["/props"]; props != nil {
		if v, ok := props.JSON(); ok {
			if n := v.Get("default_generation_settings.n_ctx").Int(); n > 0 {
				return Context{Tokens: n, Source: "n_ctx in GET /props"}
			}
		}
	}
	for _, from := range []struct {
		name string
		res  *modelserver.Response
	}{{"GET /api/v0/models", d.seen["/api/v0/models"]}, {"GET /v1/models", list}} {
		if from.res == nil {
			continue
		}
		v, ok := from.res.JSON()
		if !ok {
			continue
		}
		var c Context
		v.Get("data").ForEach(func(_, m value) bool {
			if m.Get("id").Str != d.report.Model {
				return true
			}
			for _, member := range []string{"max_model_len", "max_context_length", "context_length", "context_window", "meta.n_ctx_train"} {
				if n := m.Get(member).Int(); n > 0 && c.Tokens == 0 {
					c = Context{Tokens: n, Source: member + " in " + from.name}
				}
			}
			if n := m.Get("loaded_context_length").Int(); n > 0 && n < c.Tokens {
				c.Used = n
			}
			return false
		})
		if c.Tokens > 0 {
			return c
		}
	}
	return Context{}
}

func ollamaContext(v value) (c Context, ok bool) {
	v.Get("model_info").ForEach(func(key, n value) bool {
		if strings.HasSuffix(key.Str, ".context_length") && n.Int() > 0 {
			c = Context{Tokens: n.Int(), Source: shorttext.Ellipsis(key.Str, 64) + " in POST /api/show"}
			return false
		}
		return true
	})
	for line := range strings.Lines(v.Get("parameters").Str) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n > 0 {
				c.Used = n
			}
		}
	}
	return c, c.Tokens > 0
}

// String describes it.
func (c Context) String() string {
	s := fmt.Sprintf("%d tokens (%s)", c.Tokens, c.Source)
	if c.Used > 0 && c.Used < c.Tokens {
		s += fmt.Sprintf("; the server makes room for %d", c.Used)
	}
	return s
}
