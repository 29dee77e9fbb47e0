package servecmd

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// addresses are the addresses of the gateway and its upstream.
type addresses struct {
	gateway, upstream *url.URL
	console           *url.URL // nil if there is none
	scripted          bool
	open              string // the address that other machines reach; "" if there is none
}

// announce says where the gateway is: in the log, and in plain words for people who
// try it.
func announce(sh *shell.Shell, s *settings.Settings, log *slog.Logger, at addresses) {
	if !at.scripted || s.LogFormat == "json" {
		fields := []any{"at", at.gateway.String(), "upstream", at.upstream.String()}
		if at.open != "" {
			fields = append(fields, "open_to_the_network", at.open)
		}
		if kept := recordedAs(s); kept != "" {
			fields = append(fields, "record", kept)
		}
		if at.console != nil && s.Gateway.Data != "" {
			fields = append(fields, "chat", at.console.JoinPath("chat").String())
		}
		log.Info("the gateway is up", fields...)
		return
	}
	open := ""
	if at.open != "" {
		open = " (open to the network: " + at.open + ")"
	}
	kept := ""
	if as := recordedAs(s); as != "" {
		kept = "\nThe record:            " + as
	}
	if at.console != nil {
		kept += "\nThe console:           " + at.console.String()
		if s.Gateway.Data != "" {
			kept += "\nThe chat:              " + at.console.JoinPath("chat").String()
		}
	}
	key := ""
	if s.Guarded() {
		key = ` -H "Authorization: Bearer $SOTTO_TOKEN"`
	}
	fmt.Fprintf(sh.Err, `The gateway:           %s%s
The scripted upstream: %s (scripted replies: no model, no network)%s

Ask the upstream itself, and the text holds the thought:

    %s

Ask the same through Sotto:

    %s

Models to try:
%s
For your own model server: %s serve --upstream URL. To stop: ctrl-C.

`, at.gateway, open, at.upstream, kept, try(at.upstream, ""), try(at.gateway, key), modelList(76), sh.Name())
}

// try is a command to copy and paste.
func try(at *url.URL, header string) string {
	return fmt.Sprintf(`curl -s%s %s/v1/chat/completions -d '{"model":"minimax-m2","messages":[{"role":"user","content":"What is the capital of Canada?"}]}'`, header, at)
}

// modelList lists the scripted models in lines of a given width. It leaves out
// models whose replies have nothing that the gateway could change.
func modelList(width int) string {
	var b strings.Builder
	line := "   "
	for _, m := range scripted.Models() {
		if len(m.Reply.Reasoning) == 0 && !strings.Contains(m.Reply.Text(), "</") {
			continue
		}
		if len(line)+1+len(m.Name) > width {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += " " + m.Name
	}
	b.WriteString(line + "\n")
	return b.String()
}
