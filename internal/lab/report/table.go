package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/texttable"
)

// A Table is rows of texts, with names of columns that do not change.
type Table struct {
	Name    string
	Columns []string
	Rows    [][]string
}

// CSV returns the table as CSV. Texts are written as they are: a text that begins with =
// is not changed, because the file is data.
func (t *Table) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(t.Columns); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	if err := w.WriteAll(t.Rows); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return b.Bytes(), nil
}

// Harmless keeps a spreadsheet from reading a text as a formula.
func Harmless(s string) string {
	if s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// A File is a file of a report.
type File struct {
	Name string
	Data []byte
}

// Files returns tables as CSV files.
func Files(tables []Table) ([]File, error) {
	var list []File
	for _, t := range tables {
		data, err := t.CSV()
		if err != nil {
			return nil, err
		}
		list = append(list, File{t.Name + ".csv", data})
	}
	return list, nil
}

// WriteFiles writes files into a folder, and makes it if there is none.
func WriteFiles(dir string, list []File, write func(name string, data []byte) error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, files.Cause(err))
	}
	for _, f := range list {
		if err := write(filepath.Join(dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// AppendText appends rows as a table for a terminal, below the text before it. The first
// columns are texts, and the others are numbers.
func AppendText(b *strings.Builder, texts int, rows [][]string) {
	var l texttable.Layout
	for _, row := range rows {
		for i, cell := range row {
			if i == len(l.Widths) {
				l.Widths = append(l.Widths, 0)
			}
			wide := utf8.RuneCountInString(cell)
			if i < texts {
				l.Widths[i] = min(l.Widths[i], -wide)
			} else {
				l.Widths[i] = max(l.Widths[i], wide)
			}
		}
	}
	for _, row := range rows {
		b.WriteString("  ")
		b.Write(l.Append(nil, row...))
	}
}
