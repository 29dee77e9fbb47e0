package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// A command says and knows the same whether or not the parser has the others.
func TestNeeded(t *testing.T) {
	quiet := func(string) string { return "" }
	var all commandLine
	parser, err := newParser(&all, shell.New(strings.NewReader(""), nil, nil, quiet))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Children {
		var line commandLine
		args := []string{command.Name, "--help"}
		one, err := newParser(&line, shell.New(strings.NewReader(""), nil, nil, quiet), notNeeded(args)...)
		if err != nil {
			t.Fatalf("%s: %v", command.Name, err)
		}
		if n := len(one.Model.Children); n != 1 && command.Name != "completion" {
			t.Errorf("%s: the parser has %d commands", command.Name, n)
		}
		var help, whole bytes.Buffer
		Run(args, strings.NewReader(""), &help, &help, quiet)
		// With a flag of the root first, the parser has every command.
		Run(append([]string{"--dialect-file=nosuch"}, args...), strings.NewReader(""), &whole, &whole, quiet)
		if help.String() != whole.String() || help.Len() < 100 {
			t.Errorf("%s --help:\n%s\nand with all commands:\n%s", command.Name, &help, &whole)
		}
	}
	if notNeeded(nil) != nil || notNeeded([]string{"--help"}) != nil || notNeeded([]string{"nosuch"}) != nil {
		t.Error("a parser without a command has not all of them")
	}
}

// A command that does nothing costs little: the parser describes one command, not all.
func TestParserIsLean(t *testing.T) {
	n := testing.AllocsPerRun(3, func() {
		if status := Run([]string{"version"}, strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" }); status != 0 {
			t.Fatal(status)
		}
	})
	t.Logf("%v allocations", n)
	if n > 3000 {
		t.Errorf("%v allocations", n)
	}
}
