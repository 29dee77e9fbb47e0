package metagraph

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// Options say how a graph is kept. The zero value is the default.
type Options struct {
	// HalfLife is the time without success after which a node counts half as fresh.
	// If zero, 30 days.
	HalfLife time.Duration
	// Wait is how long a write waits for the write of another process. If zero, 10
	// s.
	Wait time.Duration
	// ReadOnly refuses every change, and does not create a graph that does not
	// exist. The file may be one that this process cannot write.
	ReadOnly bool
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
}

var (
	// ErrReadOnly is the error of a change to a graph that was opened read-only.
	ErrReadOnly = errors.New("the memory was opened read-only")
	// ErrFormat is in the error for a file that is not a graph, or that has a newer
	// version. Such a file is not changed.
	ErrFormat = errors.New("not a memory of this version")
)

func (o Options) withDefaults() Options {
	if o.HalfLife == 0 {
		o.HalfLife = 30 * 24 * time.Hour
	}
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A Graph is a memory in one file. It is safe for concurrent use. Any number of
// processes on one machine may have the file open.
type Graph struct {
	o           Options
	id          string
	columns     string  // of a node, to be read
	write, read *sql.DB // write has one connection, read several; write is nil if read-only
	changed     *sql.Stmt
	held        bool     // in the memory of this process only; see OpenHeld
	prepared    sync.Map // statements of write: query → *sql.Stmt

	mu   sync.RWMutex
	seen mirror // guarded by mu
}

// Open opens a graph. It creates the file and its folder if they do not exist.
func Open(file string, o Options) (*Graph, error) {
	g := &Graph{o: o.withDefaults()}
	if err := g.open(file); err != nil {
		g.Close()
		return nil, fmt.Errorf("open memory %s: %w", file, err)
	}
	return g, nil
}

func (g *Graph) open(file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if err := g.touch(file); err != nil {
		return err
	}
	at, v, err := g.inspect(file)
	if err != nil {
		return err
	}
	if g.o.ReadOnly && v == 0 {
		return ErrFormat // an empty file
	}
	queryOnly := g.address(file, "_pragma=query_only(1)")
	if !g.o.ReadOnly {
		if err := g.openWrite(file, v); err != nil {
			return err
		}
		at, v = queryOnly, version
	} else if _, err := versionOf(queryOnly); err == nil {
		at = queryOnly // a connection that may write removes SQLite's files beside the graph
	}
	return g.openRead(at, v)
}

// openRead opens the connections that read a graph of a version.
func (g *Graph) openRead(at string, v int) (err error) {
	g.columns = columnsOf(v)
	if g.read, err = sql.Open("sqlite", at); err != nil {
		return err
	}
	g.read.SetMaxOpenConns(4)
	if g.changed, err = g.read.Prepare("SELECT rev, epoch FROM meta"); err != nil {
		return err
	}
	if v > 1 {
		if err := g.read.QueryRow("SELECT id FROM meta").Scan(&g.id); err != nil {
			return err
		}
	}
	return g.refresh(context.Background())
}

// openWrite opens the connection that writes, and brings the file to this version.
func (g *Graph) openWrite(file string, v int) (err error) {
	g.write, err = sql.Open("sqlite", g.address(file, "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"))
	if err != nil {
		return err
	}
	g.write.SetMaxOpenConns(1)
	if v == version {
		return nil
	}
	return g.migrate()
}

// touch creates the file, accessible to this user only. SQLite gives the files
// beside it the same mode.
func (g *Graph) touch(file string) error {
	if g.o.ReadOnly {
		_, err := os.Stat(file)
		return bare(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return bare(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return bare(err)
	}
	return f.Close()
}

// bare removes the path, which Open adds to its error.
func bare(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (g *Graph) address(file, more string) string {
	query := fmt.Sprintf("_pragma=busy_timeout(%d)&%s", g.o.Wait.Milliseconds(), more)
	if g.held {
		query += heldQuery
	}
	return (&url.URL{Scheme: "file", Path: file, RawQuery: query}).String()
}

// ID returns the identity of the memory: random, and made with the file. It is ""
// for a file of version 1 that was opened read-only.
func (g *Graph) ID() string { return g.id }

// Close closes the graph. Everything learned is in the file before Close.
func (g *Graph) Close() error {
	var errs []error
	for _, db := range []*sql.DB{g.read, g.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// change runs one transaction that changes the graph.
func (g *Graph) change(ctx context.Context, do func(*change) error) error {
	if g.o.ReadOnly {
		return ErrReadOnly
	}
	point("begin")
	tx, err := g.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	x := &change{ctx: ctx, g: g, tx: tx, now: g.o.Now().UTC().Truncate(time.Microsecond)}
	if err := x.row("SELECT rev, epoch, traces, templates FROM meta").Scan(&x.rev, &x.epoch, &x.size.Traces, &x.size.Templates); err != nil {
		return err
	}
	x.rev++
	if err := do(x); err != nil {
		return err
	}
	if _, err := x.exec("UPDATE meta SET rev = ?, epoch = ?, traces = ?, templates = ?", x.rev, x.epoch, x.size.Traces, x.size.Templates); err != nil {
		return err
	}
	point("written")
	if err := tx.Commit(); err != nil {
		return err
	}
	point("committed")
	g.keep(ctx, x)
	return nil
}

// A change is a transaction under way.
type change struct {
	ctx context.Context
	g   *Graph
	tx  *sql.Tx
	now time.Time

	// rev is the revision that the change makes. epoch and size change during the
	// transaction.
	rev, epoch int64
	size       Size
	// wrote are the written rows, in order. Each is a node or an edge.
	wrote []wrote
	// fresh are statements that were not prepared before. A statement cannot be
	// kept after the transaction that prepared it.
	fresh []string
}

type wrote struct {
	id   int64
	node *Node
	edge *Edge
}

// keep takes over the results of a change: its statements and, if the mirror is at
// the previous revision, its rows.
func (g *Graph) keep(ctx context.Context, x *change) {
	for _, query := range x.fresh {
		if s, err := g.write.PrepareContext(ctx, query); err == nil {
			if _, again := g.prepared.LoadOrStore(query, s); again {
				s.Close()
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m := &g.seen
	if m.nodes == nil || m.rev != x.rev-1 || m.epoch != x.epoch {
		return // the next read loads it
	}
	for _, w := range x.wrote {
		if w.node != nil {
			m.putNode(w.id, *w.node)
		} else {
			m.putEdge(w.id, *w.edge)
		}
	}
	m.rev = x.rev
}

// row and exec run a statement, which is prepared only once.
func (x *change) row(query string, args ...any) scanner {
	stmt, err := x.stmt(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(x.ctx, args...)
}

func (x *change) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := x.stmt(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(x.ctx, args...)
}

func (x *change) stmt(query string) (*sql.Stmt, error) {
	if s, ok := x.g.prepared.Load(query); ok {
		return x.tx.StmtContext(x.ctx, s.(*sql.Stmt)), nil
	}
	s, err := x.tx.PrepareContext(x.ctx, query)
	if err != nil {
		return nil, err
	}
	x.fresh = append(x.fresh, query)
	return s, nil
}

// A failed is a row whose statement cannot be prepared.
type failed struct{ err error }

// Scan returns the error.
func (f failed) Scan(...any) error { return f.err }
