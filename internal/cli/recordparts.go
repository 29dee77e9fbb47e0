package cli

import (
	"context"
	"io"

	"github.com/sotto-llm/sotto/internal/cli/recordcmd"
	"github.com/sotto-llm/sotto/internal/lab/contreact"
	"github.com/sotto-llm/sotto/internal/lab/graphbot"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
	"github.com/sotto-llm/sotto/internal/lab/recordtable"
)

// recordFormats are the formats of others that the commands about records write and read.
var recordFormats = recordcmd.Formats{
	Parquet: newParquet,
	Logs: []recordcmd.Log{
		{Name: "contreact", Types: contreact.Types, Prompts: true, Write: contreact.Write, Import: importContreact},
		{Name: "graphbot", Types: graphbot.Types, Write: graphbot.Write},
	},
}

// newParquet returns a writer of a table in Parquet.
func newParquet(to io.Writer, columns []recordtable.Column) recordtable.Writer {
	list := make([]parquetfile.Column, len(columns))
	for i, c := range columns {
		list[i] = parquetfile.Column{Name: c.Name, Type: parquetfile.Type(c.Type)}
	}
	return parquetfile.NewTable(to, list)
}

func importContreact(x recordcmd.Import) func(context.Context, io.Reader, string) error {
	to := &contreact.Importer{To: x.To, Grammar: x.Manner.Grammar, Start: x.Manner.Start, Model: x.Model, MaxLine: x.MaxLine, Fault: x.Fault}
	return to.Import
}
