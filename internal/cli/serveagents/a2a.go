package serveagents

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/agentpart"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/console/a2atasks"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/serve/databackup"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// scriptedMind is the model of the scripted upstream that answers.
const scriptedMind = "minimax-m2"

// An a2aAgent is one agent that answers A2A. The path of the one that answers at the
// root may be that of its own.
type a2aAgent struct {
	path   string // before those of the protocol: "" or /agents/NAME
	root   bool   // it answers without the path too
	file   string // the name of the file of its tasks
	config a2aserver.Config
}

// An upstream is the model server of a gateway.
type upstream struct {
	url      *url.URL
	scripted bool
}

// agentPath is what the paths of agents of files begin with.
const agentPath = "/agents/"

// Answer puts the A2A servers before the gateway on its address, if any are
// configured. leave closes them.
func (a *agents) Answer(at *agentpart.Front) (leave func() error, err error) {
	s := at.Settings
	list, fault := a.a2aAgents(s, upstream{at.Upstream, at.Scripted})
	if fault != nil {
		return func() error { return nil }, fault
	}
	front := a2aFront{by: map[string]*a2aserver.Server{}}
	var first *a2aserver.Server
	copies := map[string]func(io.Writer) error{}
	for _, one := range list {
		one.config.Logger, one.config.Record, one.config.Beside = at.Log, at.Record, first
		if at.Shared != nil {
			if one.config.Shared, err = transact.New(at.Shared, s.Gateway.SharedSecret, "tasks: "+one.file, transact.Limits{}); err != nil {
				return front.close, err
			}
		}
		server, err := a2aserver.New(one.config)
		if err != nil {
			return front.close, err
		}
		first = cmp.Or(first, server)
		at.Follow(
			func(s *settings.Setup) error { return server.CheckTokens(s.Tokens()) },
			func(tokens []gateway.Token) { _ = server.SetTokens(tokens) }, // the check has found them right
		)
		front.servers = append(front.servers, server)
		front.by[one.path] = server
		if one.root {
			front.by[""] = server
		}
		if one.config.File != "" && at.Shared == nil {
			copies[filepath.Base(one.config.File)] = server.CopyTasks
		}
		at.Log.Info("the agent is up", "card", at.URL.JoinPath(one.path, ".well-known", "agent-card.json").String(), "name", one.config.Card.Name)
	}
	if len(list) > 0 {
		at.Tasks = a2atasks.Of(front.servers...)
		serving.Wrap(at.Server, func(next http.Handler) http.Handler {
			front.next = next
			return &front
		})
	}
	if len(copies) > 0 {
		stop, err := databackup.Serve(s.Gateway.Data, copies)
		if err != nil {
			at.Log.Warn("sotto data backup cannot copy the tasks while this gateway runs", "error", err.Error())
		} else {
			front.stopCopies = stop
		}
	}
	return front.close, nil
}

// An a2aFront gives requests of the protocol to the agents that they are for, and all
// others to the gateway.
type a2aFront struct {
	servers []*a2aserver.Server
	by      map[string]*a2aserver.Server // by the path; "" is the root
	next    http.Handler

	stopCopies func() // of the tasks, for backups; nil if none are given
}

func (f *a2aFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, rest := "", r.URL.Path
	if below, ok := strings.CutPrefix(rest, agentPath); ok {
		name, _, _ := strings.Cut(below, "/")
		path, rest = agentPath+name, below[len(name):]
	}
	if s := f.by[path]; s != nil && a2aserver.IsProtocolPath(rest) {
		http.StripPrefix(path, s).ServeHTTP(w, r)
		return
	}
	if path == besideAgents && a2aserver.IsProtocolPath(r.URL.Path[len(agentPath)-1:]) {
		f.beside(w, r)
		return
	}
	f.next.ServeHTTP(w, r)
}

// besideAgents is where a client looks for a card that takes it to stand beside the address
// that it was given, as a relative link does. The JavaScript SDK looks there if the address has
// no slash at its end.
const besideAgents = agentPath + ".well-known"

// beside answers such a client: with the card if there is one agent, otherwise with the address
// that it needs.
func (f *a2aFront) beside(w http.ResponseWriter, r *http.Request) {
	var only *a2aserver.Server
	for path, s := range f.by {
		if path == "" {
			continue
		}
		if only != nil {
			http.Error(w, "The path does not say which agent is meant. Give the client an address with a slash at its end: "+agentPath+"NAME/", http.StatusNotFound)
			return
		}
		only = s
	}
	if only == nil {
		f.next.ServeHTTP(w, r)
		return
	}
	http.StripPrefix(strings.TrimSuffix(agentPath, "/"), only).ServeHTTP(w, r)
}

// close closes the servers, the first one last: the others share its limits.
func (f *a2aFront) close() error {
	if f.stopCopies != nil {
		f.stopCopies() // before the files are closed
	}
	var all []error
	for _, s := range slices.Backward(f.servers) {
		all = append(all, s.Close())
	}
	return errors.Join(all...)
}

// checkA2A adds the faults in the settings of the A2A servers, as far as they can be
// found before anything is opened. Faults in other settings take precedence.
func checkA2A(sh *shell.Shell, s *settings.Setup) {
	if len(s.Faults) > 0 || !s.A2A.On {
		return
	}
	at := upstream{s.Upstream, s.Upstream == nil}
	if at.scripted {
		at.url = &url.URL{Scheme: "http", Host: "localhost"}
	}
	all, err := agentsOf(sh, s)
	if f, ok := errors.AsType[*settings.Fault](err); ok {
		s.Faults = append(s.Faults, f)
		return
	} else if err != nil {
		s.Faults = append(s.Faults, &settings.Fault{Err: err})
		return
	}
	list, fault := all.a2aAgents(s, at)
	if fault != nil {
		s.Faults = append(s.Faults, fault)
	}
	for _, one := range list {
		if err := one.config.Check(); err != nil {
			s.Faults = append(s.Faults, s.FaultAt("a2a", err))
		}
	}
}

// a2aAgents are the agents that answer A2A. At the root answers the one of
// --a2a-agent or a model of the upstream. If the settings name neither, and there are
// agents of files, the first of these answers there.
func (all *agents) a2aAgents(s *settings.Setup, at upstream) ([]a2aAgent, *settings.Fault) {
	if !s.A2A.On {
		return nil, nil
	}
	var list []a2aAgent
	own := all.a2a != nil || s.A2A.Model != "" || len(all.served) == 0
	if own {
		config := a2aConfig(s, "a2a.db")
		if all.a2a != nil {
			agentMind(all.a2a, &config)
		} else if fault := chatMind(s, at, &config); fault != nil {
			return nil, fault
		}
		config.Card.Name = cmp.Or(s.A2A.Name, config.Card.Name)
		list = append(list, a2aAgent{root: true, file: "a2a.db", config: config})
	}
	for i, a := range all.served {
		path := agentPath + a.Name
		file := "a2a-" + url.QueryEscape(a.Name) + ".db"
		config := a2aConfig(s, file)
		config.Path = path
		agentMind(a, &config)
		root := i == 0 && !own
		if root {
			config.Card.Name = cmp.Or(s.A2A.Name, config.Card.Name)
		}
		list = append(list, a2aAgent{path: path, root: root, file: file, config: config})
	}
	return list, nil
}

// a2aConfig is what all agents have in common. Their requests may hold a quarter of
// the memory for exchanges, and the gateway the rest.
func a2aConfig(s *settings.Setup, file string) a2aserver.Config {
	config := a2aserver.Config{
		Card:   a2aserver.Card{URL: s.A2A.URL},
		Public: s.Gateway.Public, Insecure: s.ServesOthers() || s.TLS.ClientCA != "", AllowHosts: s.Hosts(), AllowOrigins: s.Gateway.AllowOrigins,
		Tokens: s.Tokens(), Closed: s.Guarded(), Reasoning: s.A2A.Reasoning,
		Limits: a2aserver.Limits{MemoryBytes: s.A2AMemory()},
	}
	if s.Gateway.Data != "" {
		config.File = filepath.Join(s.Gateway.Data, file)
	}
	for _, text := range s.A2A.PushTo {
		config.PushTo = append(config.PushTo, netip.MustParsePrefix(text)) // checked with the settings
	}
	return config
}

// chatMind lets a model of the upstream answer.
func chatMind(s *settings.Setup, at upstream, config *a2aserver.Config) *settings.Fault {
	name := s.A2A.Model
	if name == "" && at.scripted {
		name = scriptedMind
	}
	if name == "" {
		return s.FaultAt("a2a", errorhint.Usage(errors.New("no model was named"), "name one of the upstream's models with --a2a-model, or give an agent's file with --a2a-agent or --agent"))
	}
	if api := s.Gateway.UpstreamAPI; !at.scripted && !speaks(api, s.A2A.API) {
		hint := "leave one of the two settings out, or answer with an agent's file: --a2a-agent"
		if s.Said("a2a-api") {
			return s.FaultAt("a2a-api", errorhint.Usage(fmt.Errorf("the model would be asked in the API %s, and the upstream speaks %s (upstream-api)", s.A2A.API, api), hint))
		}
		return s.FaultAt("upstream-api", errorhint.Usage(fmt.Errorf("a model that answers A2A is asked in chat, messages or ollama, and not in %s", api), hint))
	}
	m, err := model.Open(model.Config{
		Provider: s.A2A.API, Model: name, URL: at.url.String(), Key: model.Secret(s.UpstreamKey.Text),
	})
	if err != nil {
		return s.FaultAt("a2a", errorhint.Usage(err, ""))
	}
	mind := &a2aserver.ChatMind{Model: m, System: s.A2A.System, Start: s.Gateway.Default.Start}
	if d := s.Gateway.Default.Dialect; d != "" {
		if mind.Grammar, err = s.Gateway.Named(d); err != nil {
			return s.FaultAt("dialect", err)
		}
	} else {
		mind.Grammar, _ = s.Gateway.ForModel(name)
	}
	config.Card.Name, config.Mind = name, mind
	return nil
}

// speaks reports whether a server of the API upstream can be asked in another: in its own, and in those of the same
// provider. Nothing is known of a server without upstream-api.
func speaks(upstream, as string) bool {
	has, ok := providers.Named(upstream)
	if !ok {
		return true
	}
	return slices.ContainsFunc(providers.All(), func(p *wire.Provider) bool {
		return p.Has(has) && slices.ContainsFunc(p.Codecs, func(c wire.Codec) bool { return c.Name() == model.API(as) })
	})
}

// agentMind lets an agent answer, with the tools of its file and a tool to ask the
// user.
func agentMind(a *agent.Agent, config *a2aserver.Config) {
	config.Card.Name, config.Card.Description, config.Card.Version = a.Name, a.Description, a.Version
	for i, s := range a.Skills {
		skill := a2a.AgentSkill{ID: fmt.Sprintf("skill-%d", i+1), Name: s.Name, Description: cmp.Or(s.Description, s.Name), Tags: s.Tags, Examples: s.Examples}
		if len(skill.Tags) == 0 { // the protocol requires one
			skill.Tags = []string{"chat"}
		}
		config.Card.Skills = append(config.Card.Skills, skill)
	}
	turn := a.Turn
	turn.Tools = append(slices.Clip(turn.Tools), a2aserver.AskCaller())
	config.Previews = a.Previews
	config.Mind = &a2aserver.AgentMind{System: a.System, Turn: turn}
}

// rootAgent reads the file of the agent that answers A2A at the root. It returns nil
// if the settings name none.
func rootAgent(sh *shell.Shell, s *settings.Setup) (*agent.Agent, error) {
	if !s.A2A.On || s.A2A.Agent == "" {
		return nil, nil
	}
	a, err := readAgent(s.A2A.Agent, sh, s)
	if err != nil {
		return nil, s.FaultAt("a2a-agent", err)
	}
	a.System = cmp.Or(s.A2A.System, a.System)
	return a, nil
}
