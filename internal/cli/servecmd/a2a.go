package servecmd

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/settings"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// a2aFlags are the flags of the A2A server beside the gateway.
type a2aFlags struct {
	A2A          toggle   `name:"a2a" negatable:"" setting:"SOTTO_A2A" help:"Serve an A2A agent too, on the same address. Its card is at /.well-known/agent-card.json. The guide is docs/a2a.md."`
	A2AModel     string   `name:"a2a-model" placeholder:"NAME" setting:"SOTTO_A2A_MODEL" help:"The upstream's model that answers."`
	A2AAPI       string   `name:"a2a-api" placeholder:"API" setting:"SOTTO_A2A_API" help:"The upstream's API: openai, ollama, anthropic (openai)."`
	A2ASystem    string   `name:"a2a-system" placeholder:"TEXT" setting:"SOTTO_A2A_SYSTEM" help:"Its system message."`
	A2AAgent     string   `name:"a2a-agent" placeholder:"FILE" setting:"SOTTO_A2A_AGENT" help:"Answer with the model and the tools of an agent's file, as in sotto run, instead of a model of the upstream."`
	A2AName      string   `name:"a2a-name" placeholder:"NAME" setting:"SOTTO_A2A_NAME" help:"The agent's name on its card (the model's)."`
	A2AURL       string   `name:"a2a-url" placeholder:"URL" setting:"SOTTO_A2A_URL" help:"The agent's public URL, for its card (the address of the request)."`
	A2AReasoning toggle   `name:"a2a-reasoning" negatable:"" setting:"SOTTO_A2A_REASONING" help:"Send the model's reasoning to clients that ask for it, in marked parts of status updates."`
	A2APushTo    []string `name:"a2a-push-to" placeholder:"PREFIX" help:"Allow push notifications to these private addresses, such as 10.1.0.0/16; repeatable."`
}

// scriptedMind is the model of the scripted upstream that answers.
const scriptedMind = "minimax-m2"

// answerA2A puts an A2A server before the gateway on its address, if one is
// configured. leave closes it.
func (c *Command) answerA2A(s *settings.Setup, who *agent.Agent, at addresses, v *server, kept *record.Writer, log *slog.Logger) (leave func() error, err error) {
	none := func() error { return nil }
	if on, err := c.wanted(); !on || err != nil {
		return none, err
	}
	config, err := c.a2aConfig(s, who, at)
	if err != nil {
		return none, err
	}
	config.Logger, config.Record = log, kept
	a, err := a2aserver.New(config)
	if err != nil {
		return none, err
	}
	gateway := v.http.Handler
	v.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a2aserver.IsProtocolPath(r.URL.Path) {
			a.ServeHTTP(w, r)
			return
		}
		gateway.ServeHTTP(w, r)
	})
	log.Info("the agent is up", "card", at.gateway.JoinPath(".well-known", "agent-card.json").String(), "name", config.Card.Name)
	return a.Close, nil
}

// checkA2A adds the faults in the settings of the A2A server, as far as they can be
// found before anything is opened. Faults in other settings take precedence.
func (c *Command) checkA2A(sh *shell.Shell, s *settings.Setup) {
	on, err := c.wanted()
	if on && len(s.Faults) == 0 {
		at := addresses{upstream: s.Upstream, scripted: s.Upstream == nil}
		if at.scripted {
			at.upstream = &url.URL{Scheme: "http", Host: "localhost"}
		}
		err = c.checkMind(sh, s, at)
	}
	if err != nil {
		s.Faults = append(s.Faults, &settings.Fault{Err: err})
	}
}

func (c *Command) checkMind(sh *shell.Shell, s *settings.Setup, at addresses) error {
	who, err := c.a2aAgent(sh, s)
	if err != nil {
		return err
	}
	config, err := c.a2aConfig(s, who, at)
	if err != nil {
		return err
	}
	return config.Check()
}

// wanted reports whether to run an agent. A setting of the agent is a mistake if no
// flag enables the agent, but not if --no-a2a disables it.
func (f *a2aFlags) wanted() (bool, error) {
	if f.A2A != "" {
		return f.A2A.on("--a2a")
	}
	for _, s := range []struct {
		flag string
		said bool
	}{
		{"--a2a-model", f.A2AModel != ""},
		{"--a2a-api", f.A2AAPI != ""},
		{"--a2a-system", f.A2ASystem != ""},
		{"--a2a-agent", f.A2AAgent != ""},
		{"--a2a-name", f.A2AName != ""},
		{"--a2a-url", f.A2AURL != ""},
		{"--a2a-reasoning", f.A2AReasoning != ""},
		{"--a2a-push-to", len(f.A2APushTo) > 0},
	} {
		if s.said {
			return false, hint.Usage(fmt.Errorf("%s: no A2A agent is served", s.flag), "add --a2a to serve one, or --no-a2a to ignore the setting")
		}
	}
	return false, nil
}

// on reads a toggle that has no other source than its flag.
func (t toggle) on(flag string) (bool, error) {
	switch t {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, hint.Usage(fmt.Errorf("%s: %q: want true or false", flag, string(t)), `run "sotto serve --help"`)
}

func (c *Command) a2aConfig(s *settings.Setup, who *agent.Agent, at addresses) (a2aserver.Config, error) {
	config := a2aserver.Config{
		Card:   a2aserver.Card{Name: c.A2AName, URL: c.A2AURL},
		Public: s.Gateway.Public, Insecure: s.InsecurePublic, AllowHosts: s.Gateway.AllowHosts, AllowOrigins: s.Gateway.AllowOrigins,
		Tokens: s.Tokens(),
	}
	if s.Gateway.Data != "" {
		config.File = filepath.Join(s.Gateway.Data, "a2a.db")
	}
	var err error
	if config.Reasoning, err = c.A2AReasoning.on("--a2a-reasoning"); err != nil {
		return config, err
	}
	for _, text := range c.A2APushTo {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return config, hint.Usage(fmt.Errorf("--a2a-push-to: %q is not a range of addresses such as 10.1.0.0/16", text), "")
		}
		config.PushTo = append(config.PushTo, p)
	}
	if who != nil {
		c.agentMind(who, &config)
		return config, nil
	}
	return config, c.chatMind(s, at, &config)
}

// chatMind lets a model of the upstream answer.
func (c *Command) chatMind(s *settings.Setup, at addresses, config *a2aserver.Config) error {
	name := c.A2AModel
	if name == "" && at.scripted {
		name = scriptedMind
	}
	if name == "" {
		return hint.Usage(errors.New("--a2a: no model was named"), "name one of the upstream's models with --a2a-model, or give an agent's file with --a2a-agent")
	}
	m, err := model.Open(model.Config{
		Provider: cmp.Or(c.A2AAPI, "openai"), Model: name, URL: at.upstream.String(), Key: model.Secret(s.UpstreamKey.Text),
	})
	if err != nil {
		return hint.Usage(fmt.Errorf("--a2a: %w", err), "")
	}
	mind := &a2aserver.ChatMind{Model: m, System: c.A2ASystem, Start: s.Gateway.Default.Start}
	if d := s.Gateway.Default.Dialect; d != "" {
		if mind.Grammar, err = s.Gateway.Named(d); err != nil {
			return err
		}
	} else {
		mind.Grammar, _ = s.Gateway.ForModel(name)
	}
	config.Card.Name = cmp.Or(config.Card.Name, name)
	config.Mind = mind
	return nil
}

// agentMind lets an agent answer, with the tools of its file and a tool to ask the
// user.
func (c *Command) agentMind(a *agent.Agent, config *a2aserver.Config) {
	config.Card.Name = cmp.Or(config.Card.Name, a.Name)
	config.Card.Description, config.Card.Version = a.Description, a.Version
	for i, s := range a.Skills {
		skill := a2a.AgentSkill{ID: fmt.Sprintf("skill-%d", i+1), Name: s.Name, Description: cmp.Or(s.Description, s.Name), Tags: s.Tags, Examples: s.Examples}
		if len(skill.Tags) == 0 { // the protocol requires one
			skill.Tags = []string{"chat"}
		}
		config.Card.Skills = append(config.Card.Skills, skill)
	}
	config.Mind = &a2aserver.AgentMind{System: cmp.Or(c.A2ASystem, a.System), Turn: a.Turn}
}

// a2aAgent reads the file of the agent that answers A2A. It returns nil if the flags
// name none.
func (c *Command) a2aAgent(sh *shell.Shell, s *settings.Setup) (*agent.Agent, error) {
	if on, err := c.wanted(); !on || err != nil || c.A2AAgent == "" {
		return nil, err
	}
	a, err := readAgent(c.A2AAgent, sh, s)
	if err != nil {
		return nil, fmt.Errorf("--a2a-agent: %w", err)
	}
	a.Turn.Tools = append(a.Turn.Tools, a2aserver.AskCaller())
	return a, nil
}
