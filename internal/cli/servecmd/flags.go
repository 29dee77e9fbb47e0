package servecmd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/settings"
)

// settings collects the settings from the command line and from all lower levels.
func (c *Command) settings(names *catalogue.Catalogue, ctx *kong.Context, getenv func(string) string) (*settings.Setup, error) {
	sources := settings.Sources{
		File: c.Config, Getenv: getenv, Overrides: c.overrides(ctx, getenv),
		Given: func(flag string) bool { return environment.Given(ctx, flag) },
	}
	c.again = func(running *settings.Setup) (*settings.Setup, error) {
		from := sources
		from.Running = running
		return settings.Read(from, names)
	}
	c.old = func(file string) (*settings.Setup, error) { return settings.ReadOld(sources, file) }
	return settings.Read(sources, names)
}

func (c *Command) overrides(ctx *kong.Context, getenv func(string) string) []settings.Override {
	var list []settings.Override
	add := func(key string, texts ...string) {
		if len(texts) > 0 && texts[0] != "" {
			list = append(list, settings.Override{Key: key, Name: sourceOf(ctx, flagOf(ctx, key)), Texts: texts})
		}
	}
	add("listen", c.Listen)
	add("upstream", c.Upstream)
	add("upstream-key-file", c.UpstreamKeyFile)
	add("token-file", c.TokenFile)
	add("access", c.Access)
	add("insecure-public", string(c.InsecurePublic))
	add("tls-cert", c.TLSCert)
	add("tls-key", c.TLSKey)
	add("tls-client-ca", c.TLSClientCA)
	add("tls-domains", listed(c.TLSDomain, getenv(listVariables["tls-domain"]))...)
	add("acme-accept-terms", string(c.ACMEAcceptTerms))
	add("acme-email", c.ACMEEmail)
	add("acme-directory", c.ACMEDirectory)
	add("acme-ca", c.ACMECA)
	add("acme-listen", c.ACMEListen)
	add("pass-all", string(c.PassAll))
	add("path-prefix", c.PathPrefix)
	add("allow-hosts", listed(c.AllowHost, getenv(listVariables["allow-host"]))...)
	add("allow-origins", listed(c.AllowOrigin, getenv(listVariables["allow-origin"]))...)
	add("data", c.Data)
	add("takeover", string(c.Takeover))
	add("shared", c.Shared)
	add("shared-secret-file", c.SharedSecretFile)
	add("shared-password-file", c.SharedPasswordFile)
	add("agents", listed(c.Agent, getenv(listVariables["agent"]))...)
	c.a2aOverrides(getenv, add)
	c.recordOverrides(getenv, add)
	add("console", string(c.Console))
	add("console-listen", c.ConsoleListen)
	add("ask-upstream", c.AskUpstream)
	add("dialect", c.Dialect)
	add("start", c.Start)
	add("display", c.Display)
	add("reasoning-field", c.ReasoningField)
	add("narration", c.Narration)
	add("history", c.History)
	add("on-no-answer", c.OnNoAnswer)
	add("thinking-limit", c.ThinkingLimit)
	add("on-thinking-limit", c.OnThinkingLimit)
	add("on-thinking-loop", c.OnThinkingLoop)
	add("thinking-switch", c.ThinkingSwitch)
	add("responses-reasoning", c.ResponsesReasoning)
	add("thinking-signature", c.ThinkingSignature)
	add("calls", c.Calls)
	add("guard", c.Guard)
	add("guard-token-file", c.GuardTokenFile)
	add("guard-sees", c.GuardSees)
	add("guard-every", c.GuardEvery)
	add("guard-wait", c.GuardWait)
	add("guard-timeout", c.GuardTimeout)
	add("guard-on-failure", c.GuardOnFailure)
	add("exact", c.Exact)
	add("history-dry-run", string(c.HistoryDryRun))
	add("ready-upstream", string(c.ReadyUpstream))
	add("shutdown-delay", c.ShutdownDelay)
	add("shutdown-wait", c.ShutdownWait)
	add("log-format", c.LogFormat)
	add("log-level", c.LogLevel)
	add("otel-endpoint", c.OtelEndpoint)
	add("otel-content", string(c.OtelContent))
	add("debug-listen", c.DebugListen)
	add("verbose", string(c.Verbose))
	add("scripted-listen", c.ScriptedListen)
	add("scripted-pause", c.ScriptedPause)
	return list
}

// a2aOverrides are the flags of the A2A server, by their keys.
func (c *Command) a2aOverrides(getenv func(string) string, add func(key string, texts ...string)) {
	add("a2a", string(c.A2A))
	add("a2a-model", c.A2AModel)
	add("a2a-api", c.A2AAPI)
	add("a2a-system", c.A2ASystem)
	add("a2a-agent", c.A2AAgent)
	add("a2a-name", c.A2AName)
	add("a2a-url", c.A2AURL)
	add("a2a-reasoning", string(c.A2AReasoning))
	add("a2a-push-to", listed(c.A2APushTo, getenv(listVariables["a2a-push-to"]))...)
}

// recordOverrides are the flags of the record, by their keys.
func (c *Command) recordOverrides(getenv func(string) string, add func(key string, texts ...string)) {
	add("record", c.Record)
	add("record-policy", c.RecordPolicy)
	add("record-reasoning", c.RecordReasoning)
	add("record-answer", c.RecordAnswer)
	add("record-id", c.RecordID)
	add("record-headers", listed(c.RecordHeader, getenv(listVariables["record-header"]))...)
	add("record-patterns", c.RecordPatterns)
	add("record-digest-key", c.RecordDigestKey)
	add("record-signing-key", c.RecordSigningKey)
	add("record-recipients", c.RecordRecipient...)
	add("record-keep", c.RecordKeep)
	add("record-keep-size", c.RecordKeepSize)
	add("record-ship", c.RecordShip)
}

// flagOf returns the flag of a key. That of a list, such as allow-origins, names one item.
func flagOf(ctx *kong.Context, key string) string {
	if slices.ContainsFunc(ctx.Flags(), func(f *kong.Flag) bool { return f.Name == key }) {
		return key
	}
	return strings.TrimSuffix(key, "s")
}

// sourceOf returns how a flag was given: as a flag, or by its environment variable.
func sourceOf(ctx *kong.Context, flag string) string {
	for _, f := range ctx.Flags() {
		if f.Name == flag && !environment.Given(ctx, flag) {
			return cmp.Or(f.Tag.Get("setting"), listVariables[flag])
		}
	}
	return "--" + flag
}

// listVariables are the environment variables of flags that are lists.
var listVariables = map[string]string{"allow-origin": "SOTTO_ALLOW_ORIGIN", "allow-host": "SOTTO_ALLOW_HOST", "tls-domain": "SOTTO_TLS_DOMAIN", "record-header": "SOTTO_RECORD_HEADER", "agent": "SOTTO_AGENT", "a2a-push-to": "SOTTO_A2A_PUSH_TO"}

// listed returns the flags, or the list in the environment. The list is separated
// by commas, because an origin contains colons.
func listed(flags []string, variable string) []string {
	if len(flags) == 0 && variable != "" {
		return strings.Split(variable, ",")
	}
	return flags
}
