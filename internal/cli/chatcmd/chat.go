// Package chatcmd has the command that is a conversation on the terminal.
package chatcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/agents/agentfile"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// Command is a conversation on the terminal.
type Command struct {
	Agent     string `short:"a" placeholder:"FILE" xor:"who" help:"The agent's file (YAML). Without it and --model, a scripted agent answers."`
	Model     string `short:"m" placeholder:"NAME" xor:"who" help:"The name of a model on its server."`
	Provider  string `default:"ollama" enum:"ollama,openai,anthropic" placeholder:"API" help:"The model's API: ollama, openai (which many servers speak), anthropic (${default})."`
	URL       string `name:"url" placeholder:"URL" setting:"SOTTO_MODEL_URL" help:"The model's server."`
	KeyFile   string `name:"key-file" placeholder:"FILE" setting:"SOTTO_MODEL_KEY_FILE" help:"The API key."`
	Name      string `short:"n" placeholder:"NAME" help:"The conversation's name. If there is one of that name, it is resumed."`
	Reasoning string `default:"line" enum:"show,line,hide" placeholder:"HOW" help:"What you see of thoughts: show (all), line (their size and time), hide (${default})."`
	Data      string `placeholder:"DIR" setting:"SOTTO_DATA_DIR" help:"The folder for data that is kept (the XDG state folder). Conversations are in its folder chats."`

	recording.Settings
}

// Help shows examples.
func (Command) Help() string {
	return `What the agent says appears as it becomes certain. Thoughts are one line with their size and time, narration is a status line, and calls of tools are listed. Ctrl-C stops a reply and keeps the conversation. In a pipe, each line of standard input is a message, and standard output has the answers only.

/retry asks again, /thoughts shows what the last reply thought, /save FILE writes the conversation, /help lists the commands, /quit ends. The guide is docs/reference/agent-file.md.

Examples:

    sotto chat
    sotto chat --model qwen3:8b
    sotto chat --agent agent.yaml --name holidays
    echo "Was 2000 a leap year?" | sotto chat`
}

// A chat is a conversation in progress.
type chat struct {
	*Command
	sh      *shell.Shell
	agent   *agent.Agent
	kept    *conversation.File
	memory  *agent.Memory
	record  *record.Writer
	screen  *screen
	signals chan os.Signal
	lines   chan string
	ended   chan error // gets why the lines end
	failed  bool
}

// Run talks until standard input ends.
func (c *Command) Run(sh *shell.Shell, names *dialectset.Set) (err error) {
	x := &chat{Command: c, sh: sh, screen: newScreen(sh, c.Reasoning), signals: make(chan os.Signal, 1)}
	if x.agent, err = c.agent(sh, names); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.agent.Close()) }()
	if err := x.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	signal.Notify(x.signals, os.Interrupt)
	defer signal.Stop(x.signals)
	return x.talk()
}

// agent opens the agent of the flags.
func (c *Command) agent(sh *shell.Shell, names *dialectset.Set) (*agent.Agent, error) {
	if c.Model != "" {
		return c.model(names)
	}
	config := agent.ExampleAgent()
	if c.Agent != "" {
		var err error
		if config, err = agent.ReadConfig(c.Agent); err != nil {
			return nil, faulty(sh, c.Agent, err)
		}
	}
	if p := agent.Policy(config.Thoughts.Policy); p != "" && p != agent.Strip {
		sh.Hintf("thoughts.policy: %s is for runs: here no thought of an earlier message returns to the model", p)
	}
	a, err := config.Agent(agentfile.Dependencies(sh.Getenv, func(name string) (*sotto.Grammar, error) { return names.Named(name) }))
	if err == nil {
		if err = a.Check(true); err != nil {
			_ = a.Close()
		}
	}
	if err != nil {
		return nil, faulty(sh, config.File(), err)
	}
	return a, nil
}

// model opens an agent that is only a model.
func (c *Command) model(names *dialectset.Set) (*agent.Agent, error) {
	key := ""
	if c.KeyFile != "" {
		data, err := files.ReadSecret(c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--key-file: %w", err)
		}
		key = strings.TrimSpace(string(data))
	}
	m, err := model.Open(model.Config{Provider: c.Provider, Model: c.Model, URL: c.URL, Key: model.Secret(key)})
	if err != nil {
		return nil, errorhint.Usage(err, "")
	}
	g, _ := names.ForModel(c.Model)
	return &agent.Agent{Name: c.Model, Secrets: []string{key}, Turn: agent.Turn{Model: m, API: model.API(c.Provider), Grammar: g}}, nil
}

// faulty reports the faults of a file, line by line.
func faulty(sh *shell.Shell, name string, err error) error {
	faults, ok := errors.AsType[*agent.ConfigError](err)
	if !ok {
		return fmt.Errorf("agent %s: %w", name, files.Cause(err))
	}
	for _, f := range faults.Faults {
		fmt.Fprintln(sh.Err, f)
	}
	return errorhint.Add(errors.New(shorttext.Plural(len(faults.Faults), "1 fault in the agent's file", "%d faults in the agent's file")), "docs/reference/agent-file.md lists the keys")
}

// open opens what is kept of the conversation.
func (x *chat) open() error {
	dir := x.Data
	if dir == "" {
		dir = files.StateFolder(x.sh.Getenv)
	}
	if dir == "" {
		return errorhint.Usage(errors.New("no folder for conversations: there is no home directory"), "give --data DIR")
	}
	if err := datafolder.Open(dir); err != nil {
		return err
	}
	dir = filepath.Join(dir, "chats")
	if x.Name == "" {
		x.Name = "chat-" + time.Now().UTC().Format("20060102-150405.000")
	}
	secrets := record.NewSecrets(x.agent.Secrets...)
	var err error
	if x.kept, err = openConversation(dir, x.Name, secrets); err != nil {
		return err
	}
	x.memory = agent.MemoryOf(x.kept.Memory)
	if x.record, err = x.Settings.Open(secrets, nil); err != nil {
		err = errors.Join(err, x.kept.Close())
	}
	return err
}

func (x *chat) close() error {
	err := x.kept.Close()
	if x.record != nil {
		err = errors.Join(err, x.record.Close())
	}
	if x.screen.tty && len(x.kept.Messages) > 0 {
		x.sh.Hintf("to resume this conversation: sotto chat --name %s", x.Name)
	}
	return err
}

// maxLine bounds a message.
const maxLine = 1 << 20

// talk reads messages and answers them.
func (x *chat) talk() error {
	x.lines, x.ended = make(chan string), make(chan error, 1)
	done := make(chan struct{})
	defer close(done)
	go func() { x.ended <- readLines(x.sh.In, x.lines, done) }()
	if x.screen.tty {
		x.screen.note("Talking to " + x.agent.Name + ". /help lists the commands.")
		x.screen.history(x.kept.Messages)
	}
	for {
		x.screen.prompt()
		select {
		case line := <-x.lines:
			more, err := x.obey(line)
			if err != nil || !more {
				return err
			}
		case err := <-x.ended:
			if err == nil && x.failed && !x.screen.tty {
				err = errors.New("a message was not answered")
			}
			return err
		case <-x.signals:
			x.screen.line("")
			return nil
		}
	}
}

func readLines(in io.Reader, lines chan<- string, done <-chan struct{}) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		select {
		case lines <- s.Text():
		case <-done:
			return nil
		}
	}
	return s.Err()
}

// obey does what a line says; more is false at the end.
func (x *chat) obey(line string) (more bool, err error) {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
	case !strings.HasPrefix(line, "/"):
		if err := x.ask(line); err != nil {
			return false, err
		}
		return true, x.answer()
	case word == "/quit":
		return false, nil
	case word == "/retry":
		again, err := x.again()
		if err != nil || !again {
			x.screen.note("There is nothing to ask again.")
			return err == nil, err
		}
		return true, x.answer()
	case word == "/thoughts":
		x.screen.thoughts()
	case word == "/save":
		x.save(strings.TrimSpace(rest))
	case word == "/help":
		x.screen.note("/retry     ask again\n/thoughts  show what the last reply thought\n/save FILE write the conversation to a new file\n/quit      end; ctrl-C stops a reply")
	default:
		if !x.screen.tty { // a program meant it as a message, which would be lost
			x.failed = true
			x.sh.Errorf("there is no command %s; a message cannot begin with /", shorttext.Quote(word))
		}
		x.screen.note("There is no " + word + ". /help lists the commands.")
	}
	return true, nil
}

// answer lets the agent answer the last message.
func (x *chat) answer() error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-x.signals:
			stop()
		case <-ended:
		}
	}()
	c := agent.Conversation{Messages: conversation.Prompt(x.kept.Messages), Memory: x.memory, Record: x.record, Run: x.Name, Cycle: x.kept.Turn + 1, Confirmer: x.confirm, Subject: terminalName}
	c.Start = &record.RunStart{Agent: x.agent.Name, Goal: record.Say(c.Messages[len(c.Messages)-1].Text)}
	x.screen.begin()
	out, err := x.agent.Answer(ctx, c, x.screen.event)
	stopped := ctx.Err() != nil
	said := x.screen.end(stopped)
	switch {
	case stopped:
	case err != nil:
		return err // of the record
	case out.Status == agent.Failed || strings.TrimSpace(said) == "":
		x.failed = true
		x.sh.Errorf("no answer came (%s); /retry asks again", out.Status)
	}
	return x.answered(said, stopped)
}

// terminalName is for whom the agent works, and who answers its questions.
const terminalName = "terminal"

// confirm asks whether a tool may be called. In a pipe there is nobody to ask.
func (x *chat) confirm(ctx context.Context, _ agent.Use, q consent.Question) (consent.Answer, error) {
	if !x.screen.tty || !x.sh.Interactive() {
		return consent.Answer{}, agent.ErrNobody
	}
	return q.Ask(consent.Principal{Name: terminalName, Way: consent.Terminal}, func(text string) (string, error) {
		prompt := "> "
		if text == q.Text() {
			text, prompt = "May the agent call "+q.Tool+" "+q.Arguments+"?", "[y/N] "
		}
		x.screen.ask(text, prompt)
		select {
		case line := <-x.lines:
			return line, nil
		case err := <-x.ended:
			x.ended <- err
			return "", agent.ErrNobody
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// save writes the conversation to a new file.
func (x *chat) save(name string) {
	if name == "" {
		x.screen.note("/save needs the name of a file.")
		return
	}
	file, err := shell.CreateNew(name)
	if err == nil {
		_, err = io.WriteString(file, transcript(x.kept.Messages))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		x.sh.Errorf("save %s: %v", name, files.Cause(err))
		return
	}
	x.screen.note("The conversation is in " + name + ".")
}
