package metagraph

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
)

// heldQuery is the part of an address of a graph in memory: SQLite writes no file, also no
// temporary one, and trusts nothing in the schema, which may come from a snapshot of others.
const heldQuery = "&vfs=memdb&_pragma=temp_store(2)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"

// OpenHeld opens a graph that exists only in the memory of this process, as long as it is
// open. It begins with a snapshot, or empty if that is nil.
func OpenHeld(snapshot []byte, o Options) (*Graph, error) {
	g := &Graph{o: o.withDefaults(), held: true}
	g.o.ReadOnly = false
	if err := g.openHeld(snapshot); err != nil {
		g.Close()
		return nil, fmt.Errorf("open memory: %w", err)
	}
	return g, nil
}

func (g *Graph) openHeld(snapshot []byte) error {
	name := "/sotto-" + rand.Text()
	var err error
	if g.write, err = sql.Open("sqlite", g.address(name, "_txlock=immediate")); err != nil {
		return err
	}
	g.write.SetMaxOpenConns(1)
	if err := g.write.Ping(); err != nil { // from now on there is one, which lasts as long as the connection
		return err
	}
	if snapshot != nil {
		if err := restore(snapshot, g.address(name, "")); err != nil {
			return err
		}
	}
	tx, err := g.write.Begin()
	if err != nil {
		return err
	}
	v, err := versionIn(tx)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	if v < version {
		if err := g.migrate(); err != nil {
			return err
		}
	}
	return g.openRead(g.address(name, "_pragma=query_only(1)"), version)
}

// restore copies a snapshot to the database at an address, which is empty.
func restore(snapshot []byte, address string) error {
	db, err := sql.Open("sqlite", "file::memory:?_pragma=temp_store(2)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Raw(func(driver any) error { return driver.(interface{ Deserialize([]byte) error }).Deserialize(snapshot) })
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var found string
	if err := c.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", ErrFormat, found)
	}
	if _, err = c.ExecContext(ctx, "VACUUM INTO ?", address); err != nil {
		return err
	}
	return nil
}

// Snapshot returns the graph as the bytes of its file, as it is at one moment.
func (g *Graph) Snapshot(ctx context.Context) (data []byte, err error) {
	c, err := g.read.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	err = c.Raw(func(driver any) (err error) {
		data, err = driver.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copy the memory: %w", err)
	}
	return data, nil
}
