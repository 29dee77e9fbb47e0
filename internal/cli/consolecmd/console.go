// Package consolecmd has the command that serves the web page of a record.
package consolecmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/labpart"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/cli/tlsflags"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/record"
)

// Command serves the console of a record.
type Command struct {
	Dir       string   `arg:"" optional:"" name:"dir" help:"The folder of the record, of a study, or of several studies, or the address of a record in object storage, s3://BUCKET/PREFIX, of which parts are read. Without it, the page has the screens that need no record."`
	Identity  []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt with the age identities in FILE; repeatable."`
	Scores    []string `sep:"none" placeholder:"FILE" help:"Show the verdicts in FILE, the output of sotto score --jsonl; repeatable."`
	Replies   []string `sep:"none" placeholder:"FILE" help:"Take the replies and the right answers for --scores from FILE (JSON Lines); repeatable."`
	Memory    string   `placeholder:"FILE" help:"Show the memory of sotto solve in FILE too."`
	Listen    string   `default:"127.0.0.1:8385" placeholder:"ADDRESS" help:"The address of the page (${default})."`
	TokenFile string   `placeholder:"FILE" help:"The file with the token that opens the page, or its hash. $$SOTTO_CONSOLE_TOKEN holds the token itself."`
	Audit     string   `placeholder:"DIR" help:"Record in the folder DIR who looks at which thoughts, before they are shown. It may be the record itself, if no other program writes it."`
	tlsflags.Files
	AllowHost []string `sep:"none" placeholder:"NAME" help:"A name that browsers may use for this machine; repeatable."`

	// Lab has the screens of experiments. If it is nil, what they show is refused.
	Lab labpart.Part `kong:"-"`
}

// Help shows examples.
func (Command) Help() string {
	return `Serves a web page that shows a record: the exchanges as they arrive, what was thought and what was said, every byte with its channel. It writes nothing, except indexes that are missing, and, with --audit, who looked at which thoughts. Every page is also JSON, with ?format=json. The page shows what models thought to everybody who can reach its address; on an address that other machines reach, it needs a token, or a certificate of each client. The guide is docs/howto/console.md.

Examples:

    sotto console audit
    sotto console                  # the playground alone
    sotto console s3://records/prod
    sotto console policies         # a study, while it runs and after
    sotto console audit --memory memory.db
    sotto console --scores scored.jsonl --replies replies.jsonl
    sotto console audit --identity identity.txt --audit views
    SOTTO_CONSOLE_TOKEN=… sotto console audit --listen :8385 --tls-cert cert.pem --tls-key key.pem`
}

// Run serves until a signal comes.
func (c *Command) Run(sh *shell.Shell, names *dialectset.Set) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := sh.Log(slog.LevelInfo)
	from, ids, err := c.folder()
	if err != nil {
		return err
	}
	var store *sidecar.Store
	var dir string
	if from != "" {
		var done func() error
		if store, done, err = recordset.Follow(ctx, from, record.ReadOptions{Identities: ids}, log); err != nil {
			return err
		}
		defer done()
		dir = store.Reader().Dir()
	}
	extension, end, err := c.extension(store, ids, names)
	if err != nil {
		return err
	}
	defer end()
	tokens, err := sh.ServerTokens("SOTTO_CONSOLE_TOKEN", c.TokenFile)
	if err != nil {
		return err
	}
	cert, err := c.Files.Open(log)
	if err != nil {
		return err
	}
	l, err := serving.Listen("--listen", c.Listen)
	if err != nil {
		return err
	}
	defer l.Close()
	config := console.Config{
		Record: store, Extension: extension, Own: sh.Own, Dir: dir, Name: c.Dir, Named: names.Named, Public: !settings.IsLoopback(l.Addr().String()), AllowHosts: c.AllowHost,
		Tokens: tokens.List, Closed: tokens.Closed, Certificate: cert, Log: log,
	}
	for _, d := range names.Dialects() {
		config.Dialects = append(config.Dialects, d.Name)
	}
	if config.Public && !tokens.Closed && !c.Files.Closed() {
		return errorhint.Usage(fmt.Errorf("%s is open to other machines, and there is no token", l.Addr()), "give the page a token with --token-file or SOTTO_CONSOLE_TOKEN, or ask clients for a certificate with --tls-client-ca")
	}
	views, err := c.audit(&config)
	if err != nil {
		return err
	}
	fmt.Fprintf(sh.Err, "the console is at %s\n", cert.Reach(l))
	page := console.New(config)
	var following sync.WaitGroup
	following.Go(func() { tokens.Follow(ctx, page.SetTokens, log) })
	err = page.Serve(ctx, l)
	stop()
	following.Wait()
	return errors.Join(err, views())
}

// audit opens the record of who looks at what, if there is one. end closes it.
func (c *Command) audit(config *console.Config) (end func() error, err error) {
	if c.Audit == "" {
		return func() error { return nil }, nil
	}
	if config.Record == nil {
		return nil, errorhint.Usage(errors.New("--audit: there is no record to look at"), "name its folder: sotto console DIR --audit DIR2")
	}
	w, err := record.Open(c.Audit, record.Options{Log: config.Log})
	if errors.Is(err, record.ErrLocked) {
		return nil, errorhint.Usage(fmt.Errorf("--audit: %w", err), "give it a folder of its own; sotto serve --console records views in the record that it writes")
	}
	if err != nil {
		return nil, fmt.Errorf("--audit: %w", err)
	}
	one, err1 := filepath.Abs(config.Dir)
	other, err2 := filepath.Abs(c.Audit)
	config.Audit, config.AuditApart = w, err1 != nil || err2 != nil || one != other
	return w.Close, nil
}

// folder returns the folder of the record, and what decrypts it.
func (c *Command) folder() (dir string, ids []age.Identity, err error) {
	if c.Dir == "" && len(c.Identity) > 0 {
		return "", nil, errorhint.Usage(errors.New("--identity: there is no record to open"), "name its folder: sotto console DIR --identity FILE")
	}
	if ids, err = recording.ReadIdentities(c.Identity); err != nil {
		return "", nil, fmt.Errorf("--identity: %w", err)
	}
	if c.Lab == nil {
		return c.Dir, ids, nil
	}
	return c.Lab.Folder(c.Dir), ids, nil
}

// extension opens what the screens of experiments show.
func (c *Command) extension(store *sidecar.Store, ids []age.Identity, names *dialectset.Set) (*console.Extension, func(), error) {
	if c.Lab != nil {
		return c.Lab.Screens(labpart.Shown{
			Dir: c.Dir, Identities: ids, Record: store, Name: c.Dir, Named: names.Named, Scores: c.Scores, Replies: c.Replies, Memory: c.Memory,
		})
	}
	switch {
	case len(c.Scores) > 0:
		return nil, nil, shell.Missing("--scores")
	case len(c.Replies) > 0:
		return nil, nil, shell.Missing("--replies")
	case c.Memory != "":
		return nil, nil, shell.Missing("--memory")
	}
	return nil, func() {}, nil
}
