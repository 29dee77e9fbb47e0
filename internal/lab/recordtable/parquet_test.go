package recordtable

import (
	"io"

	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
)

func newParquet(to io.Writer, columns []Column) Writer {
	list := make([]parquetfile.Column, len(columns))
	for i, c := range columns {
		list[i] = parquetfile.Column{Name: c.Name, Type: parquetfile.Type(c.Type)}
	}
	return parquetfile.NewTable(to, list)
}
