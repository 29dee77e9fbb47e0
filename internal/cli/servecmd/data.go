package servecmd

import (
	"errors"
	"os"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

// checkData refuses a data folder that this version must not use. This comes before the
// gateway that runs is asked to end.
func (p *parts) checkData() error { return datafolder.Check(p.s.Gateway.Data) }

// openData opens the data folder, and brings an older format up to date. This comes
// after the gateway that ran has ended, because it knows the older format only. A gateway
// whose folder cannot be written serves without one.
func (p *parts) openData() error {
	name := p.s.Gateway.Data
	if err := checkFolder(name); err != nil {
		p.log.Warn("what this run learns about how replies begin will not be saved", "data", name, "error", err.Error())
		return nil
	}
	return datafolder.Open(name)
}

// checkFolder makes the data folder, and checks that it can write there.
func checkFolder(name string) error {
	if name == "" {
		return errors.New("there is no folder for it: name one with --data")
	}
	if err := os.MkdirAll(name, 0o700); err != nil {
		return files.Cause(err)
	}
	file, err := os.CreateTemp(name, "try-")
	if err != nil {
		return files.Cause(err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
