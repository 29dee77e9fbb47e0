package settings

import (
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/bytesize"
	"github.com/sotto-llm/sotto/internal/certificates"
	"github.com/sotto-llm/sotto/internal/conversation"
	"github.com/sotto-llm/sotto/internal/recording"
	"github.com/sotto-llm/sotto/internal/replicas"
	"github.com/sotto-llm/sotto/internal/serving"
	"github.com/sotto-llm/sotto/internal/telemetry"
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

// A key is one key of the configuration file.
type key struct {
	name string
	def  string // the default, as text; "" if there is none
	value
}

// keys are the keys at the top of the file, except the version, tokens, limits and
// routes.
func (s *Settings) keys() []key {
	g := &s.Gateway
	return slices.Concat([]key{
		{"listen", "127.0.0.1:8383", textValue(&s.Listen, "an address such as 127.0.0.1:8383", checkAddress)},
		{"upstream", "", baseURL(&s.Upstream)},
		{"upstream-key-file", "", textValue(&s.UpstreamKey.file, "the name of a file", nil)},
		{"upstream-header-timeout", "", orUnset(durationValue(&g.UpstreamHeaderTimeout))},
		{"upstream-retries", "0", retriesValue(&g.UpstreamRetries)},
		{"ask-upstream", string(gateway.AskAuto), textValue(&g.AskUpstream, anyOf(gateway.AskUpstreams()), nil)},
		{"token-file", "", textValue(&s.token.secret.file, "the name of a file", nil)},
		{"access", "", textValue(&s.Access, "closed or open", checkAccessWord)},
		{"insecure-public", "false", yesNo(&s.InsecurePublic)},
		{"tls-cert", "", textValue(&s.TLS.Cert, "the name of a file", nil)},
		{"tls-key", "", textValue(&s.TLS.Key, "the name of a file", nil)},
		{"tls-client-ca", "", textValue(&s.TLS.ClientCA, "the name of a file", nil)},
		{"tls-domains", "", listValue(&s.ACME.Domains, "a list of domains such as gateway.example.com", certificates.CheckDomain)},
		{"acme-accept-terms", "false", yesNo(&s.ACME.Accepted)},
		{"acme-email", "", textValue(&s.ACME.Email, "an e-mail address", certificates.CheckEmail)},
		{"acme-directory", "https://acme-v02.api.letsencrypt.org/directory", textValue(&s.ACME.Directory, "a URL such as "+certificates.LetsEncrypt, certificates.CheckDirectory)},
		{"acme-ca", "", textValue(&s.ACME.CA, "the name of a file", nil)},
		{"acme-listen", "", textValue(&s.ACME.Listen, "an address such as :80", checkAddress)},
		{"pass-all", "false", yesNo(&g.PassAll)},
		{"path-prefix", "", textValue(&g.PathPrefix, "the beginning of a path such as /openai", nil)},
		{"allow-hosts", "", listValue(&g.AllowHosts, "a list of names such as chat.example", checkText)},
		{"allow-origins", "", listValue(&g.AllowOrigins, "a list of origins such as https://chat.example", checkOrigin)},
		{"data", "", textValue(&g.Data, "the name of a folder", nil)},
		{"takeover", "false", yesNo(&s.Takeover)},
		{"shared", "", textValue(&s.Shared, "a URL such as redis://localhost:6379", replicas.CheckURL)},
		{"shared-secret-file", "", textValue(&s.sharedSecret.file, "the name of a file", nil)},
		{"shared-password-file", "", textValue(&s.SharedPassword.file, "the name of a file", nil)},
	}, recordKeys(&s.Recording), []key{
		{"record-headers", "", listValue(&g.RecordHeaders, "a list of headers such as X-Session-Id", checkText)},
		{"record-ship", "", textValue(&s.RecordShip, "an address such as s3://records/production", checkObjects)},
		{"console", "false", yesNo(&s.Console)},
		{"console-listen", "127.0.0.1:8385", textValue(&s.ConsoleListen, "an address such as 127.0.0.1:8385", checkAddress)},
	}, replyKeys(&g.Default), guardKeys(&g.Default.Guard, &s.guard), []key{
		{"exact", string(gateway.ExactAuto), textValue(&g.Exact, anyOf(gateway.Exacts()), nil)},
		{"history-dry-run", "false", yesNo(&g.HistoryDryRun)},
		{"agents", "", listValue(&s.Agents, "a list of agents' files", checkText)},
	}, a2aKeys(&s.A2A), []key{
		{"dialect-files", "", listValue(&s.dialectFiles, "a list of files", checkText)},
		{"keep-alive", "10s", durationValue(&g.KeepAlive)},
		{"silence", "10m", durationValue(&g.Silence)},
		{"ready-upstream", "false", yesNo(&s.ReadyUpstream)},
		{"shutdown-delay", "0s", durationOrNone(&s.ShutdownDelay)},
		{"shutdown-wait", "30s", durationValue(&s.ShutdownWait)},
		{"log-format", "text", textValue(&s.LogFormat, "text or json", checkLogFormat)},
		{"log-level", "info", levelValue(&s.LogLevel)},
		{"otel-endpoint", "", collectorURL(&s.Otel)},
		{"otel-content", "false", yesNo(&s.OtelContent)},
		{"debug-listen", "", textValue(&s.DebugListen, "an address such as 127.0.0.1:6060", checkLoopback)},
	})
}

// a2aKeys are the keys of the A2A server. All but the first need it to be on.
func a2aKeys(a *A2A) []key {
	return []key{
		{"a2a", "false", yesNo(&a.On)},
		{"a2a-model", "", textValue(&a.Model, "the name of a model", nil)},
		{"a2a-api", "openai", textValue(&a.API, anyOf(a2aAPIs), checkAPI)},
		{"a2a-system", "", textValue(&a.System, "a text", nil)},
		{"a2a-agent", "", textValue(&a.Agent, "the name of an agent's file", nil)},
		{"a2a-name", "", textValue(&a.Name, "a text", nil)},
		{"a2a-url", "", textValue(&a.URL, "a URL such as https://agent.example", checkPage)},
		{"a2a-reasoning", "false", yesNo(&a.Reasoning)},
		{"a2a-push-to", "", listValue(&a.PushTo, "a list of ranges of addresses such as 10.1.0.0/16", checkPrefix)},
	}
}

// a2aAPIs are the APIs of an upstream's model that answers A2A.
var a2aAPIs = []string{"openai", "ollama", "anthropic"}

// flagKeys are the settings that cannot be in a configuration file.
func (s *Settings) flagKeys() []key {
	return []key{
		{"verbose", "false", yesNo(&s.Verbose)},
		{"scripted-listen", "127.0.0.1:8384", textValue(&s.ScriptedListen, "an address such as 127.0.0.1:8384", checkScripted)},
		{"scripted-pause", "20ms", durationOrNone(&s.ScriptedPause)},
	}
}

// replyKeys are the keys that say how to handle replies, at the top and in every
// route. The gateway checks their values.
func replyKeys(r *gateway.Route) []key {
	return []key{
		{"dialect", "", textValue(&r.Dialect, "the name of a dialect", nil)},
		{"start", "", textValue(&r.Start, "outside, inside, inside:NAME or auto", nil)},
		{"display", "field", textValue(&r.Display, anyOf(gateway.Displays()), nil)},
		{"reasoning-field", "reasoning_content", nameList(&r.ReasoningFields)},
		{"narration", "text", textValue(&r.Narration, anyOf(gateway.Narrations()), nil)},
		{"history", "auto", textValue(&r.History, anyOf(gateway.Policies()), nil)},
		{"on-no-answer", "empty", textValue(&r.OnNoAnswer, anyOf(gateway.OnNoAnswers()), nil)},
		{"thinking-limit", "", thinkingValue(&r.ThinkingLimit)},
		{"on-thinking-limit", "stop", textValue(&r.OnThinkingLimit, anyOf(gateway.OnThinkings()), nil)},
		{"on-thinking-loop", "ignore", textValue(&r.OnThinkingLoop, anyOf(gateway.OnThinkings()), nil)},
		{"thinking-switch", "untouched", textValue(&r.ThinkingSwitch, anyOf(gateway.ThinkingSwitches()), nil)},
		{"responses-reasoning", "content", textValue(&r.ResponsesReasoning, anyOf(gateway.ResponsesReasonings()), nil)},
		{"thinking-signature", "empty", textValue(&r.ThinkingSignature, anyOf(gateway.ThinkingSignatures()), nil)},
		{"calls", "text", textValue(&r.Calls, anyOf(gateway.CallsValues()), nil)},
	}
}

// routeKeys are the keys of one route.
func routeKeys(r *gateway.Route, g *guardServer) []key {
	return slices.Concat([]key{
		{"name", "", textValue(&r.Name, "a name such as small-models", nil)},
		{"models", "", listValue(&r.Models, "a list of models' names, * for any run of characters", checkText)},
		{"apis", "", listValue(&r.APIs, "a list of APIs such as openai.chat", checkText)},
		{"upstream", "", textValue(&r.Upstream, "the name of one of the upstreams", nil)},
	}, replyKeys(r), guardKeys(&r.Guard, g))
}

// limitKeys are the keys under limits.
func (s *Settings) limitKeys() []key {
	l := &s.Gateway.Limits
	return []key{
		{"memory", "", sizeOrNone(&s.memory)},
		{"connections", "", countOrNone(&s.Connections.Connections)},
		{"connections-per-address", "", countOrNone(&s.Connections.PerAddress)},
		{"body", "64MiB", sizeValue(&l.Body)},
		{"frame", "4MiB", sizeValue(&l.Frame)},
		{"header", "64KiB", sizeValue(&l.Header)},
		{"exchanges", "10000", countValue(&l.Exchanges)},
		{"choices", "1024", countValue(&l.Choices)},
		{"hold", "256KiB", sizeValue(&l.Hold)},
		{"learned", "4096", countValue(&l.Learned)},
		{"restored", "4096", countValue(&l.Restored)},
		{"restored-bytes", "64MiB", sizeValue(&l.RestoredBytes)},
		{"restored-for", "6h", durationValue(&l.RestoredFor)},
		{"recorded", "4MiB", sizeValue(&l.Recorded)},
		{"labels", "64", countValue(&l.Labels)},
		{"conversations", "10000", countValue(&s.Conversations.Number)},
		{"conversations-bytes", "1GiB", sizeValue(&s.Conversations.Bytes)},
		{"conversation", "4MiB", sizeValue(&s.Conversations.Each)},
		{"conversations-for", "720h", durationValue(&s.Conversations.Keep)},
	}
}

// topNames are the keys at the top of the file, in the order of the guide.
func (s *Settings) topNames() []string {
	names := []string{"v"}
	for _, k := range s.keys() {
		names = append(names, k.name)
	}
	return append(names, "tokens", "upstreams", "limits", "routes")
}

// find returns the key with a name.
func find(keys []key, name string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// names returns the keys' names.
func names(keys []key) []string {
	var list []string
	for _, k := range keys {
		list = append(list, k.name)
	}
	return list
}

// Words are the values of a setting that has only a few.
func Words[T ~string](all []T) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	return list
}

// anyOf lists the values: "a, b or c".
func anyOf[T ~string](all []T) string {
	list := Words(all)
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// recordKeys are the keys of the record. [recording.Settings.Options] checks them
// together.
func recordKeys(f *recording.Settings) []key {
	const file = "the name of a file"
	return []key{
		{"record", "", textValue(&f.Record, "the name of a folder", nil)},
		{"record-policy", "", textValue(&f.RecordPolicy, "always, batch or none", nil)},
		{"record-reasoning", "", textValue(&f.RecordReasoning, "full, redacted, digest or off", nil)},
		{"record-answer", "", textValue(&f.RecordAnswer, "full, redacted, digest or off", nil)},
		{"record-id", "", textValue(&f.RecordID, "full, digest or off", nil)},
		{"record-patterns", "", textValue(&f.RecordPatterns, file, nil)},
		{"record-digest-key", "", textValue(&f.RecordDigestKey, file, nil)},
		{"record-signing-key", "", textValue(&f.RecordSigningKey, file, nil)},
		{"record-recipients", "", listValue(&f.RecordRecipient, "a list of age recipients, or of files with them", checkText)},
		{"record-keep", "", textValue(&f.RecordKeep, "a span such as 90d or 12h", nil)},
		{"record-keep-size", "", textValue(&f.RecordKeepSize, bytesize.Want, nil)},
	}
}

// recordPaths are the files and folders among them.
func recordPaths(f *recording.Settings) []*string {
	paths := []*string{&f.Record, &f.RecordPatterns, &f.RecordDigestKey, &f.RecordSigningKey}
	for i, r := range f.RecordRecipient {
		if !strings.HasPrefix(r, "age1") {
			paths = append(paths, &f.RecordRecipient[i])
		}
	}
	return paths
}
