// Command sotto-demo shows what Sotto does: it streams scripted replies with faults of
// real models, and separates what each model thinks from what it says. It compiles in
// seconds, because it has no part of sotto that it does not need.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/reply/demo"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

const next = `
What to try next:

  a reply of yours   printf 'Let me see.\n</think>\nYes.' | go run ./cmd/sotto strip --model deepseek-r1
  a log of yours     go run ./cmd/sotto leaks requests.jsonl
  a model server     go run ./cmd/sotto serve --upstream http://localhost:11434
  in Go              go get github.com/sotto-llm/sotto
  everything else    go run ./cmd/sotto --help

The first "go run ./cmd/sotto" compiles the whole program, which takes about two minutes.
`

func run(args []string, out, errs io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintf(errs, "sotto-demo: error: unexpected argument %q: sotto-demo takes none; to see your own replies, use: sotto demo replies.jsonl\n", args[0])
		return 2
	}
	watched := isTerminal(out)
	w := typeset.New(out, watched && typeset.HasColour(os.Getenv))
	err := demo.NewShow(w, watched, func(line int, err error) {
		fmt.Fprintf(errs, "sotto-demo: error: line %d: %v\n", line, err)
	}).Run(demo.Scripted())
	if err != nil {
		fmt.Fprintf(errs, "sotto-demo: error: %v\n", err)
		return 1
	}
	w.WriteString(next)
	if err := w.Flush(); err != nil {
		fmt.Fprintf(errs, "sotto-demo: error: write: %v\n", err)
		return 1
	}
	return 0
}

// isTerminal reports whether a stream is a terminal. The only other character device that
// a user may name here is the null device.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
