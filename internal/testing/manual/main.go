// Command manual writes the manual pages: one for each command of each program, from the
// trees that --help shows, and sotto.yaml(5), from the tables of docs/reference/settings.md.
//
//	go run ./internal/testing/manual -version 1.2.0 DIR
//
// The date of the pages is that of SOURCE_DATE_EPOCH, so that two builds of one
// commit write the same bytes. Without it, it is today's.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli"
	"github.com/sotto-llm/sotto/internal/cli/operator"
)

func main() {
	version := flag.String("version", "(devel)", "the version that the pages name")
	guide := flag.String("guide", "docs/reference/settings.md", "the file with the tables of settings")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: manual [-version VERSION] [-guide FILE] DIR")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *version, *guide); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func run(dir, version, guide string) error {
	at, err := buildDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		return err
	}
	pages, err := all(edition{version: version, date: at.Format(time.DateOnly)}, string(text))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// buildDate is the time that the environment names in seconds, or now.
func buildDate(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// all returns every page by the name of its file.
func all(e edition, guide string) (map[string]string, error) {
	pages := map[string]string{}
	for _, program := range []func() (*kong.Application, error){cli.Tree, operator.Tree} {
		tree, err := program()
		if err != nil {
			return nil, err
		}
		for _, node := range nodes(tree.Node) {
			pages[pageName(node)+".1"] = e.command(node)
		}
	}
	rows, err := settingRows(guide)
	if err != nil {
		return nil, err
	}
	pages["sotto.yaml.5"] = e.configuration(rows)
	return pages, nil
}
