package settings

import (
	"reflect"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

// recordKeys are the keys of the record. [recording.Settings.Options] checks them together.
// Other commands have their flags too, and package recording describes those.
func (s *Settings) recordKeys() []key {
	f := &s.Recording
	keys := []key{
		{name: "record", value: pathValue(&f.Record, "the name of a folder"), restart: true,
			doc: "the folder of the record; see [The record](../howto/record-exchanges.md)"},
		{name: "record-policy", shown: "`always`", value: wordValue(&f.RecordPolicy, []string{"always", "batch", "none"}), restart: true,
			doc: "how soon an event is on the disk: `always`, `batch`, `none`; no client waits for it"},
		{name: "record-reasoning", shown: "`full`", value: wordValue(&f.RecordReasoning, []string{"full", "redacted", "digest", "off"}), restart: true,
			doc: "how much of the reasoning is recorded: `full`, `redacted`, `digest`, `off`"},
		{name: "record-answer", shown: "`full`", value: wordValue(&f.RecordAnswer, []string{"full", "redacted", "digest", "off"}), restart: true,
			doc: "how much of all other texts is recorded: `full`, `redacted`, `digest`, `off`"},
		{name: "record-id", shown: "`full`", value: wordValue(&f.RecordID, []string{"full", "digest", "off"}), restart: true,
			doc: "how much of the identifiers that clients send, such as users and sessions, is recorded: `full`, `digest`, `off`"},
		{name: "record-patterns", value: fileValue(&f.RecordPatterns), restart: true,
			doc: "a file with what level `redacted` cuts out, one regular expression per line"},
		{name: "record-digest-key", shown: "a random one", value: fileValue(&f.RecordDigestKey), restart: true,
			doc: "a file with the key of level `digest`, 16 bytes or more"},
		{name: "record-signing-key", value: fileValue(&f.RecordSigningKey), restart: true,
			doc: "a file with the Ed25519 key that signs the record"},
		{name: "record-recipients", value: recipientsValue(&f.RecordRecipient), restart: true, colons: true,
			doc: "age recipients that the record is encrypted to, or files with them"},
		{name: "record-keep", shown: "everything", value: textValue(&f.RecordKeep, "a span such as 90d or 12h", nil), restart: true,
			doc: "prune events older than this, such as `90d` or `12h`"},
		{name: "record-keep-size", shown: "everything", value: textValue(&f.RecordKeepSize, bytesize.Want, nil), restart: true,
			doc: "prune the oldest events while the record is larger than this, such as `50GiB`"},
	}
	for field := range reflect.TypeFor[recording.Settings]().Fields() {
		for i := range keys {
			if k := &keys[i]; k.flagVariable() == field.Tag.Get("setting") {
				k.arg, k.help = field.Tag.Get("placeholder"), strings.Replace(field.Tag.Get("help"), "; repeatable.", ".", 1)
			}
		}
	}
	return keys
}

// keepingKeys are about what becomes of the record, and the page that shows it.
func (s *Settings) keepingKeys() []key {
	g := &s.Gateway
	return []key{
		{name: "record-headers", value: listValue(&g.RecordHeaders, "a list of headers such as X-Session-Id", checkText),
			arg: "NAME", help: "Record this request header as an identifier, such as X-Session-Id.",
			doc: "headers of requests whose values are recorded as identifiers, such as `X-Session-Id`"},
		{name: "record-ship", value: textValue(&s.RecordShip, "an address such as s3://records/production", checkObjects), restart: true,
			arg: "URL", help: "Copy the record to object storage at URL, such as s3://records/production; see sotto record ship.",
			doc: "copy the record to object storage, such as `s3://records/production`; see [object storage](../howto/object-storage.md)"},
		{name: "console", def: "false", value: yesNo(&s.Console), restart: true,
			help: "Serve the console too, on an address of its own: a web page with a chat, and with what models thought if there is a record. The guide is docs/howto/console.md.",
			doc:  "serve the [console](../howto/console.md), which shows the record and has a chat; tokens need the scopes `console` and `record`, and `models` to write"},
		{name: "console-listen", def: "127.0.0.1:8385", value: textValue(&s.ConsoleListen, "an address such as 127.0.0.1:8385", checkAddress), restart: true, arg: "ADDRESS",
			doc: "the address of the console; on an address that other machines reach it needs a token"},
	}
}
