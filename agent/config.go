package agent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/model"
)

// A Config is an agent's file, or that of an experiment, which is an agent with a
// goal. docs/reference/agent-file.md says what each key means, and which default holds if it is
// left out.
type Config struct {
	V    int    `yaml:"v"`
	Name string `yaml:"name"`

	// Of an agent.
	Description string         `yaml:"description"`
	Version     string         `yaml:"version"`
	Skills      []SkillConfig  `yaml:"skills"`
	System      string         `yaml:"system"`
	Model       ModelConfig    `yaml:"model"`
	Dialect     string         `yaml:"dialect"`
	Start       string         `yaml:"start"`
	Calls       string         `yaml:"calls"`
	Thoughts    ThoughtsConfig `yaml:"thoughts"`
	Memory      []string       `yaml:"memory"`
	// MemoryConfirm names tools of the memory that are called only if a person agrees.
	MemoryConfirm []string      `yaml:"memory-confirm"`
	Tools         []ToolConfig  `yaml:"tools"`
	Previews      bool          `yaml:"previews"`
	Agents        []AgentConfig `yaml:"agents"`
	Limits        LimitsConfig  `yaml:"limits"`
	// Prices is a file of prices, and Currency says in which currency they are.
	Prices   string `yaml:"prices"`
	Currency string `yaml:"currency"`
	// Schedule are tasks that the agent gets by the clock.
	Schedule []ScheduleConfig `yaml:"schedule"`

	// Of an experiment. AgentFile is the file that holds the keys of the agent; if it
	// is empty, this file holds them.
	AgentFile        string `yaml:"agent"`
	Goal             string `yaml:"goal"`
	Cycles           int    `yaml:"cycles"`
	Reflection       string `yaml:"reflection"`
	ReflectionBudget int    `yaml:"reflection-budget"`
	// Heading and Label stand above earlier reflections and before each of them.
	ReflectionHeading string         `yaml:"reflection-heading"`
	ReflectionLabel   string         `yaml:"reflection-label"`
	CarryCalls        string         `yaml:"carry-calls"`
	CarryBudget       int            `yaml:"carry-budget"`
	Advisory          AdvisoryConfig `yaml:"advisory"`
	Operator          OperatorConfig `yaml:"operator"`

	document yamlfile.Document
	folder   string
	data     []byte  // of the file
	agent    *Config // what AgentFile names; nil if it names nothing
}

// A SkillConfig is something that an agent can do, for its A2A card.
type SkillConfig struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Tags        []string `yaml:"tags"`
	Examples    []string `yaml:"examples"`
}

// A ModelConfig says which model to call, and how; see [model.Config].
type ModelConfig struct {
	Provider    string         `yaml:"provider"`
	Name        string         `yaml:"name"`
	URL         string         `yaml:"url"`
	KeyEnv      string         `yaml:"key-env"`
	KeyFile     string         `yaml:"key-file"`
	Script      string         `yaml:"script"`
	Think       string         `yaml:"think"`
	Temperature *float64       `yaml:"temperature"`
	Seed        *int64         `yaml:"seed"`
	MaxTokens   int            `yaml:"max-tokens"`
	Extra       map[string]any `yaml:"extra"`
}

// A ThoughtsConfig says what happens to thoughts in later prompts.
type ThoughtsConfig struct {
	Policy string   `yaml:"policy"`
	Marks  []string `yaml:"marks"`
	Tools  []string `yaml:"tools"`
	Budget int      `yaml:"budget"`
	// Recall gives the agent the tool recall_thoughts; see [Recall].
	Recall       bool     `yaml:"recall"`
	RecallRuns   []string `yaml:"recall-runs"`
	RecallBudget int      `yaml:"recall-budget"`
}

// An AdvisoryConfig says how reflections are compared.
type AdvisoryConfig struct {
	Method    string  `yaml:"method"`
	Model     string  `yaml:"model"`
	Threshold float64 `yaml:"threshold"`
}

// An OperatorConfig says how the operator is reached.
type OperatorConfig struct {
	By     string        `yaml:"by"`
	Listen string        `yaml:"listen"`
	Wait   time.Duration `yaml:"wait"`
}

// An AgentConfig is an agent as a tool; see [Subagent].
type AgentConfig struct {
	Name        string      `yaml:"name"`
	Description string      `yaml:"description"`
	System      string      `yaml:"system"`
	Model       ModelConfig `yaml:"model"`
	Dialect     string      `yaml:"dialect"`
	Start       string      `yaml:"start"`
	Calls       string      `yaml:"calls"`
	Tools       []string    `yaml:"tools"`
	// Agents names agents of the file that it may call.
	Agents  []string     `yaml:"agents"`
	Confirm bool         `yaml:"confirm"`
	Limits  LimitsConfig `yaml:"limits"`
}

// Dependencies provide what an experiment's file refers to.
type Dependencies struct {
	Getenv func(string) string
	// Dialect returns a dialect's grammar by its name; if nil, [sotto.Named].
	Dialect func(name string) (*sotto.Grammar, error)
	// Open opens a model; if nil, [model.Open], or the script of [Example].
	Open func(model.Config) (model.Model, error)
	// Operator returns the operator of a file. If nil, there is no operator.
	Operator func(OperatorConfig) Operator
	// MCP returns a tool for each of [MCPServer.Names], in that order, and a function
	// that ends the connection. If nil, a file with an MCP server has a fault.
	MCP func(MCPServer) (tools []*Func, end func() error, err error)
	// Remote returns an agent that is reached by A2A, as a tool. If nil, a file with one
	// has a fault.
	Remote func(RemoteAgent) (Tool, error)
}

// Experiment makes the experiment that a file describes. If the file has faults,
// the error is a [*ConfigError] with all of them and their lines.
func (c *Config) Experiment(s Dependencies) (Experiment, error) {
	b := c.builder(s)
	x := b.experiment()
	return x, b.err()
}

func (c *Config) builder(s Dependencies) *builder {
	b := &builder{c: c, s: s}
	if s.Getenv == nil {
		b.s.Getenv = os.Getenv
	}
	if s.Dialect == nil {
		b.s.Dialect = sotto.Named
	}
	if s.Open == nil {
		b.s.Open = openModel
	}
	return b
}

// A builder makes an experiment, and collects the faults of its file.
type builder struct {
	c       *Config
	s       Dependencies
	faults  []yamlfile.Fault
	secrets []string
	confirm []string // names of tools
	closers []func() error
	opened  []model.Model // that answer
}

func (b *builder) fault(path string, format string, args ...any) {
	b.faults = append(b.faults, yamlfile.Fault{Place: b.c.placeOf(path), Key: path, Err: fmt.Errorf(format, args...)})
}

// err returns the faults as one error, or nil. If there are any, it closes what was
// opened.
func (b *builder) err() error {
	if len(b.faults) == 0 {
		return nil
	}
	_ = closeAll(b.closers)
	return configError(b.faults)
}

func (b *builder) experiment() Experiment {
	c := b.c
	x := Experiment{
		Name: c.Name, System: c.System, Goal: c.Goal, Cycles: c.Cycles, Start: sotto.Beginning(c.Start), Calls: CallMode(c.Calls),
		Policy: Policy(c.Thoughts.Policy), DecisionMarks: c.Thoughts.Marks, DecisionTools: c.Thoughts.Tools, ThoughtBudget: c.Thoughts.Budget,
		ReflectionBudget: c.ReflectionBudget, ReflectionHeading: c.ReflectionHeading, ReflectionLabel: c.ReflectionLabel,
		Recall:     Recall{c.Thoughts.Recall, c.Thoughts.RecallRuns, c.Thoughts.RecallBudget},
		CarryCalls: CarryMode(c.CarryCalls), CarryBudget: c.CarryBudget, Template: c.Reflection == "template", Limits: c.Limits.limits(),
		Advisory: Advisory{Off: c.Advisory.Method == "off", Threshold: c.Advisory.Threshold}, Wait: c.Operator.Wait,
	}
	if err := checkName(c.Name); err != nil {
		b.fault("name", "%w", err)
	}
	b.among("calls", c.Calls, "native", "text", "both")
	b.among("thoughts.policy", c.Thoughts.Policy, "strip", "keep", "selective", "summary", "retrieve")
	b.among("reflection", c.Reflection, "text", "template")
	b.among("carry-calls", c.CarryCalls, "none", "last", "all")
	b.among("advisory.method", c.Advisory.Method, "auto", "lexical", "embedding", "off")
	b.among("operator.by", c.Operator.By, "none", "terminal", "inbox")
	b.counts()
	x.Model, x.API, x.Request = b.model("model", c.Model)
	b.opens(x.Model)
	x.Grammar = b.grammar("dialect", c.Dialect, c.Start, x.Model)
	x.Embedder = b.embedder(x.Model)
	x.Memory = b.memory()
	if b.s.Operator != nil && c.Operator.By != "" && c.Operator.By != "none" {
		x.Operator = b.s.Operator(c.Operator)
	}
	for i := range c.Tools {
		x.Tools = append(x.Tools, b.tools(fmt.Sprintf("tools[%d]", i), &c.Tools[i])...)
	}
	x.Agents = b.agents(x.Model)
	b.names(&x)
	b.schedules()
	x.Settings, x.Secrets, x.Confirm, x.closers = c.settings(), b.secrets, b.confirm, b.closers
	b.prices(&x)
	return x
}

// counts reports numbers that are out of their range.
func (b *builder) counts() {
	c := b.c
	for path, n := range map[string]int{"cycles": c.Cycles, "reflection-budget": c.ReflectionBudget, "carry-budget": c.CarryBudget, "thoughts.budget": c.Thoughts.Budget} {
		if n < 0 {
			b.fault(path, "want a number from 1")
		}
	}
	if key, err := (Recall{c.Thoughts.Recall, c.Thoughts.RecallRuns, c.Thoughts.RecallBudget}).check(Policy(c.Thoughts.Policy)); err != nil {
		b.fault("thoughts."+key, "%w", err)
	}
	if err := checkHeading(c.ReflectionHeading); err != nil {
		b.fault("reflection-heading", "%w", err)
	}
	if err := checkLabel(c.ReflectionLabel); err != nil {
		b.fault("reflection-label", "%w", err)
	}
	if c.Cycles > 100000 {
		b.fault("cycles", "want 100000 at most")
	}
	if t := c.Advisory.Threshold; t < 0 || t > 1 {
		b.fault("advisory.threshold", "want a number between 0 and 1")
	}
	if c.Operator.Wait < 0 {
		b.fault("operator.wait", "want a time such as 30s, or 0 for no wait")
	}
	if address := c.Operator.Listen; address != "" {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			b.fault("operator.listen", "%q: want a loopback address with a port, such as 127.0.0.1:8387", address)
		}
	}
	b.limits("limits", c.Limits)
}

func (b *builder) among(path, value string, values ...string) {
	if value != "" && !slices.Contains(values, value) {
		b.fault(path, "%q: want %s", value, strings.Join(values, ", "))
	}
}

func (b *builder) model(path string, m ModelConfig) (model.Model, string, model.Request) {
	q := model.Request{MaxTokens: m.MaxTokens, Temperature: m.Temperature, Seed: m.Seed, Think: m.Think}
	b.among(path+".provider", m.Provider, "scripted", "ollama", "openai", "anthropic")
	b.among(path+".think", m.Think, "true", "false", "low", "medium", "high")
	if m.Provider == "" {
		b.fault(path, "want a provider: scripted, ollama, openai or anthropic")
		return nil, "", q
	}
	mc := model.Config{Provider: m.Provider, Model: m.Name, URL: m.URL, Script: b.c.agentFile(m.Script)}
	if m.Extra != nil {
		mc.Extra = encode(m.Extra)
	}
	if m.KeyEnv != "" {
		if mc.Key = model.Secret(b.s.Getenv(m.KeyEnv)); mc.Key == "" {
			b.fault(path+".key-env", "the environment has no variable with this name")
		}
	}
	if m.KeyFile != "" {
		var err error
		if mc.Key, err = b.keyFile(m); err != nil {
			b.fault(path+".key-file", "%w", err)
			return nil, "", q
		}
	}
	b.secret(string(mc.Key))
	client, err := b.s.Open(mc)
	if err != nil {
		b.fault(path, "%s", strings.TrimPrefix(err.Error(), "model: "))
		return nil, "", q
	}
	return client, model.API(m.Provider), q
}

// keyFile reads the key of a model.
func (b *builder) keyFile(m ModelConfig) (model.Secret, error) {
	if m.KeyEnv != "" {
		return "", errors.New("key-env is set too: keep one of them")
	}
	data, err := files.ReadSecret(b.c.agentFile(m.KeyFile))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", errors.New("the file is empty")
	}
	return model.Secret(key), nil
}

// secret notes a value that no record may hold. A header has its secret after the
// name of a scheme, such as Bearer.
func (b *builder) secret(value string) {
	if value == "" {
		return
	}
	b.secrets = append(b.secrets, value)
	if _, after, ok := strings.Cut(value, " "); ok {
		b.secrets = append(b.secrets, after)
	}
}

func (b *builder) grammar(path, name, start string, m model.Model) *sotto.Grammar {
	var g *sotto.Grammar
	switch {
	case name != "":
		var err error
		if g, err = b.s.Dialect(name); err != nil {
			b.fault(path, "%v", err)
			return nil
		}
	case m != nil:
		g, _ = sotto.ForModel(m.Name())
	default:
		return nil
	}
	if _, err := g.NewSplitter(sotto.Options{Start: sotto.Beginning(start)}); err != nil {
		b.fault(strings.TrimSuffix(path, "dialect")+"start", "%v", err)
	}
	return g
}

func (b *builder) embedder(m model.Model) model.Embedder {
	a := b.c.Advisory
	if a.Method == "lexical" || a.Method == "off" || a.Method == "" && a.Model == "" {
		return nil
	}
	if a.Model != "" {
		mc := b.c.Model
		mc.Name = a.Model
		m, _, _ = b.model("advisory.model", mc)
	}
	e, ok := m.(model.Embedder)
	if !ok && a.Method == "embedding" {
		b.fault("advisory.method", "this model's API has no embeddings: want lexical, or a provider that has them")
	}
	return e
}

func (b *builder) memory() []string {
	some := func(key string, list, of []string) {
		for i, name := range list {
			if !slices.Contains(of, name) {
				b.fault(fmt.Sprintf("%s[%d]", key, i), "%q: want some of %s", name, strings.Join(of, ", "))
			}
		}
	}
	list := b.c.Memory
	if list == nil {
		list = AllMemory()
	}
	some("memory", list, AllMemory())
	some("memory-confirm", b.c.MemoryConfirm, list)
	b.confirm = append(b.confirm, b.c.MemoryConfirm...)
	return list
}

// names reports names of tools that are listed twice, and names that no tool has.
func (b *builder) names(x *Experiment) {
	names := slices.Clone(x.Memory)
	if b.c.Operator.By != "" && b.c.Operator.By != "none" {
		names = append(names, operatorName)
	}
	take := func(path, name string) {
		if slices.Contains(names, name) {
			b.fault(path, "%q: another tool has this name", name)
		}
		names = append(names, name)
	}
	for i, t := range b.c.Tools {
		if t.MCP == "" {
			take(fmt.Sprintf("tools[%d].name", i), t.Name)
			continue
		}
		for j, name := range t.Allow {
			take(fmt.Sprintf("tools[%d].allow[%d]", i, j), mcpName(t.MCP, name))
		}
	}
	given := slices.Clone(names)
	for i, a := range b.c.Agents {
		take(fmt.Sprintf("agents[%d].name", i), a.Name)
		for j, name := range a.Tools {
			switch {
			case name == recallName && b.c.Thoughts.Recall:
				b.fault(fmt.Sprintf("agents[%d].tools[%d]", i, j), "%q: an agent that is called does not get the thoughts of this one", name)
			case !slices.Contains(given, name):
				b.fault(fmt.Sprintf("agents[%d].tools[%d]", i, j), "%q: there is no such tool%s", name, insteadOf(name, given))
			}
		}
	}
	if b.c.Thoughts.Recall && slices.Contains(names, recallName) {
		b.fault("thoughts.recall", "another tool has the name %s", recallName)
	}
}

// A Fault is one thing that is wrong in a file, and where.
type Fault struct {
	File         string
	Line, Column int    // counted from 1; 0 for the file as a whole
	Key          string // its path, such as "tools[0].name", or ""
	Err          error
}

// Error returns "FILE:LINE:COLUMN: KEY: what is wrong".
func (f Fault) Error() string {
	return yamlfile.Fault{Place: yamlfile.Place{File: f.File, Line: f.Line, Column: f.Column}, Key: f.Key, Err: f.Err}.Error()
}

func (f Fault) Unwrap() error { return f.Err }

// A ConfigError lists all that is wrong in an experiment's file.
type ConfigError struct{ Faults []Fault }

func configError(faults []yamlfile.Fault) *ConfigError {
	e := &ConfigError{}
	for _, f := range faults {
		e.Faults = append(e.Faults, Fault{f.File, f.Line, f.Column, f.Key, f.Err})
	}
	return e
}

func (e *ConfigError) Error() string {
	var list []error
	for _, f := range e.Faults {
		list = append(list, f)
	}
	return errors.Join(list...).Error()
}
