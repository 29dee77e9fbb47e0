package settings

import (
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
	"github.com/sotto-llm/sotto/internal/serve/telemetry"
)

// Settings are all settings of sotto serve, from every source.
type Settings struct {
	Listen         string
	Upstream       *url.URL // nil: the scripted upstream
	UpstreamKey    secret
	Upstreams      []NamedUpstream // besides it
	token          namedToken      // of token-file or SOTTO_TOKEN
	tokens         []namedToken
	tokensGiven    bool   // there is a list of them, which may be empty
	Access         string // closed or open; "" lets the other settings decide
	InsecurePublic bool
	TLS            certificates.Files // without a certificate, there is no TLS
	ACME           certificates.ACME  // or it is that of domains, from an authority
	dialectFiles   []string
	guard          guardServer
	guards         []guardServer // of the routes
	ReadyUpstream  bool          // /readyz asks the upstream too
	Takeover       bool          // take the sockets over from the gateway of the same data folder
	ShutdownDelay  time.Duration
	ShutdownWait   time.Duration
	LogFormat      string
	LogLevel       slog.Level
	DebugListen    string            // of profiles and the log level; "" if there is none
	Otel           *url.URL          // the collector of traces; nil if there is none
	OtelContent    bool              // traces have the texts of exchanges
	Collector      telemetry.Signals // if Otel is not nil
	Verbose        bool
	ScriptedListen string
	ScriptedPause  time.Duration
	Shared         string // the address of the state that replicas share
	SharedPassword secret
	sharedSecret   secret
	Console        bool // serve the page of the record
	ConsoleListen  string
	Agents         []string // files of agents that are served as models
	A2A            A2A

	Recording   recording.Settings
	RecordShip  string // the address in object storage
	Connections serving.Bounds
	memory      int64 // limits.memory: of the gateway and of the A2A servers together
	// Conversations bound what is kept of conversations with agents.
	Conversations conversation.Limits

	Gateway gateway.Config // settings that are used directly
}

// A2A are the settings of the A2A server beside the gateway.
type A2A struct {
	On        bool
	Model     string // of the upstream, that answers
	API       string // of the upstream
	System    string
	Agent     string // the file of the agent that answers
	Name, URL string // on the card
	Reasoning bool
	PushTo    []string // ranges of addresses
}

// keys are the keys at the top of the file, except the version, tokens, upstreams, limits
// and routes.
func (s *Settings) keys() []key {
	g := &s.Gateway
	return slices.Concat(s.serverKeys(), s.tlsKeys(), s.passKeys(), s.stateKeys(), s.recordKeys(), s.keepingKeys(),
		replyKeys(&g.Default), guardKeys(&g.Default.Guard, &s.guard), s.agentKeys(), a2aKeys(&s.A2A), s.processKeys())
}

// serverKeys are about the two sides of the gateway, and who may use it.
func (s *Settings) serverKeys() []key {
	g := &s.Gateway
	return []key{
		{name: "listen", def: "127.0.0.1:8383", value: textValue(&s.Listen, "an address such as 127.0.0.1:8383", checkAddress), restart: true,
			arg: "ADDRESS", help: "The address that clients connect to.",
			doc: "the address for clients, HOST:PORT; port 0 is any free port. A [socket of systemd](../howto/systemd.md) replaces it"},
		{name: "upstream", shown: "the scripted one", value: baseURL(&s.Upstream),
			arg: "URL", help: "The base URL of the model server. Without it, the gateway serves scripted replies.",
			doc: "the base URL of the model server; its path is put before the request's. No request can choose another. With `upstreams`, it is that of the routes that name none"},
		{name: "upstream-api", shown: "that of each request", value: wordValue(&g.UpstreamAPI, gateway.APIs()), arg: "API",
			help: "The API that the model server speaks. Clients of the others are served too: their requests and the replies are translated. Without it, each request goes to the server in its own API.",
			doc:  "the API that the model server speaks: `chat`, `responses`, `messages`, `ollama`, `gemini`, `bedrock`, `cohere`. With it, clients of the other APIs are served too; see [A server of another API](../howto/another-api.md)"},
		{name: "upstream-key-file", value: secretFile(&s.UpstreamKey),
			arg: "FILE", help: "The file with the API key for the upstream.",
			doc: "the API key that the upstream gets instead of the client's"},
		{name: "upstream-header-timeout", value: orUnset(durationValue(&g.UpstreamHeaderTimeout)),
			doc: "how long the header of the upstream's response may take; then the client gets 504. Without it, only `silence` bounds it"},
		{name: "upstream-retries", def: "0", value: retriesValue(&g.UpstreamRetries),
			doc: "how often, 10 at most, a request is sent again whose response has not begun; see [Retries](../howto/several-upstreams.md#retries)"},
		{name: "ask-upstream", def: "auto", value: wordValue(&g.AskUpstream, gateway.Askings()), arg: "WHICH",
			doc: "which model servers the gateway asks how they render a prompt, to find out whether replies begin inside reasoning: `auto` (those on this machine or without TLS), `never`, `always`; see [How a reply begins](../explanation/learned-starts.md)"},
		{name: "token-file", value: secretFile(&s.token.secret),
			arg: "FILE", help: "The file with the token that clients send as their API key.",
			doc: "the API key that clients must send; it has all scopes"},
		{name: "access", shown: "by the tokens", value: checkedWord(&s.Access, []string{accessClosed, accessOpen}),
			arg: "HOW", help: "closed: clients need a token, even if none is valid. open: they need none. Without it, they need one if a setting is about tokens. It is closed at once, and opened by a restart only.",
			doc: "`closed`: clients need a token, even if none is valid; `open`: they need none; see [Closed and open](../howto/tokens.md#closed-and-open)"},
		{name: "insecure-public", def: "false", value: yesNo(&s.InsecurePublic),
			help: "Serve other machines without a token.",
			doc:  "let other machines in without a token"},
	}
}

// tlsKeys are about TLS, with certificates of files or of an authority.
func (s *Settings) tlsKeys() []key {
	return []key{
		{name: "tls-cert", value: fileValue(&s.TLS.Cert), restart: true,
			arg: "FILE", help: "Serve over TLS with the certificates in FILE (PEM), the gateway's own first. A new file is used without a restart.",
			doc: "the file with the gateway's certificates (PEM); see [TLS](../howto/tls.md)"},
		{name: "tls-key", value: fileValue(&s.TLS.Key), restart: true, arg: "FILE",
			doc: "the file with their key (PEM)"},
		{name: "tls-client-ca", value: fileValue(&s.TLS.ClientCA), restart: true,
			arg: "FILE", help: "Serve only clients with a certificate of an authority in FILE (PEM).",
			doc: "the file with authorities (PEM); only clients with a certificate of one of them are served"},
		{name: "tls-domains", value: listValue(&s.ACME.Domains, "a list of domains such as gateway.example.com", certificates.CheckDomain), restart: true,
			arg: "NAME", help: "Serve over TLS as NAME, with a certificate that the gateway obtains by ACME, from Let's Encrypt unless --acme-directory names another authority, and renews.",
			doc: "domains that the gateway obtains certificates for, in place of `tls-cert`; see [Certificates by ACME](../howto/acme.md)"},
		{name: "acme-accept-terms", def: "false", value: yesNo(&s.ACME.Accepted), restart: true,
			doc: "accept the terms of service of the authority"},
		{name: "acme-email", value: textValue(&s.ACME.Email, "an e-mail address", certificates.CheckEmail), restart: true, arg: "ADDRESS",
			doc: "the e-mail address that the authority may write to"},
		{name: "acme-directory", def: "https://acme-v02.api.letsencrypt.org/directory", value: textValue(&s.ACME.Directory, "a URL such as "+certificates.LetsEncrypt, certificates.CheckDirectory), restart: true, arg: "URL",
			doc: "the URL of the authority's ACME directory"},
		{name: "acme-ca", shown: "those of the system", value: fileValue(&s.ACME.CA), restart: true,
			arg: "FILE", help: "Trust the authorities in FILE (PEM) for that URL, instead of those of the system.",
			doc: "the file with authorities (PEM) that are trusted for that URL"},
		{name: "acme-listen", value: textValue(&s.ACME.Listen, "an address such as :80", checkAddress), restart: true,
			arg: "ADDRESS", help: "Answer the authority without TLS too, at ADDRESS, such as :80, and send browsers from there to TLS.",
			doc: "the address, usually `:80`, at which the authority is answered without TLS"},
	}
}

// passKeys say what passes.
func (s *Settings) passKeys() []key {
	g := &s.Gateway
	return []key{
		{name: "pass-all", def: "false", value: yesNo(&g.PassAll),
			help: "Forward every route, also for other machines.",
			doc:  "let every route pass, also for other machines"},
		{name: "path-prefix", value: textValue(&g.PathPrefix, "the beginning of a path such as /openai", nil),
			arg: "PATH", help: "Allow other machines to put PATH, such as /openai, before the paths of models.",
			doc: "the prefix that other machines may put before the paths of models, such as `/openai`; it is sent to the upstream too"},
		{name: "allow-hosts", value: listValue(&g.AllowHosts, "a list of names such as chat.example", checkText),
			arg: "NAME", help: "Allow this host name in requests, such as chat.example; * allows all.",
			doc: "names that requests may use for the gateway, besides this machine's; `\"*\"` allows any"},
		{name: "allow-origins", value: listValue(&g.AllowOrigins, "a list of origins such as https://chat.example", checkOrigin),
			arg: "ORIGIN", help: "Allow web pages of this origin, such as https://chat.example.",
			doc: "origins of web pages that may use the gateway; `\"*\"` allows any"},
	}
}

// stateKeys say where the state is that outlives a process.
func (s *Settings) stateKeys() []key {
	g := &s.Gateway
	return []key{
		{name: "data", shown: "`$XDG_STATE_HOME/sotto`, else `~/.local/state/sotto`", value: pathValue(&g.Data, "the name of a folder"), restart: true, variable: "SOTTO_DATA_DIR",
			arg: "DIR", help: "The folder for the learned starts (the XDG state folder).",
			doc: "[the folder](../data.md) for what is learned, conversations and tasks"},
		{name: "takeover", def: "false", value: yesNo(&s.Takeover), restart: true,
			help: "Take the addresses over from the gateway that runs with the same --data, which then finishes its streams and ends, and let the next gateway do the same: no client is refused.",
			doc:  "take the addresses over from the gateway that runs with the same `data`, and let the next one do the same: [replace a gateway](../howto/takeover.md)"},
		{name: "shared", value: textValue(&s.Shared, "a URL such as redis://localhost:6379", replicas.CheckURL), restart: true,
			arg: "URL", help: "Share what the gateway restores and learns with its replicas, in the Redis or Valkey at URL, such as redis://localhost:6379. rediss:// is over TLS, redis+sentinel:// asks sentinels, and redis+cluster:// is a cluster.",
			doc: "the Redis or Valkey that the gateway shares with its replicas: a server, sentinels or a cluster; see [Replicas](../howto/replicas.md)"},
		{name: "shared-secret-file", value: secretFile(&s.sharedSecret), restart: true,
			arg: "FILE", help: "The file with the secret that all replicas have, 16 bytes or more. Further lines are secrets that it replaced.",
			doc: "the secret that all replicas have, 16 bytes or more; further lines are secrets that it [replaced](../explanation/history.md#sealed-copies)"},
		{name: "shared-password-file", value: secretFile(&s.SharedPassword), restart: true,
			arg: "FILE", help: "The file with the password of that server.",
			doc: "the password of that server"},
	}
}

// agentKeys say what is written of replies, what is only tried, and which agents are served.
func (s *Settings) agentKeys() []key {
	g := &s.Gateway
	return []key{
		{name: "exact", def: "auto", value: wordValue(&g.Exact, gateway.Exactnesses()), arg: "WHICH",
			doc: "which replies keep the upstream's frames: `auto` (those that hide nothing, and that no guard and no limit may cut), `always` (all that hide nothing; for one release); see [Exact and written replies](replies.md#exact-and-written-replies)"},
		{name: "history-dry-run", def: "false", value: yesNo(&g.HistoryDryRun),
			doc: "report what the history policy would do, without doing it"},
		{name: "agents", value: filesValue(&s.Agents, "a list of agents' files"), restart: true,
			arg: "FILE", help: "Serve the agent of FILE (YAML) as the model agent/NAME.",
			doc: "files of agents that are served as models; see [agents as models](../howto/agent-as-a-model.md)"},
	}
}

// a2aAPIs are the APIs in which the model that answers A2A can be asked.
var a2aAPIs = []string{"chat", "messages", "ollama", "openai", "anthropic"}

// a2aKeys are the keys of the A2A server. All but the first need it to be on.
func a2aKeys(a *A2A) []key {
	return []key{
		{name: "a2a", def: "false", value: yesNo(&a.On), restart: true,
			help: "Serve A2A agents too, on the same address. The card of a model or of --a2a-agent is at /.well-known/agent-card.json, that of each --agent below /agents/NAME. The guide is docs/a2a.md.",
			doc:  "answer as A2A agents too; see [a2a.md](../a2a.md)"},
		{name: "a2a-model", value: textValue(&a.Model, "the name of a model", nil), restart: true, arg: "NAME",
			doc: "the upstream's model that answers"},
		{name: "a2a-api", def: "openai", value: checkedWord(&a.API, a2aAPIs), restart: true, arg: "API",
			doc: "the upstream's API for that: `chat`, `messages`, `ollama`; `openai` and `anthropic` are other names of the first two. Without it, that of `upstream-api`, if there is one"},
		{name: "a2a-system", value: textValue(&a.System, "a text", nil), restart: true, arg: "TEXT",
			doc: "its system message"},
		{name: "a2a-agent", value: pathValue(&a.Agent, "the name of an agent's file"), restart: true,
			arg: "FILE", help: "Answer with the model and the tools of an agent's file, as in sotto run, instead of a model of the upstream.",
			doc: "the file of an agent that answers instead of a model"},
		{name: "a2a-name", shown: "the agent's or model's", value: textValue(&a.Name, "a text", nil), restart: true,
			arg: "NAME", help: "The agent's name on its card (the model's).",
			doc: "the name on the card at the root"},
		{name: "a2a-url", shown: "from the request", value: textValue(&a.URL, "a URL such as https://agent.example", checkPage), restart: true,
			arg: "URL", help: "The public URL of this server, for the cards (the address of the request).",
			doc: "the URL of this server on the cards"},
		{name: "a2a-reasoning", def: "false", value: yesNo(&a.Reasoning), restart: true,
			help: "Send the model's reasoning to clients that ask for it, in marked parts of status updates.",
			doc:  "let clients ask for reasoning"},
		{name: "a2a-push-to", value: listValue(&a.PushTo, "a list of ranges of addresses such as 10.1.0.0/16", checkPrefix), restart: true,
			arg: "PREFIX", help: "Allow push notifications to these private addresses, such as 10.1.0.0/16.",
			doc: "ranges of addresses that pushes may go to in addition to public ones"},
	}
}

// processKeys are about the process: its files, times and logs.
func (s *Settings) processKeys() []key {
	g := &s.Gateway
	return []key{
		{name: "dialect-files", value: filesValue(&s.dialectFiles, "a list of files"), global: true, arg: "FILE", colons: true,
			doc: "files with more dialects; those of the flag are added to the others"},
		{name: "keep-alive", def: "10s", value: durationValue(&g.KeepAlive),
			doc: "how long a client may receive nothing after a stream has begun; then it gets a comment, a ping, an empty frame or the beginning of an event"},
		{name: "silence", def: "10m", value: durationValue(&g.Silence),
			doc: "how long an upstream may send nothing, or a client accept nothing, before the exchange ends with an error; on every route, and on WebSocket connections, where the answer to a ping counts"},
		{name: "ready-upstream", def: "false", value: yesNo(&s.ReadyUpstream),
			help: "Answer 503 to /readyz while the upstream cannot be reached; it is asked at most every 5 s.",
			doc:  "`/readyz` says 503 while no upstream can be reached; see [Running it](../howto/run.md)"},
		{name: "shutdown-delay", def: "0s", value: durationOrNone(&s.ShutdownDelay), restart: true, arg: "TIME",
			doc: "how long new clients are still served after the first SIGINT or SIGTERM, while `/readyz` says 503: the time a load balancer needs to notice"},
		{name: "shutdown-wait", def: "30s", value: durationValue(&s.ShutdownWait), restart: true, arg: "TIME",
			doc: "how long streams may continue after the first SIGINT or SIGTERM"},
		{name: "log-format", def: "text", value: checkedWord(&s.LogFormat, []string{"text", "json"}), restart: true, arg: "FORMAT",
			doc: "the format of the log on standard error: `text`, `json`"},
		{name: "log-level", def: "info", value: levelValue(&s.LogLevel),
			arg: "LEVEL", help: "debug, info, warn or error. SIGUSR1 switches debug on and off while the gateway runs.",
			doc: "`debug`, `info`, `warn` or `error`; it can be changed [while the gateway runs](log.md#the-log-level)"},
		{name: "otel-endpoint", value: collectorURL(&s.Otel), restart: true,
			arg: "URL", help: "Send a trace of each exchange, and metrics, to the OpenTelemetry collector at URL (OTLP over HTTP), such as http://localhost:4318. They have no text. $OTEL_EXPORTER_OTLP_HEADERS may hold the collector's key.",
			doc: "the OpenTelemetry collector that gets a [trace](../howto/traces.md) of each exchange, and [metrics](../howto/traces.md#metrics-for-a-collector), such as `http://localhost:4318`"},
		{name: "otel-content", def: "false", value: yesNo(&s.OtelContent), restart: true,
			help: "Put the texts of requests and replies into the traces: prompts, reasoning, answers, calls of tools.",
			doc:  "traces have the [texts](../howto/traces.md#texts-in-traces) of requests and replies"},
		{name: "debug-listen", value: textValue(&s.DebugListen, "an address such as 127.0.0.1:6060", checkLoopback), restart: true,
			arg: "ADDRESS", help: "Serve profiles, build information and the log level at /debug/ on this address of loopback, such as 127.0.0.1:6060.",
			doc: "an address of loopback for [profiles and the log level](../howto/profile.md)"},
	}
}

// flagKeys are the settings that cannot be in a configuration file.
func (s *Settings) flagKeys() []key {
	return []key{
		{name: "verbose", def: "false", value: yesNo(&s.Verbose),
			short: "v",
			doc:   "the same as `--log-level debug`, which it takes precedence over"},
		{name: "scripted-listen", def: "127.0.0.1:8384", value: textValue(&s.ScriptedListen, "an address such as 127.0.0.1:8384", checkScripted), arg: "ADDRESS",
			doc: "the address of the scripted upstream, which runs if there is no other; this machine only"},
		{name: "scripted-pause", def: "20ms", value: durationOrNone(&s.ScriptedPause), arg: "TIME",
			doc: "the time between its deltas"},
	}
}
