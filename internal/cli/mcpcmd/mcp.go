// Package mcpcmd has the command that serves the Model Context Protocol.
package mcpcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/cli/tlsflags"
	"github.com/sotto-llm/sotto/internal/lab/mcpserver"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/record"
)

// Command serves the tools.
type Command struct {
	Record    string   `placeholder:"DIR" setting:"SOTTO_MCP_RECORD" help:"Also offer tools that list, show and search the record in DIR, or in object storage, s3://BUCKET/PREFIX, of which parts are read."`
	Identity  []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt the record with the age identities in FILE; repeatable."`
	Reasoning bool     `help:"The tools for the record also give reasoning, and prompts, which may contain it."`
	Listen    string   `placeholder:"ADDRESS" setting:"SOTTO_MCP_LISTEN" help:"Serve over HTTP at ADDRESS, under /mcp, instead of standard input and output."`
	TokenFile string   `placeholder:"FILE" help:"The file with the token that HTTP clients must send, or its hash. $$SOTTO_MCP_TOKEN holds the token itself."`
	tlsflags.Files
	AllowHost []string `placeholder:"NAME" help:"A name that HTTP clients may use for this machine; repeatable."`
}

// Help shows examples.
func (Command) Help() string {
	return `Serves the tools split, extract and score, and with --record also record_list, record_show and record_search, to a client of the Model Context Protocol. The client starts this command and talks to it on standard input and output, or connects over HTTP with --listen. A tool reads only the arguments of its call and the record named here. It writes nothing. From a record, a client gets what models said and what tools returned, but no reasoning, unless you give --reasoning. A message may have 8 MiB, and a result 4 MiB. The guide is docs/mcp.md.

Examples:

    sotto mcp
    sotto mcp --record audit
    sotto mcp --listen 127.0.0.1:8386 --record audit
    SOTTO_MCP_TOKEN=… sotto mcp --listen :8386 --tls-cert cert.pem --tls-key key.pem`
}

// Run serves until the client closes standard input, or a signal comes.
func (c *Command) Run(sh *shell.Shell, names *dialectset.Set) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config := mcpserver.Config{Version: version(), Catalogue: names, Reasoning: c.Reasoning}
	if c.Record != "" {
		ids, err := recording.ReadIdentities(c.Identity)
		if err != nil {
			return fmt.Errorf("--identity: %w", err)
		}
		store, done, err := recordset.Follow(ctx, c.Record, record.ReadOptions{Identities: ids}, sh.Log(slog.LevelWarn))
		if err != nil {
			return err
		}
		defer done()
		config.Record = store
	}
	s, err := mcpserver.New(config)
	if err != nil {
		return err
	}
	if c.Listen != "" {
		return c.serve(ctx, sh, s)
	}
	if c.TokenFile != "" || len(c.AllowHost) > 0 || c.Files.Given() {
		return errorhint.Usage(errors.New("--token-file, --allow-host and the flags of TLS are for HTTP"), "give --listen too")
	}
	if sh.Out.Width() > 0 {
		sh.Hintf("an MCP client starts this command and writes to its standard input; press ctrl-D to end")
	}
	return s.ServeStdio(ctx, io.NopCloser(sh.In), sh.Out)
}

// endWait is how long a request may still take after a signal.
const endWait = 5 * time.Second

// serve serves over HTTP until ctx ends.
func (c *Command) serve(ctx context.Context, sh *shell.Shell, s *mcpserver.Server) error {
	tokens, err := sh.ServerTokens("SOTTO_MCP_TOKEN", c.TokenFile)
	if err != nil {
		return err
	}
	log := sh.Log(slog.LevelInfo)
	cert, err := c.Files.Open(log)
	if err != nil {
		return err
	}
	l, err := serving.Listen("--listen", c.Listen)
	if err != nil {
		return err
	}
	defer l.Close()
	rules := access.Rules{Public: !settings.IsLoopback(l.Addr().String()), AllowHosts: c.AllowHost, Tokens: tokens.List, Closed: tokens.Closed}
	if rules.Public && !tokens.Closed && !c.Files.Closed() {
		return errorhint.Usage(fmt.Errorf("%s is open to other machines, and there is no token", l.Addr()), "give clients a token with --token-file or SOTTO_MCP_TOKEN, or ask them for a certificate with --tls-client-ca")
	}
	handler := s.Handler(rules)
	ctx, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	following.Go(func() { tokens.Follow(ctx, handler.SetTokens, log) })
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	server := serving.NewServer(cert.Handler(mux))
	server.ErrorLog = serving.ServerLog(log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(cert.Listener(serving.Bound(l, serving.Bounds{}))) }()
	fmt.Fprintf(sh.Err, "the MCP server is at %s\n", cert.Reach(l).JoinPath("mcp"))
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	if err := server.Shutdown(last); err != nil && !errors.Is(err, net.ErrClosed) {
		return errors.Join(err, server.Close())
	}
	return nil
}

// version is the version of this build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
