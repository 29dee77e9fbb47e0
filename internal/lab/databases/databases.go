// Package databases copies and checks the databases that a data folder can hold: the
// tasks of A2A (bbolt) and the memories of solved problems (SQLite).
package databases

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/data/boltfile"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
)

// CopyTasks copies a file of tasks: itself if no server has it open, and otherwise by that
// server, which running asks; its error is [fs.ErrNotExist] if no server gives copies. A
// server may start or end meanwhile, so that the other way is tried too.
func CopyTasks(_ context.Context, file, to string, running func(io.Writer) error) error {
	var err error
	for range 3 {
		if err = writeFile(to, func(w io.Writer) error { return boltfile.Copy(file, w) }); !errors.Is(err, boltfile.ErrInUse) {
			return err
		}
		if err = writeFile(to, running); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errorhint.Add(errors.New("a server has the file open, and gives no copies of it"), "stop the server, or start it again with this version of sotto, and run the backup again")
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// CheckTasks reads all of a file of tasks, and returns its format.
func CheckTasks(_ context.Context, file string) (format int, err error) {
	return a2aserver.CheckTasks(file)
}

// CopyMemory copies a memory as it is at one moment, while programs may have it open.
func CopyMemory(ctx context.Context, file, to string, _ func(io.Writer) error) error {
	err := metagraph.Backup(ctx, file, to)
	if errors.Is(err, metagraph.ErrFormat) {
		err = errorhint.Add(err, "a newer sotto wrote it, or another program: use that sotto, or move the file out of the folder")
	}
	return err
}
