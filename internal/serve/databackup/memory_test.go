package databackup

import (
	"database/sql"
	"errors"
	"testing"
)

// oldMemory makes a memory of an earlier version by the statements that made it.
func oldMemory(t testing.TB, file, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	must(t, err)
	_, err = db.Exec(statements)
	must(t, errors.Join(err, db.Close()))
}
