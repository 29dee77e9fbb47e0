package metagraph

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
)

// application is the file's application_id: "Sott".
const application = 0x536F7474

// migrations[v] changes a file of version v to version v+1. Version 0 is an empty
// file. The version is the file's user_version. A migration that was released is
// never edited: a new version is a new migration.
var migrations = []string{schema1, schema2, schema3}

// version is the one that this package writes.
var version = len(migrations)

const schema1 = `
CREATE TABLE meta (rev INTEGER NOT NULL, epoch INTEGER NOT NULL, traces INTEGER NOT NULL, templates INTEGER NOT NULL);
INSERT INTO meta VALUES (0, 0, 0, 0);
CREATE TABLE node (
	id INTEGER PRIMARY KEY, task TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
	slots INTEGER NOT NULL, problem TEXT NOT NULL, candidate TEXT NOT NULL, work TEXT NOT NULL,
	seen INTEGER NOT NULL, used INTEGER NOT NULL, solved INTEGER NOT NULL, failed INTEGER NOT NULL,
	success REAL NOT NULL, tokens REAL NOT NULL, millis REAL NOT NULL, cost REAL NOT NULL,
	created INTEGER NOT NULL, seen_at INTEGER NOT NULL, used_at INTEGER NOT NULL, solved_at INTEGER NOT NULL,
	space TEXT NOT NULL, vector BLOB, rev INTEGER NOT NULL,
	UNIQUE (task, kind, key)
);
CREATE INDEX node_rev ON node (rev);
CREATE TABLE edge (
	node INTEGER NOT NULL, query TEXT NOT NULL,
	seen INTEGER NOT NULL, used INTEGER NOT NULL, solved INTEGER NOT NULL, failed INTEGER NOT NULL,
	success REAL NOT NULL, tokens REAL NOT NULL, millis REAL NOT NULL, cost REAL NOT NULL,
	created INTEGER NOT NULL, used_at INTEGER NOT NULL, rev INTEGER NOT NULL,
	PRIMARY KEY (node, query)
) WITHOUT ROWID;
CREATE INDEX edge_rev ON edge (rev);
CREATE TABLE done (id TEXT PRIMARY KEY, time INTEGER NOT NULL, learned TEXT NOT NULL, note BLOB) WITHOUT ROWID;
PRAGMA application_id = 1399813236;
`

// schema2 adds the memory's identity, the model that earned a node, and the task of
// an attempt. The notes of sotto solve say which model and which task an old
// attempt was of. A trace that a template made was earned by the template's model.
const schema2 = `
ALTER TABLE meta ADD COLUMN id TEXT NOT NULL DEFAULT '';
UPDATE meta SET id = lower(hex(randomblob(16))), rev = rev + 1, epoch = epoch + 1;
ALTER TABLE node ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE done ADD COLUMN task TEXT NOT NULL DEFAULT '';
UPDATE done SET task = coalesce(json_extract(learned, '$.trace.task'),
	CASE WHEN json_valid(CAST(note AS TEXT)) THEN json_extract(CAST(note AS TEXT), '$.task') END, '');
CREATE TEMP TABLE was AS SELECT learned,
	CASE WHEN json_valid(CAST(note AS TEXT)) THEN CAST(note AS TEXT) ELSE '{}' END AS note FROM done;
CREATE TEMP TABLE earned AS
	SELECT json_extract(learned, '$.trace.task') AS task, 'trace' AS kind, json_extract(learned, '$.trace.key') AS key,
		json_extract(note, '$.model') AS model,
		CASE json_extract(note, '$.hit') WHEN 'template' THEN json_extract(note, '$.used[0].key') END AS by
	FROM was WHERE json_extract(learned, '$.new_trace')
	UNION ALL
	SELECT json_extract(learned, '$.template.task'), 'template', json_extract(learned, '$.template.key'), json_extract(note, '$.model'), NULL
	FROM was WHERE json_extract(learned, '$.new_template');
UPDATE node SET model = e.model FROM earned AS e
	WHERE node.task = e.task AND node.kind = e.kind AND node.key = e.key AND e.by IS NULL AND typeof(e.model) = 'text';
UPDATE node SET model = t.model FROM earned AS e, node AS t
	WHERE node.task = e.task AND node.kind = e.kind AND node.key = e.key
		AND t.task = e.task AND t.kind = 'template' AND t.key = e.by;
DROP TABLE was;
DROP TABLE earned;
`

// schema3 adds the distilled text of a trace. That of an old node is made when it is
// read, from what the node has.
const schema3 = `
ALTER TABLE node ADD COLUMN distilled TEXT NOT NULL DEFAULT '';
UPDATE meta SET rev = rev + 1, epoch = epoch + 1;
`

// inspect reads the version of a file, 0 if it is empty. It opens the file to read
// only, and sets nothing on it: a file of another program must not change. It
// returns the address by which the file can be read.
func (g *Graph) inspect(file string) (address string, v int, err error) {
	address = g.address(file, "mode=ro")
	v, err = versionOf(address)
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return address, v, err
	}
	const notADB, cannotOpen, readOnly = 26, 14, 8 // SQLite's primary result codes
	switch code := failure.Code() & 0xff; {
	case code == notADB:
		return "", 0, ErrFormat
	case !g.o.ReadOnly || code != cannotOpen && code != readOnly:
		return "", 0, err
	}
	// SQLite cannot make the files beside the graph. Without a log there is nothing
	// in them that it needs.
	if info, bad := os.Stat(file + "-wal"); bad == nil && info.Size() > 0 {
		return "", 0, fmt.Errorf("%w: the log beside it (-wal) has changes; open it once where it can be written", err)
	} else if bad != nil && !errors.Is(bad, fs.ErrNotExist) {
		return "", 0, bare(bad)
	}
	address = g.address(file, "mode=ro&immutable=1")
	v, err = versionOf(address)
	return address, v, err
}

// versionOf reads a version. The error is ErrFormat if the file is not a graph.
func versionOf(address string) (int, error) {
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	return versionIn(tx)
}

func versionIn(tx *sql.Tx) (v int, err error) {
	var app, tables int
	for _, q := range []struct {
		query string
		into  *int
	}{{"SELECT count(*) FROM sqlite_schema", &tables}, {"PRAGMA application_id", &app}, {"PRAGMA user_version", &v}} {
		if err := tx.QueryRow(q.query).Scan(q.into); err != nil {
			return 0, err
		}
	}
	switch {
	case app == application && v > version:
		return 0, fmt.Errorf("%w: it is of version %d, this program knows up to %d", ErrFormat, v, version)
	case app == application && v > 0:
		return v, nil
	case tables > 0 || app != 0 || v != 0:
		return 0, ErrFormat
	}
	return 0, nil
}

// migrate brings a file to this version, in one transaction. Another process may
// have done it meanwhile.
func (g *Graph) migrate() error {
	tx, err := g.write.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	v, err := versionIn(tx)
	if err != nil || v == version {
		return err
	}
	for ; v < version; v++ {
		if _, err := tx.Exec(migrations[v] + fmt.Sprintf("PRAGMA user_version = %d;", v+1)); err != nil {
			return fmt.Errorf("migrate from version %d: %w", v, err)
		}
		point("migrated")
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	point("committed")
	return nil
}
