package metagraph

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes a copy of a memory to a file that must not exist, as the memory is at
// one moment. Programs may use the memory meanwhile. The copy is one file, without
// SQLite's log beside it. [ErrFormat] is in the error for a file that is not a memory.
func Backup(ctx context.Context, file, to string) error {
	return reading(file, func(db *sql.DB) error {
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // SQLite would let others read it
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(to)
		}
		return err
	})
}

// Check reads the whole file of a memory, and returns the version of its format. The
// error is the first fault. The file may come from anywhere.
func Check(ctx context.Context, file string) (version int, err error) {
	err = reading(file, func(db *sql.DB) error {
		if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		var found string
		if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			return errors.New(found)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	g, err := Open(file, Options{ReadOnly: true}) // which reads every node
	if err != nil {
		return 0, err
	}
	return version, g.Close()
}

// reading opens a memory to read. What is in the file, such as a view, cannot call
// functions that have effects.
func reading(file string, read func(*sql.DB) error) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	g := &Graph{o: Options{ReadOnly: true}.withDefaults()}
	if err := g.touch(path); err != nil {
		return fmt.Errorf("memory %s: %w", file, err)
	}
	address, v, err := g.inspect(path)
	if err == nil && v == 0 {
		err = ErrFormat // an empty file
	}
	if err != nil {
		return fmt.Errorf("memory %s: %w", file, err)
	}
	const careful = "&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"
	writable := g.address(path, "mode=rw") // VACUUM INTO is refused to one that is query_only
	if _, err := versionOf(writable); err == nil {
		address = writable // a connection that may write removes SQLite's files beside the graph
	}
	db, err := sql.Open("sqlite", address+careful)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := errors.Join(read(db), db.Close()); err != nil {
		return fmt.Errorf("memory %s: %w", file, err)
	}
	return nil
}
