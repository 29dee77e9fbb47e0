package servecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// A change is a setting that differs, as --check --against prints it.
type change struct {
	Key    string  `json:"key"`
	Old    *string `json:"old"` // null: the setting is not made, or it is a secret
	New    *string `json:"new"`
	Secret bool    `json:"secret,omitempty"` // it is another one
	Needs  string  `json:"needs"`            // what makes a gateway that runs use it: reload, restart
	At     string  `json:"at,omitempty"`
	Was    string  `json:"was_at,omitempty"`
}

const (
	byReload  = "reload"
	byRestart = "restart"
)

func changesOf(old, next *settings.Setup) []change {
	list := []change{}
	for _, c := range settings.Changes(old, next) {
		needs := byReload
		if c.Restart {
			needs = byRestart
		}
		list = append(list, change{c.Key, c.Old, c.New, c.Secret, needs, c.At.String(), c.Was.String()})
	}
	return list
}

// values returns the values as a person reads them.
func (c change) values() (old, now string) {
	if c.Secret {
		return "(secret)", "(changed)"
	}
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return visible.Line(*s)
	}
	return text(c.Old), text(c.New)
}

// printChanges prints what differs from the settings of --against.
func (c *Command) printChanges(sh *shell.Shell, next *settings.Setup) error {
	old, err := c.readAgainst(sh, next)
	if err != nil {
		return err
	}
	if len(old.Faults) > 0 {
		return printChecked(sh, old)
	}
	list := changesOf(old, next)
	restarts, refused := 0, c.refusedReload(old)
	for _, one := range list {
		if one.Needs == byRestart {
			restarts++
		}
	}
	if c.JSON {
		return shell.PrintJSON(sh.Out, struct {
			V        int      `json:"v"`
			Changes  []change `json:"changes"`
			Restarts int      `json:"restart_needed"`
			Refused  []string `json:"reload_refused,omitempty"`
		}{1, list, restarts, refused})
	}
	for _, why := range refused {
		sh.Hintf("a reload would be refused, because some values need a restart: %s", why)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(sh.Out, "no setting differs")
		return err
	}
	rows := [][]string{{"KEY", "OLD", "NEW", "NEEDS", "WHERE"}}
	for _, one := range list {
		was, is := one.values()
		rows = append(rows, []string{visible.Line(one.Key), was, is, one.Needs, visible.Line(cmp.Or(one.At, one.Was, "-"))})
	}
	return texttable.Print(sh.Text, rows)
}

// refusedReload returns why a gateway with the old settings would refuse the new ones in a
// reload, although they are right by themselves.
func (c *Command) refusedReload(old *settings.Setup) (why []string) {
	mixed, err := c.again(old)
	if err != nil {
		return nil // a file that is read only once, such as a pipe: it may be another one in the reload
	}
	for _, f := range mixed.Faults {
		why = append(why, named(f.Error(), nameOfFault(f)))
	}
	return why
}

// readAgainst reads the settings to compare with: those of a file, or of a process.
func (c *Command) readAgainst(sh *shell.Shell, next *settings.Setup) (*settings.Setup, error) {
	if !strings.HasPrefix(c.Against, "http:") && !strings.HasPrefix(c.Against, "https:") {
		return c.old(c.Against)
	}
	u, err := url.Parse(c.Against)
	if err != nil || u.Scheme != "http" || !settings.IsLoopback(u.Host) || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, errorhint.Usage(fmt.Errorf("--against %s: this is not the address of a debug server", shorttext.Escape(c.Against, maxShown)), "want the address of --debug-listen, such as http://127.0.0.1:6060")
	}
	token, err := sh.Secret("SOTTO_AGAINST_TOKEN", "--against-token-file", c.AgainstTokenFile)
	if err != nil {
		return nil, err
	}
	data, err := runningSettings(u.JoinPath("debug/settings").String(), token, next)
	if err != nil {
		return nil, fmt.Errorf("--against %s: %w", shorttext.Escape(c.Against, maxShown), err)
	}
	return settings.ReadRunning(u.String(), data), nil
}

const (
	maxShown     = 200             // bytes of what others say, in an error
	maxAskedTime = 5 * time.Second // for the settings of a process on this machine
)

// runningSettings asks a debug server for the settings of its process. The token is that of
// --against-token-file or its variable, or else the first one of the settings that may see
// them. Of a token that is kept as a hash, there is nothing to send.
func runningSettings(at, token string, next *settings.Setup) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxAskedTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, err
	}
	for _, t := range next.Tokens() {
		if token == "" && t.Secret != "" && (len(t.Scopes) == 0 || slices.Contains(t.Scopes, access.Debug) || slices.Contains(t.Scopes, access.Console)) {
			token = t.Secret
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{ // no proxy, and no other place: the token is for this machine
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL again
		}
		return nil, err
	}
	defer resp.Body.Close()
	data, err := files.ReadAll(resp.Body, files.MaxSettings)
	switch {
	case err != nil, resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusUnauthorized && token == "" && next.Guarded():
		err = errorhint.Add(errors.New("the process needs a token, and the settings have only hashes of tokens"), "give a token with the scope debug or console: --against-token-file FILE, or SOTTO_AGAINST_TOKEN")
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		err = errorhint.Add(fmt.Errorf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)), "the token must be one of that process, with the scope debug or console: --against-token-file FILE, or SOTTO_AGAINST_TOKEN")
	default:
		err = errors.New(shorttext.Escape(strings.TrimSpace(resp.Status+" "+string(data)), maxShown))
	}
	return data, err
}
