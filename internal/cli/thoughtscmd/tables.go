package thoughtscmd

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/thoughts"
)

// writeTables writes each table as a file of the folder. Cells are written as they
// are, so that other programs read the same text.
func writeTables(sh *shell.Shell, dir string, tables []thoughts.Table) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--csv %s: %w", dir, files.Cause(err))
	}
	for _, t := range tables {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err := w.WriteAll(append([][]string{t.Columns}, t.Rows...)); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		if err := sh.WriteFile(filepath.Join(dir, t.Name+".csv"), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
