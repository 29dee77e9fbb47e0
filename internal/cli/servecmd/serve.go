// Package servecmd has the command that runs the gateway.
package servecmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/datafolder"
	"github.com/sotto-llm/sotto/internal/recording"
	"github.com/sotto-llm/sotto/internal/settings"
)

// Command holds the flags. Most of them are also keys of the configuration file,
// and are parsed as the text in that file would be.
type Command struct {
	Listen   string `placeholder:"ADDRESS" setting:"SOTTO_LISTEN" help:"The address that clients connect to (127.0.0.1:8383)."`
	Upstream string `placeholder:"URL" setting:"SOTTO_UPSTREAM" help:"The base URL of the model server. Without it, the gateway serves scripted replies."`
	Config   string `placeholder:"FILE" setting:"SOTTO_CONFIG" help:"Read settings from FILE (YAML). A running gateway reads them again on SIGHUP and when FILE changes."`
	Check    bool   `help:"Check the settings, print them, and exit."`
	Against  string `placeholder:"FILE" help:"With --check: print what differs from the settings of FILE, or of the process with this --debug-listen (a URL such as http://127.0.0.1:6060), and which settings need a restart."`

	AgainstTokenFile string `placeholder:"FILE" help:"The file with the token for the process of --against; its scope is debug or console. $$SOTTO_AGAINST_TOKEN holds the token itself."`

	Display        string `placeholder:"WHERE" setting:"SOTTO_DISPLAY" help:"Where reasoning goes: field (the API's field for it), hide, keep (unchanged), tags (in the text)."`
	ReasoningField string `placeholder:"NAME,…" setting:"SOTTO_REASONING_FIELD" help:"The fields for it in chat completions (reasoning_content)."`
	Narration      string `placeholder:"WHERE" setting:"SOTTO_NARRATION" help:"Where narration goes: text, field, drop."`
	History        string `placeholder:"POLICY" setting:"SOTTO_HISTORY" help:"What happens to reasoning in the messages that clients send back: auto (what the model needs), preserve, strip, strip-all (also in the current turn), restore."`
	Exact          string `placeholder:"WHICH" setting:"SOTTO_EXACT" help:"Which replies keep the upstream's frames: auto (those that hide nothing, and that no guard and no limit may cut), always (all that hide nothing; for one release)."`
	HistoryDryRun  toggle `name:"history-dry-run" negatable:"" setting:"SOTTO_HISTORY_DRY_RUN" help:"Report what the history policy would do, without doing it."`
	OnNoAnswer     string `name:"on-no-answer" placeholder:"HOW" setting:"SOTTO_ON_NO_ANSWER" help:"What a client gets if a reply was all reasoning, without a tool call: empty (no text), error, promote (the reasoning as the text)."`

	ThinkingLimit   string `name:"thinking-limit" placeholder:"SIZE" setting:"SOTTO_THINKING_LIMIT" help:"How much reasoning a reply may have: 64KiB, or 16000 tokens of four bytes each. Without it, there is no limit."`
	OnThinkingLimit string `name:"on-thinking-limit" placeholder:"HOW" setting:"SOTTO_ON_THINKING_LIMIT" help:"What happens beyond it: stop (the model, if the reply is streamed), report, ignore."`
	OnThinkingLoop  string `name:"on-thinking-loop" placeholder:"HOW" setting:"SOTTO_ON_THINKING_LOOP" help:"What happens if reasoning repeats one passage again and again: ignore, report, stop."`
	ThinkingSwitch  string `name:"thinking-switch" placeholder:"WORDS" setting:"SOTTO_THINKING_SWITCH" help:"The form in which the model server reads whether and how much to think: native (that of its API), chat_template_kwargs, think, reasoning_effort and others. A request in another form is translated. untouched (default) translates nothing."`

	ResponsesReasoning string `placeholder:"FORM" setting:"SOTTO_RESPONSES_REASONING" help:"The form of reasoning in OpenAI's responses API: content, summary. A request that asks for a summary gets one."`
	ThinkingSignature  string `placeholder:"FORM" setting:"SOTTO_THINKING_SIGNATURE" help:"The signature of thinking blocks that the gateway makes in Anthropic's API: empty, sotto."`
	Calls              string `placeholder:"WHERE" setting:"SOTTO_CALLS" help:"Where tool calls go that a model writes into its text: text (they stay), field (the API's field for calls, if the request declares the tool)."`

	Guard          string `placeholder:"URL" setting:"SOTTO_GUARD" help:"Ask the server at URL about reasoning and answer before clients get them: it lets them pass, cuts them, or ends the reply; off asks none. The guide is docs/guard.md."`
	GuardTokenFile string `placeholder:"FILE" setting:"SOTTO_GUARD_TOKEN_FILE" help:"The file with the bearer token for that server. $$SOTTO_GUARD_TOKEN holds the token itself."`
	GuardSees      string `placeholder:"CHANNEL,…" setting:"SOTTO_GUARD_SEES" help:"What it judges: reasoning, answer (reasoning,answer)."`
	GuardEvery     string `placeholder:"SIZE" setting:"SOTTO_GUARD_EVERY" help:"How many bytes of a stream's channel it judges together, about; whole holds the whole reply (400)."`
	GuardWait      string `placeholder:"TIME" setting:"SOTTO_GUARD_WAIT" help:"How long text waits for more before it is judged (1s)."`
	GuardTimeout   string `placeholder:"TIME" setting:"SOTTO_GUARD_TIMEOUT" help:"How long each verdict may take (5s)."`
	GuardOnFailure string `placeholder:"HOW" setting:"SOTTO_GUARD_ON_FAILURE" help:"What happens without a verdict: closed (the reply ends with an error), open (the piece is delivered)."`

	AskUpstream        string  `name:"ask-upstream" placeholder:"WHICH" setting:"SOTTO_ASK_UPSTREAM" help:"Which model servers the gateway asks how they render a prompt, to find out whether replies begin inside reasoning: auto (those on this machine or without TLS), never, always."`
	Dialect            string  `short:"d" placeholder:"NAME" setting:"SOTTO_DIALECT" help:"Read every reply in this dialect instead of its model's."`
	Start              string  `short:"s" placeholder:"START" setting:"SOTTO_START" help:"Where every reply begins: outside, inside, inside:NAME, auto. Without it, the gateway learns this for each model."`
	Data               string  `placeholder:"DIR" setting:"SOTTO_DATA_DIR" help:"The folder for the learned starts (the XDG state folder)."`
	Takeover           toggle  `negatable:"" setting:"SOTTO_TAKEOVER" help:"Take the addresses over from the gateway that runs with the same --data, which then finishes its streams and ends, and let the next gateway do the same: no client is refused."`
	Shared             string  `placeholder:"URL" setting:"SOTTO_SHARED" help:"Share what the gateway restores and learns with its replicas, in the Redis or Valkey at URL, such as redis://localhost:6379. rediss:// is over TLS, redis+sentinel:// asks sentinels, and redis+cluster:// is a cluster."`
	SharedSecretFile   string  `placeholder:"FILE" setting:"SOTTO_SHARED_SECRET_FILE" help:"The file with the secret that all replicas have, 16 bytes or more. $$SOTTO_SHARED_SECRET holds the secret itself."`
	SharedPasswordFile string  `placeholder:"FILE" setting:"SOTTO_SHARED_PASSWORD_FILE" help:"The file with the password of that server. $$SOTTO_SHARED_PASSWORD holds the password itself."`
	Learned            bool    `xor:"action" help:"List what the gateway learned about where replies begin, and exit."`
	JSON               bool    `name:"json" help:"With --learned or --against: print JSON."`
	Forget             pattern `xor:"action" placeholder:"[PATTERN]" help:"Forget the learned starts of all models, or of those that match PATTERN (* matches any characters), and exit. A gateway that runs follows when it next learns something."`

	TokenFile       string   `placeholder:"FILE" setting:"SOTTO_TOKEN_FILE" help:"The file with the token that clients send as their API key. $$SOTTO_TOKEN holds the token itself."`
	Access          string   `placeholder:"HOW" setting:"SOTTO_ACCESS" help:"closed: clients need a token, even if none is valid. open: they need none. Without it, they need one if a setting is about tokens. It is closed at once, and opened by a restart only."`
	InsecurePublic  toggle   `negatable:"" setting:"SOTTO_INSECURE_PUBLIC" help:"Serve other machines without a token."`
	TLSCert         string   `name:"tls-cert" placeholder:"FILE" setting:"SOTTO_TLS_CERT" help:"Serve over TLS with the certificates in FILE (PEM), the gateway's own first. A new file is used without a restart."`
	TLSKey          string   `name:"tls-key" placeholder:"FILE" setting:"SOTTO_TLS_KEY" help:"The file with the key of that certificate (PEM)."`
	TLSClientCA     string   `name:"tls-client-ca" placeholder:"FILE" setting:"SOTTO_TLS_CLIENT_CA" help:"Serve only clients with a certificate of an authority in FILE (PEM)."`
	TLSDomain       []string `name:"tls-domain" sep:"none" placeholder:"NAME" help:"Serve over TLS as NAME, with a certificate that the gateway obtains by ACME, from Let's Encrypt unless --acme-directory names another authority, and renews; repeatable. In $$SOTTO_TLS_DOMAIN, separate names with commas."`
	ACMEAcceptTerms toggle   `name:"acme-accept-terms" negatable:"" setting:"SOTTO_ACME_ACCEPT_TERMS" help:"Accept the terms of service of that authority."`
	ACMEEmail       string   `name:"acme-email" placeholder:"ADDRESS" setting:"SOTTO_ACME_EMAIL" help:"The e-mail address that the authority may write to."`
	ACMEDirectory   string   `name:"acme-directory" placeholder:"URL" setting:"SOTTO_ACME_DIRECTORY" help:"The authority's ACME directory (that of Let's Encrypt)."`
	ACMECA          string   `name:"acme-ca" placeholder:"FILE" setting:"SOTTO_ACME_CA" help:"Trust the authorities in FILE (PEM) for that URL, instead of those of the system."`
	ACMEListen      string   `name:"acme-listen" placeholder:"ADDRESS" setting:"SOTTO_ACME_LISTEN" help:"Answer the authority without TLS too, at ADDRESS, such as :80, and send browsers from there to TLS."`
	UpstreamKeyFile string   `placeholder:"FILE" setting:"SOTTO_UPSTREAM_KEY_FILE" help:"The file with the API key for the upstream. $$SOTTO_UPSTREAM_KEY holds the key itself."`
	AllowOrigin     []string `sep:"none" placeholder:"ORIGIN" help:"Allow web pages of this origin, such as https://chat.example; repeatable. In $$SOTTO_ALLOW_ORIGIN, separate origins with commas."`
	AllowHost       []string `sep:"none" placeholder:"NAME" help:"Allow this host name in requests, such as chat.example; * allows all; repeatable. In $$SOTTO_ALLOW_HOST, separate names with commas."`
	PathPrefix      string   `placeholder:"PATH" setting:"SOTTO_PATH_PREFIX" help:"Allow other machines to put PATH, such as /openai, before the paths of models."`
	PassAll         toggle   `negatable:"" setting:"SOTTO_PASS_ALL" help:"Forward every route, also for other machines."`

	Agent []string `sep:"none" placeholder:"FILE" help:"Serve the agent of FILE (YAML) as the model agent/NAME; repeatable. In $$SOTTO_AGENT, separate files with commas."`

	recording.Settings
	RecordHeader  []string `sep:"none" placeholder:"NAME" help:"Record this request header as an identifier, such as X-Session-Id; repeatable. In $$SOTTO_RECORD_HEADER, separate names with commas."`
	RecordShip    string   `placeholder:"URL" setting:"SOTTO_RECORD_SHIP" help:"Copy the record to object storage at URL, such as s3://records/production; see sotto record ship."`
	Console       toggle   `negatable:"" setting:"SOTTO_CONSOLE" help:"Serve the console too, on an address of its own: a web page with a chat, and with what models thought if there is a record. The guide is docs/console.md."`
	ConsoleListen string   `placeholder:"ADDRESS" setting:"SOTTO_CONSOLE_LISTEN" help:"The address of that page (127.0.0.1:8385)."`
	a2aFlags

	ReadyUpstream  toggle `name:"ready-upstream" negatable:"" setting:"SOTTO_READY_UPSTREAM" help:"Answer 503 to /readyz while the upstream cannot be reached; it is asked at most every 5 s."`
	ShutdownDelay  string `placeholder:"TIME" setting:"SOTTO_SHUTDOWN_DELAY" help:"How long new requests are still accepted after the first interrupt, while /readyz says 503 (0s)."`
	ShutdownWait   string `placeholder:"TIME" setting:"SOTTO_SHUTDOWN_WAIT" help:"How long running streams may take after that (30s)."`
	LogFormat      string `placeholder:"FORMAT" setting:"SOTTO_LOG_FORMAT" help:"text or json."`
	LogLevel       string `placeholder:"LEVEL" setting:"SOTTO_LOG_LEVEL" help:"debug, info, warn or error (info). SIGUSR1 switches debug on and off while the gateway runs."`
	OtelEndpoint   string `placeholder:"URL" setting:"SOTTO_OTEL_ENDPOINT" help:"Send a trace of each exchange, and metrics, to the OpenTelemetry collector at URL (OTLP over HTTP), such as http://localhost:4318. They have no text. $$OTEL_EXPORTER_OTLP_HEADERS may hold the collector's key."`
	OtelContent    toggle `name:"otel-content" negatable:"" setting:"SOTTO_OTEL_CONTENT" help:"Put the texts of requests and replies into the traces: prompts, reasoning, answers, calls of tools."`
	DebugListen    string `placeholder:"ADDRESS" setting:"SOTTO_DEBUG_LISTEN" help:"Serve profiles, build information and the log level at /debug/ on this address of loopback, such as 127.0.0.1:6060."`
	Verbose        toggle `short:"v" setting:"SOTTO_VERBOSE" help:"The same as --log-level debug."`
	ScriptedListen string `default:"127.0.0.1:8384" placeholder:"ADDRESS" setting:"SOTTO_SCRIPTED_LISTEN" help:"The address for the scripted replies if there is no upstream (${default})."`
	ScriptedPause  string `default:"20ms" placeholder:"TIME" setting:"SOTTO_SCRIPTED_PAUSE" help:"The time between their deltas (${default})."`

	// again reads the settings as the command line has them, while others are in use.
	again func(running *settings.Setup) (*settings.Setup, error)
	// old reads the settings that another file gives with the same command line.
	old func(file string) (*settings.Setup, error)
}

// Help shows examples.
func (Command) Help() string {
	return `The gateway is a reverse proxy for a model server. A client changes its base URL and nothing else. The gateway knows the APIs of OpenAI, Ollama, Anthropic, Google (Gemini) and Amazon Bedrock (Converse), and forwards all other requests unchanged. Without an upstream it serves scripted replies with the faults of real ones, and needs no model and no network. It answers /healthz, /readyz and /metrics itself.

A setting comes from the flag, else from the environment, else from the file of --config, else from the default. --check reports every fault (in a file as FILE:LINE:COLUMN), and exits 1 if there are any. The guide is docs/gateway.md.

Examples:

    sotto serve
    sotto serve --upstream http://localhost:11434
    sotto serve --config sotto.yaml --check
    sotto serve --config sotto.yaml --check --against /etc/sotto/sotto.yaml
    SOTTO_TOKEN=… sotto serve --listen :8383 --upstream http://localhost:8000
    sotto serve --upstream http://localhost:11434 --record audit --record-reasoning digest
    sotto serve --upstream http://localhost:11434 --a2a --a2a-api ollama --a2a-model qwen3:8b
    sotto serve --upstream http://localhost:11434 --agent agent.yaml
    sotto serve --config sotto.yaml --takeover
    sotto serve --learned
    sotto serve --forget 'qwen3*'`
}

// Validate refuses flags that cannot be combined.
func (s *Command) Validate() error {
	switch {
	case s.JSON && !s.Learned && s.Against == "":
		return fmt.Errorf("--json needs --learned or --against")
	case s.Check && (s.Learned || s.Forget.given):
		return fmt.Errorf("--check cannot be combined with --learned or --forget")
	case s.Against != "" && !s.Check:
		return fmt.Errorf("--against needs --check")
	case s.AgainstTokenFile != "" && s.Against == "":
		return fmt.Errorf("--against-token-file needs --against")
	}
	return nil
}

// Serve serves until a signal comes.
func (s *Command) Serve(sh *shell.Shell, c *catalogue.Catalogue, ctx *kong.Context, signals <-chan os.Signal) error {
	set, err := s.settings(c, ctx, sh.Getenv)
	if err != nil {
		return err
	}
	if len(set.Faults) > 0 {
		return refuse(sh, set)
	}
	return s.serve(sh, set, signals)
}

// Run checks the settings, lists or forgets learned starts, or serves.
func (s *Command) Run(sh *shell.Shell, c *catalogue.Catalogue, ctx *kong.Context) error {
	set, err := s.settings(c, ctx, sh.Getenv)
	if err != nil {
		return err
	}
	switch {
	case s.Check:
		if err := datafolder.Check(set.Gateway.Data); err != nil {
			set.Faults = append(set.Faults, set.FaultAt("data", err))
		}
		s.checkAgents(sh, set)
		s.checkA2A(sh, set)
		if err := checkConsole(set, set.ConsoleListen); err != nil {
			set.Faults = append(set.Faults, &settings.Fault{Err: err})
		}
		if s.Against != "" && len(set.Faults) == 0 {
			return s.printChanges(sh, set)
		}
		return printChecked(sh, set)
	case len(set.Faults) > 0:
		return refuse(sh, set)
	case s.Learned:
		return s.printLearned(sh, set.Gateway.Data)
	case s.Forget.given:
		return s.forget(sh, set.Gateway.Data)
	}
	signals, stop := interrupts()
	defer stop()
	return s.serve(sh, set, signals)
}

// A toggle is a flag that is on, off, or not given; then it is "". Any other value
// is reported with the other settings.
type toggle string

// Decode takes the value of --flag=VALUE or of the environment, if there is one.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	*t = "true"
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken {
		*t = toggle(fmt.Sprint(ctx.Scan.Pop().Value))
	}
	switch strings.ToLower(string(*t)) {
	case "yes":
		*t = "true"
	case "no":
		*t = "false"
	}
	return nil
}

// IsBool says that the flag may be given without a value.
func (toggle) IsBool() bool { return true }

// A pattern is the value of a flag that may be given without one. Without a value
// it is *.
type pattern struct {
	given bool
	text  string
}

// Decode takes the word after the flag, unless it is itself a flag.
func (p *pattern) Decode(ctx *kong.DecodeContext) error {
	p.given, p.text = true, "*"
	if ctx.Scan.Peek().IsValue() {
		p.text = ctx.Scan.Pop().String()
	}
	return nil
}
