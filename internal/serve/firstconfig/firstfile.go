// Package firstconfig makes the first configuration file of a gateway, with comments, and
// says what clients of that gateway are set to.
package firstconfig

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/check/doctor"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Hosted is a service with a key of its own.
type Hosted struct {
	Name, URL string
	Variable  string // of the environment, that usually holds the key
}

// services are the services whose base URLs are known.
var services = []Hosted{
	{"OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"},
	{"OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"},
	{"Anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"},
	{"DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"},
	{"Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"},
	{"Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"},
	{"Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"},
	{"Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"},
	{"Fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"},
	{"xAI", "https://api.x.ai/v1", "XAI_API_KEY"},
}

// Services returns the services for which the environment has a key. Of the keys, only
// the names of their variables are used.
func Services(getenv func(string) string) []Hosted {
	var found []Hosted
	for _, s := range services {
		if getenv(s.Variable) != "" {
			found = append(found, s)
		}
	}
	return found
}

// A Plan is what the file will say.
type Plan struct {
	Listen   string
	Upstream string // if empty, the gateway plays scripted replies
	// About describes the upstream in a comment.
	About    string
	Variable string // of the environment, with the upstream's key; "" if it needs none
	// API is the API that the upstream speaks; "" if that is not known. It stands in a comment
	// if Several is set: the upstream has others too, whose clients then need no translation.
	API     string
	Several bool
	Models  []string // that the upstream lists, if that is known
	Display string
	Record  string // a folder; "" for no record
	File    string // the name of the file, for the commands in its comments
}

// YAML returns the configuration file.
func (p Plan) YAML() string {
	var b strings.Builder
	b.WriteString("# The configuration of a Sotto gateway. Start it, or check this file, with:\n#\n")
	fmt.Fprintf(&b, "#     %ssotto serve --config %s\n#     sotto serve --config %[2]s --check\n#\n", p.keyed(), comment(Word(p.File)))
	b.WriteString("# --check prints all settings with their values. docs/reference/settings.md explains them.\nv: 1\n\n")

	b.WriteString("# Where clients connect. Only programs on this machine reach 127.0.0.1. For other\n# machines write :8383, and give clients a token: see token-file.\n")
	b.WriteString(line("listen", p.Listen))
	b.WriteString("# token-file: token.txt\n\n")

	if p.Upstream == "" {
		b.WriteString("# The base URL of the model server. Without one, Sotto plays scripted replies with the\n# faults of real ones, to try it.\n# upstream: http://localhost:11434\n\n")
	} else {
		fmt.Fprintf(&b, "# The base URL of the model server: %s.\n", comment(p.About))
		b.WriteString(line("upstream", p.Upstream))
		b.WriteString("\n")
		p.api(&b)
	}
	if p.Variable != "" {
		fmt.Fprintf(&b, "# The server's API key never stands in this file. Start the gateway with the key in\n# SOTTO_UPSTREAM_KEY, as above, or put it into a file. Without either, the key that a\n# client sends goes to the server.\n# upstream-key-file: upstream.key\n\n")
	}

	b.WriteString("# Where reasoning goes:\n#   field  to the API's own place for it, such as reasoning_content\n#   hide   nowhere\n#   tags   into <think> tags in the text\n#   keep   where the server put it\n")
	b.WriteString(line("display", p.Display))

	b.WriteString("\n# What happens to the reasoning of earlier messages: auto does what the model's family\n# needs.\n# history: auto\n\n")
	b.WriteString("# What a client gets if a reply was all reasoning: empty, error, or promote.\n# on-no-answer: empty\n\n")

	b.WriteString("# The form in which the server reads whether to think, for clients that use another one.\n# native is that of the API. sotto doctor says which one works.\n# thinking-switch: native\n\n")
	b.WriteString("# Keep every exchange in a folder, for an audit. sotto console FOLDER shows it.\n")
	if p.Record != "" {
		b.WriteString(line("record", p.Record))
	} else {
		b.WriteString("# record: audit\n")
	}
	b.WriteString("# record-keep: 90d\n\n")

	b.WriteString("# Settings for some models only. sotto doctor says which ones need some.\n# routes:\n#   - models: [mistral-*]\n#     dialect: magistral\n")
	return b.String()
}

// api writes which API the upstream speaks.
func (p Plan) api(b *strings.Builder) {
	b.WriteString("# The API that the server speaks: chat, responses, messages, ollama, gemini, bedrock or\n# cohere. Clients of all others are served too: their requests are translated.\n")
	switch {
	case p.API == "":
		b.WriteString("# upstream-api: chat\n\n")
	case p.Several:
		fmt.Fprintf(b, "# Without it, each client asks the server in its own API, which must have that.\n# upstream-api: %s\n\n", p.API)
	default:
		b.WriteString(line("upstream-api", p.API) + "\n")
	}
}

// keyed is how a command gets the key of the upstream.
func (p Plan) keyed() string {
	if p.Variable == "" {
		return ""
	}
	return `SOTTO_UPSTREAM_KEY="$` + p.Variable + `" `
}

// Command starts the gateway.
func (p Plan) Command() string { return p.keyed() + "sotto serve --config " + Word(p.File) }

// Word quotes a text for a shell, if it needs that.
func Word(s string) string {
	safe := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == ""
	if safe && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// line is a key with its value, quoted where YAML needs that.
func line(key, value string) string {
	m := &yamlfile.Node{Kind: yamlfile.Mapping}
	m.Add(key, yamlfile.TextNode(value))
	data, err := yamlfile.Write(m)
	if err != nil {
		panic(fmt.Sprintf("unreachable: a text as YAML: %v", err))
	}
	return string(data)
}

// comment makes a text from a server or the user fit into a line of a comment.
func comment(s string) string {
	return shorttext.Ellipsis(visible.OneLine(s), 200)
}

// A Client is a setting of a client.
type Client struct{ Name, Setting string }

// Clients are the settings of clients on this machine. server is the program that
// answers, if that is known: only some have Ollama's API. translated says that clients of every API
// are served.
func Clients(listen, server string, translated bool) []Client {
	host, base := addressOf(listen)
	list := []Client{
		{"OpenAI clients", "OPENAI_BASE_URL=" + base + "/v1"},
		{"Anthropic clients", "ANTHROPIC_BASE_URL=" + base},
		{"Open WebUI", "OPENAI_API_BASE_URL=" + base + "/v1"},
	}
	if server == doctor.Ollama || server == "" || translated {
		list = append(list, Client{"Ollama clients", "OLLAMA_HOST=" + host}, Client{"Open WebUI, with Ollama's API", "OLLAMA_BASE_URL=" + base})
	}
	return list
}

// addressOf returns where clients on this machine reach a gateway.
func addressOf(listen string) (host, base string) {
	host = listen
	if name, port, err := net.SplitHostPort(listen); err == nil {
		if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
			name = "127.0.0.1"
		}
		host = net.JoinHostPort(name, port)
	}
	return host, (&url.URL{Scheme: "http", Host: host}).String()
}
