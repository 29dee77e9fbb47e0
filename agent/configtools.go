package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// A ToolConfig is an entry of tools: an endpoint ([HTTPTool]), the tools of an MCP
// server ([MCPServer]), an agent that is reached by A2A ([RemoteAgent]), or a model of
// another server.
type ToolConfig struct {
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	URL         string         `yaml:"url"`
	Schema      map[string]any `yaml:"schema"`
	// MCP is the name of an MCP server, and A2A the URL of an agent.
	MCP string `yaml:"mcp"`
	A2A string `yaml:"a2a"`
	// Model is a model at the URL, which is asked in an API.
	Model      string            `yaml:"model"`
	API        string            `yaml:"api"`
	System     string            `yaml:"system"`
	Dialect    string            `yaml:"dialect"`
	MaxTokens  int               `yaml:"max-tokens"`
	Command    []string          `yaml:"command"`
	Env        map[string]string `yaml:"env"`
	Allow      []string          `yaml:"allow"`
	HeadersEnv map[string]string `yaml:"headers-env"`
	TokenEnv   string            `yaml:"token-env"`
	TokenFile  string            `yaml:"token-file"`
	Timeout    time.Duration     `yaml:"timeout"`
	Start      sotto.Beginning   `yaml:"start"`
	Limit      int               `yaml:"limit"`
	Confirm    bool              `yaml:"confirm"`
	// ConfirmTools names tools of an MCP server, if Confirm is not for all of them.
	ConfirmTools []string `yaml:"confirm-tools"`
	Resources    bool     `yaml:"resources"`
	Prompts      bool     `yaml:"prompts"`
	Elicitation  bool     `yaml:"elicitation"`
	Repeat       bool     `yaml:"repeat"`
	Prose        []string `yaml:"prose"`
}

// An MCPServer is a server of the Model Context Protocol, whose tools an agent may
// use. It is reached by its command or by its URL.
type MCPServer struct {
	// Name begins the names of its tools: the tool read of the server files is
	// files_read.
	Name string
	// Command starts the server in the folder Dir. Env are the only variables that it
	// gets, besides a few that every program needs, such as PATH.
	Command []string
	Dir     string
	Env     map[string]string
	// Header goes to the host of the URL, and to no other.
	URL    string
	Header http.Header
	// Allow names the tools of the server that the agent may use.
	Allow []string
	// Resources and Prompts give the agent tools that list and read the resources and the
	// prompts of the server.
	Resources, Prompts bool
	// Elicitation says that the server may ask a person, during a call. The question is put
	// as one about a call is. Then one call of the server is made at a time.
	Elicitation bool
	// Timeout bounds the start of the server; if zero, 1 min. If set, it also bounds a
	// call.
	Timeout time.Duration
	Limit   int64 // bytes of a message of the server; if zero, 1 MiB
	Repeat  bool  // see [Func]
	Prose   []string
}

// A RemoteAgent is an agent that is reached by A2A, as a tool.
type RemoteAgent struct {
	Name, Description string
	URL               string
	Token             string          // goes to the host of the URL, and to no other
	Timeout           time.Duration   // of an answer; if zero, 5 min
	Start             sotto.Beginning // of what it says in statuses; if empty, [sotto.BeginAuto]
}

// Names returns the names of the tools of the server that the agent may use, without the
// server's: those of Allow, and those for resources and prompts.
func (s MCPServer) Names() []string {
	names := slices.Clone(s.Allow)
	if s.Resources {
		names = append(names, ListResources, ReadResource)
	}
	if s.Prompts {
		names = append(names, ListPrompts, GetPrompt)
	}
	return names
}

// The tools for the resources and the prompts of an MCP server.
const (
	ListResources = "list_resources"
	ReadResource  = "read_resource"
	ListPrompts   = "list_prompts"
	GetPrompt     = "get_prompt"
)

// mcpName is the name of an MCP server's tool for the model.
func mcpName(server, tool string) string { return server + "_" + tool }

// maxServerName bounds the name of an MCP server, so that its tools have room for
// theirs.
const maxServerName = 16

// toolKeys are the keys of each kind of tool.
var toolKeys = map[string][]string{
	"an endpoint": {"name", "description", "url", "schema", "headers-env", "token-env", "token-file", "timeout", "limit", "repeat", "prose", "confirm"},
	"an MCP server": {"mcp", "command", "env", "url", "headers-env", "token-env", "token-file", "allow", "timeout", "limit", "repeat", "prose", "confirm", "confirm-tools",
		"resources", "prompts", "elicitation"},
	"an A2A agent": {"a2a", "name", "description", "token-env", "token-file", "timeout", "start", "confirm"},
	"a model":      {"model", "name", "description", "url", "api", "system", "dialect", "start", "max-tokens", "token-env", "token-file", "timeout", "confirm"},
}

func (t *ToolConfig) kind() string {
	switch {
	case t.MCP != "":
		return "an MCP server"
	case t.A2A != "":
		return "an A2A agent"
	case t.Model != "":
		return "a model"
	}
	return "an endpoint"
}

// tools returns the tools of an entry.
func (b *builder) tools(path string, t *ToolConfig) []Tool {
	b.keysOf(path, t)
	if t.Timeout < 0 {
		b.fault(path+".timeout", "want a time such as 30s")
	}
	if t.Limit < 0 {
		b.fault(path+".limit", "want a number of bytes")
	}
	var list []Tool
	switch {
	case t.MCP != "":
		list = b.mcp(path, t)
	case t.A2A != "":
		list = b.remote(path, t)
	case t.Model != "":
		list = b.chat(path, t)
	default:
		list = b.endpoint(path, t)
	}
	b.confirmation(path, t, list)
	return list
}

// confirmation notes the tools of an entry that need the consent of a person.
func (b *builder) confirmation(path string, t *ToolConfig, list []Tool) {
	for i, name := range t.ConfirmTools {
		if names := t.mcpServer().Names(); !slices.Contains(names, name) {
			b.fault(fmt.Sprintf("%s.confirm-tools[%d]", path, i), "%q: want some of allow: %s", name, strings.Join(names, ", "))
		}
		b.confirm = append(b.confirm, mcpName(t.MCP, name))
	}
	for _, tool := range list {
		if t.Confirm {
			b.confirm = append(b.confirm, tool.Spec().Name)
		}
	}
}

// keysOf reports keys that another kind of tool has.
func (b *builder) keysOf(path string, t *ToolConfig) {
	v := reflect.ValueOf(*t)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		if kind := t.kind(); !v.Field(i).IsZero() && !slices.Contains(toolKeys[kind], key) {
			b.fault(path+"."+key, "is not a key of %s, which has: %s", kind, strings.Join(toolKeys[kind], ", "))
		}
	}
}

// address checks a URL of the file.
func (b *builder) address(path, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		b.fault(path, "want an http or https URL")
	} else if u.User != nil {
		b.fault(path, "this file may not hold credentials: use headers-env, token-env or token-file")
	}
}

// header returns the headers and the token of a tool.
func (b *builder) header(path string, t *ToolConfig) http.Header {
	h := http.Header{}
	for name, env := range t.HeadersEnv {
		h.Set(name, b.variable(path+".headers-env."+name, env))
	}
	if token := b.token(path, t); token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h
}

// variable returns the value of a variable of the environment, which is a secret.
func (b *builder) variable(path, name string) string {
	v := b.s.Getenv(name)
	if v == "" {
		b.fault(path, "the environment has no %s", name)
	}
	b.secret(v)
	return v
}

// token returns the token that token-env or token-file names.
func (b *builder) token(path string, t *ToolConfig) string {
	token := ""
	switch {
	case t.TokenEnv != "" && t.TokenFile != "":
		b.fault(path+".token-file", "token-env is set too: keep one of them")
		return ""
	case t.TokenEnv != "":
		path += ".token-env"
		token = strings.TrimSpace(b.variable(path, t.TokenEnv))
	case t.TokenFile != "":
		path += ".token-file"
		data, err := files.ReadSecret(b.c.agentFile(t.TokenFile))
		if err != nil {
			b.fault(path, "%w", err)
			return ""
		}
		if token = strings.TrimSpace(string(data)); token == "" {
			b.fault(path, "the file is empty")
		}
	}
	if token == "" {
		return ""
	}
	if err := files.CheckSecret(token); err != nil {
		b.fault(path, "%w", err)
		return ""
	}
	b.secret(token)
	return token
}

func (b *builder) endpoint(path string, t *ToolConfig) []Tool {
	b.address(path+".url", t.URL)
	schema := ""
	if t.Schema != nil {
		schema = string(encode(t.Schema))
	}
	tool := &HTTPTool{
		Name: t.Name, Description: t.Description, Schema: schema, URL: t.URL, Header: b.header(path, t),
		Timeout: t.Timeout, Limit: int64(t.Limit), Repeat: t.Repeat, Prose: t.Prose,
	}
	return b.checked(path, tool)
}

// checked returns tools that a model can be given.
func (b *builder) checked(path string, tools ...Tool) []Tool {
	if _, err := newToolbox(tools); err != nil {
		b.fault(path, "%v", err)
		return nil
	}
	return tools
}

// mcpServer returns the server, without what comes from elsewhere than its entry.
func (t *ToolConfig) mcpServer() MCPServer {
	return MCPServer{
		Name: t.MCP, Command: t.Command, URL: t.URL, Allow: t.Allow, Timeout: t.Timeout, Limit: int64(t.Limit),
		Repeat: t.Repeat, Prose: t.Prose, Resources: t.Resources, Prompts: t.Prompts, Elicitation: t.Elicitation,
	}
}

// mcp returns the tools of an MCP server.
func (b *builder) mcp(path string, t *ToolConfig) []Tool {
	before := len(b.faults)
	if !toolName.MatchString(t.MCP) || len(t.MCP) > maxServerName {
		b.fault(path+".mcp", "%q: want a name of 1 to %d letters, digits, _ or -", t.MCP, maxServerName)
	}
	if (len(t.Command) == 0) == (t.URL == "") {
		b.fault(path, "an MCP server has either a command or a url")
	}
	if t.URL != "" {
		b.address(path+".url", t.URL)
	} else if len(t.HeadersEnv) > 0 || t.TokenEnv != "" || t.TokenFile != "" {
		b.fault(path, "headers and tokens go to a url: give a command its secrets by env")
	}
	if len(t.Allow) == 0 && !t.Resources && !t.Prompts {
		b.fault(path+".allow", "want the names of the tools that the agent may use, or resources or prompts")
	}
	for i, name := range t.Allow {
		if !toolName.MatchString(mcpName(t.MCP, name)) {
			b.fault(fmt.Sprintf("%s.allow[%d]", path, i), "%q: a tool of %s is named %s_NAME, of at most 64 letters, digits, _ or -", name, t.MCP, t.MCP)
		}
		if slices.Contains(t.Allow[:i], name) {
			b.fault(fmt.Sprintf("%s.allow[%d]", path, i), "%q appears twice", name)
		}
	}
	s := t.mcpServer()
	s.Dir, s.Env, s.Header = b.c.agentFile("."), map[string]string{}, b.header(path, t)
	for name, env := range t.Env {
		s.Env[name] = b.variable(path+".env."+name, env)
	}
	if len(b.faults) > before {
		return nil
	}
	if b.s.MCP == nil {
		b.fault(path+".mcp", "MCP servers cannot be used here")
		return nil
	}
	funcs, end, err := b.s.MCP(s)
	if err != nil {
		b.fault(path, "%w", err)
		return nil
	}
	b.closers = append(b.closers, end)
	var tools []Tool
	names := s.Names()
	for i, f := range funcs {
		f.Name, f.Foreign = mcpName(t.MCP, names[i]), true
		f.Timeout, f.Repeat, f.Prose = t.Timeout, t.Repeat, t.Prose
		tools = append(tools, f)
	}
	return b.checked(path, tools...)
}

// remote returns an agent that is reached by A2A.
func (b *builder) remote(path string, t *ToolConfig) []Tool {
	before := len(b.faults)
	b.address(path+".a2a", t.A2A)
	if !toolName.MatchString(t.Name) {
		b.fault(path+".name", "%q: want a name of 1 to 64 letters, digits, _ or -", t.Name)
	}
	r := RemoteAgent{Name: t.Name, Description: t.Description, URL: t.A2A, Token: b.token(path, t), Timeout: t.Timeout, Start: t.Start}
	if t.Start != "" && t.Start != sotto.BeginAuto && t.Start != sotto.BeginOutside {
		b.fault(path+".start", "%q: want auto or outside", string(t.Start))
	}
	if len(b.faults) > before {
		return nil
	}
	if b.s.Remote == nil {
		b.fault(path+".a2a", "agents cannot be reached by A2A here")
		return nil
	}
	tool, err := b.s.Remote(r)
	if err != nil {
		b.fault(path+".a2a", "%w", err)
		return nil
	}
	return b.checked(path, tool)
}

// closeAll closes what a file opened.
func closeAll(list []func() error) error {
	var errs []error
	for _, end := range list {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// OfflineMCP stands for MCP servers where no tool is called, as in a replay: it
// starts and asks nothing. What the model was told of the tools comes from the record.
func OfflineMCP(s MCPServer) ([]*Func, func() error, error) {
	var list []*Func
	for range s.Names() {
		list = append(list, &Func{Do: func(context.Context, Use) (string, error) {
			return "", errors.New("the server is not connected")
		}})
	}
	return list, func() error { return nil }, nil
}
