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

	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/cli/tlsflags"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/runview"
	"github.com/sotto-llm/sotto/internal/console/scoreview"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/recording"
	"github.com/sotto-llm/sotto/internal/recordset"
	"github.com/sotto-llm/sotto/internal/serving"
	"github.com/sotto-llm/sotto/internal/settings"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/internal/study"
	"github.com/sotto-llm/sotto/metagraph"
	"github.com/sotto-llm/sotto/record"
)

// Command serves the console of a record.
type Command struct {
	Dir       string   `arg:"" optional:"" name:"dir" help:"The folder of the record, of a study, or of several studies. Without it, the page has the screens that need no record."`
	Identity  []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt with the age identities in FILE; repeatable."`
	Scores    []string `sep:"none" placeholder:"FILE" help:"Show the verdicts in FILE, the output of sotto score --jsonl; repeatable."`
	Replies   []string `sep:"none" placeholder:"FILE" help:"Take the replies and the right answers for --scores from FILE (JSON Lines); repeatable."`
	Memory    string   `placeholder:"FILE" help:"Show the memory of sotto solve in FILE too."`
	Listen    string   `default:"127.0.0.1:8385" placeholder:"ADDRESS" help:"The address of the page (${default})."`
	TokenFile string   `placeholder:"FILE" help:"The file with the token that opens the page, or its hash. $$SOTTO_CONSOLE_TOKEN holds the token itself."`
	Audit     string   `placeholder:"DIR" help:"Record in the folder DIR who looks at which thoughts, before they are shown. It may be the record itself, if no other program writes it."`
	tlsflags.Files
	AllowHost []string `sep:"none" placeholder:"NAME" help:"A name that browsers may use for this machine; repeatable."`
}

// Help shows examples.
func (Command) Help() string {
	return `Serves a web page that shows a record: the exchanges as they arrive, what was thought and what was said, every byte with its channel. It writes nothing, except indexes that are missing, and, with --audit, who looked at which thoughts. Every page is also JSON, with ?format=json. The page shows what models thought to everybody who can reach its address; on an address that other machines reach, it needs a token, or a certificate of each client. The guide is docs/console.md.

Examples:

    sotto console audit
    sotto console                  # the playground alone
    sotto console policies         # a study, while it runs and after
    sotto console audit --memory memory.db
    sotto console --scores scored.jsonl --replies replies.jsonl
    sotto console audit --identity identity.txt --audit views
    SOTTO_CONSOLE_TOKEN=… sotto console audit --listen :8385 --tls-cert cert.pem --tls-key key.pem`
}

// Run serves until a signal comes.
func (c *Command) Run(sh *shell.Shell, names *catalogue.Catalogue) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	studies, dir, err := c.studies()
	if err != nil {
		return err
	}
	reader, err := c.reader(dir)
	if err != nil {
		return err
	}
	scores, err := c.scores()
	if err != nil {
		return err
	}
	memory, end, err := c.memory()
	if err != nil {
		return err
	}
	defer end()
	tokens, err := sh.ServerTokens("SOTTO_CONSOLE_TOKEN", c.TokenFile)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(sh.Err, nil))
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
		Record: reader, Studies: studies, Dir: dir, Memory: memory, Scores: scores, Name: c.Dir, Named: names.Named, Public: !settings.IsLoopback(l.Addr().String()), AllowHosts: c.AllowHost,
		Tokens: tokens.List, Closed: tokens.Closed, Certificate: cert, Log: log,
	}
	for _, d := range names.Dialects() {
		config.Dialects = append(config.Dialects, d.Name)
	}
	if config.Public && !tokens.Closed && !c.Files.Closed() {
		return hint.Usage(fmt.Errorf("%s is open to other machines, and there is no token", l.Addr()), "give the page a token with --token-file or SOTTO_CONSOLE_TOKEN, or ask clients for a certificate with --tls-client-ca")
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
		return nil, hint.Usage(errors.New("--audit: there is no record to look at"), "name its folder: sotto console DIR --audit DIR2")
	}
	w, err := record.Open(c.Audit, record.Options{Log: config.Log})
	if errors.Is(err, record.ErrLocked) {
		return nil, hint.Usage(fmt.Errorf("--audit: %w", err), "give it a folder of its own; sotto serve --console records views in the record that it writes")
	}
	if err != nil {
		return nil, fmt.Errorf("--audit: %w", err)
	}
	one, err1 := filepath.Abs(config.Dir)
	other, err2 := filepath.Abs(c.Audit)
	config.Audit, config.AuditApart = w, err1 != nil || err2 != nil || one != other
	return w.Close, nil
}

// scores opens the scored files, if there are any.
func (c *Command) scores() (*scoreview.Files, error) {
	if len(c.Scores) == 0 {
		if len(c.Replies) > 0 {
			return nil, hint.Usage(errors.New("--replies: there is no scored file"), "name one with --scores FILE")
		}
		return nil, nil
	}
	var all scoreview.Files
	for _, name := range c.Scores {
		f, err := scoreview.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--scores: %w", err)
		}
		all.Scores = append(all.Scores, f)
	}
	for _, name := range c.Replies {
		f, err := scoreview.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--replies: %w", err)
		}
		all.Replies = append(all.Replies, f)
	}
	return &all, nil
}

// studies finds the studies that are shown: that in the folder, or those in its folders.
// dir is the folder of the record: that of a study with one worker, no folder for other
// studies.
func (c *Command) studies() (s *console.Studies, dir string, err error) {
	if c.Dir == "" {
		return nil, "", nil
	}
	ids, err := recording.ReadIdentities(c.Identity)
	if err != nil {
		return nil, "", fmt.Errorf("--identity: %w", err)
	}
	s = &console.Studies{Dir: c.Dir, Identities: ids}
	if !s.Any() {
		return nil, c.Dir, nil
	}
	if set, err := recordset.Open(study.RecordsFolder(c.Dir), record.ReadOptions{}); err == nil && !set.Several() {
		dir = set.Sources()[0].Dir
	}
	return s, dir, nil
}

// reader opens the record, if there is one.
func (c *Command) reader(dir string) (*record.Reader, error) {
	if dir == "" {
		if len(c.Identity) > 0 && c.Dir == "" {
			return nil, hint.Usage(errors.New("--identity: there is no record to open"), "name its folder: sotto console DIR --identity FILE")
		}
		return nil, nil
	}
	ids, err := recording.ReadIdentities(c.Identity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	return recording.OpenReader(dir, record.ReadOptions{Identities: ids})
}

// maxMemory bounds the file of a memory, since all of it is read.
const maxMemory = 256 << 20

// memory opens the memory that is shown, if one is named.
func (c *Command) memory() (f *runview.File, end func(), err error) {
	if c.Memory == "" {
		return nil, func() {}, nil
	}
	if info, err := os.Stat(c.Memory); err == nil && info.Size() > maxMemory {
		return nil, nil, hint.Add(fmt.Errorf("--memory: %s has %d bytes: the console shows at most %d", shorttext.Quote(c.Memory), info.Size(), maxMemory), "sotto solve memory ls lists it")
	}
	g, err := metagraph.Open(c.Memory, metagraph.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("--memory: %w", err)
	}
	return runview.NewFile(g, c.Memory), func() { _ = g.Close() }, nil
}
