//go:build !sotto_shipped

package abi

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// compile makes the grammar of a dialect of the caller's own.
func (in *input) compile() (*sotto.Grammar, error) {
	d := in.dialect()
	if in.cut() {
		return nil, errOptions
	}
	return sotto.Compile(d)
}

func (in *input) roles() map[string]dialect.Role {
	list := in.list()
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]dialect.Role, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = dialect.Role(list[i+1])
	}
	in.bad = in.bad || len(list)%2 != 0
	return m
}

// flag reads a switch that may be missing: 0, 1 for off and 2 for on.
func (in *input) flag() *bool {
	if n := in.number(); n > 0 {
		return new(n == 2)
	}
	return nil
}

// dialect reads a dialect: its fields in the order of the struct, without those that are for
// people, then the number of markers and their fields, then 1 and the fields of a header, or 0.
func (in *input) dialect() dialect.Dialect {
	d := dialect.Dialect{
		Name:      in.text(),
		PreOpens:  dialect.PreOpening(in.text()),
		Placement: dialect.Placement(in.text()),
		Start:     in.text(),
		Output:    dialect.Placement(in.text()),
		Close:     dialect.Closing(in.text()),
		OnDoubt:   dialect.DoubtAction(in.text()),
		AfterTool: dialect.Role(in.text()),
		Code:      in.flag(),
		Stray:     in.flag(),
		MaxMarker: int(int32(in.number())),
		MaxHold:   int(int32(in.number())),
	}
	for n := in.number(); n > 0 && !in.bad; n-- {
		m := dialect.Marker{
			Role: dialect.Role(in.text()), Tag: in.text(), Name: in.text(), Family: in.text(),
			Open: in.list(), Close: in.list(),
		}
		flags := in.number()
		m.Special, m.Phrase, m.Rescue = flags&1 != 0, flags&2 != 0, flags&4 != 0
		d.Markers = append(d.Markers, m)
	}
	if in.number() == 1 {
		d.Header = &dialect.Header{
			Begin: in.list(), Body: in.list(), Lead: in.list(), End: in.list(), Close: in.list(),
			Name: in.list(), Tokens: in.list(), Channels: in.roles(), Recipients: in.roles(),
			Between: dialect.Role(in.text()), MaxHeader: int(int32(in.number())),
		}
	}
	return d
}
