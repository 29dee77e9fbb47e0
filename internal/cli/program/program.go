// Package program is the frame of a command line: parsing, exit statuses, the
// environment, the version and the completion. A program passes in its commands, and
// what they need: the frame knows none of them. The contract is section 6 of
// docs/design.md.
package program

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// Whole is the name of the program that has all commands. The texts of commands name it.
const Whole = "sotto"

// A Program is a command line.
type Program struct {
	Name        string
	Description string
	// Begin says what to do if no command is given.
	Begin string
	// Line is the type of the structure that kong reads. It embeds [Common], and its fields
	// with the tag cmd are the commands.
	Line reflect.Type
	// New returns a pointer to such a structure. The fields in without are not used.
	New func(without []string) any
	// Bind returns what commands get beside the shell, the catalogue, the tree of commands
	// and the program. It may be nil.
	Bind func(*kong.Context) []any
	// Words are those that the completion knows for flags, of these dialects. It may be nil.
	Words func([]dialect.Dialect) map[string][]string
	// Elsewhere are the commands that only the program [Whole] has.
	Elsewhere []string
}

// Common has the flags of every program.
type Common struct {
	DialectFile []string `name:"dialect-file" sep:"none" placeholder:"FILE" setting:"SOTTO_DIALECT_FILE" help:"Add the dialects of FILE (JSON); repeatable."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

func (c *Common) dialectFiles() []string { return c.DialectFile }

// Main runs the command line of the process and returns its exit status. Another
// process of the same program that started this one has said which variables are
// misspelled.
func (p *Program) Main(started bool) int {
	if !started {
		sh := p.shell(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
		for _, text := range environment.Misspelled(os.Environ(), p.Variables) {
			sh.Hintf("%s", text)
		}
	}
	return p.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
}

// Run runs one command and returns its exit status. An environment variable counts
// as unset if getenv returns "" for it.
func (p *Program) Run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) (status int) {
	sh := p.shell(stdin, stdout, stderr, getenv)
	defer func() {
		if v := recover(); v != nil {
			exit, ok := v.(helpShown)
			if !ok {
				panic(v)
			}
			status = int(exit)
		}
	}()
	return sh.Report(p.run(args, sh))
}

// helpShown is the panic value with which kong's help leaves the parser, which
// would otherwise continue.
type helpShown int

func (p *Program) shell(stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) *shell.Shell {
	sh := shell.New(stdin, stdout, stderr, getenv)
	if p.Name != Whole {
		sh.Program, sh.Own = p.Name, p.own()
	}
	return sh
}

func (p *Program) run(args []string, sh *shell.Shell) error {
	if len(args) > 0 && args[0] == "help" { // as people also ask
		args = append(slices.Clone(args[1:]), "--help")
	}
	without := p.NotNeeded(args)
	line := p.New(without)
	parser, err := p.Parser(line, sh, without...)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errorhint.Usage(errors.New("no command"), p.Begin)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return p.parseError(err, args[0])
	}
	catalogue, err := dialectset.Load(line.(interface{ dialectFiles() []string }).dialectFiles())
	if err != nil {
		return err
	}
	bound := []any{sh, catalogue, parser.Model, p}
	if p.Bind != nil {
		bound = append(bound, p.Bind(ctx)...)
	}
	if err := ctx.Run(bound...); err != nil {
		return err
	}
	return sh.Flush()
}

// Parser makes the parser of a structure that [Program.New] made, without the commands
// in some fields.
func (p *Program) Parser(line any, sh *shell.Shell, without ...string) (*kong.Kong, error) {
	options := []kong.Option{
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.Writers(sh.Text, sh.Err),
		kong.Exit(func(status int) { panic(helpShown(status)) }),
		kong.Resolvers(environment.Resolver(sh.Getenv)),
		kong.ValueFormatter(environment.Describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
	}
	if len(without) > 0 {
		options = append(options, kong.IgnoreFields(`^`+p.Line.Name()+`\.(?:`+strings.Join(without, "|")+`)$`))
	}
	parser, err := kong.New(line, options...)
	if err == nil && p.Name != Whole {
		err = p.rename(parser.Model)
	}
	return parser, err
}

// A command is a field of the structure of a program.
type command struct{ field, name string }

// commands are those of the program.
func (p *Program) commands() (list []command) {
	for field := range p.Line.Fields() {
		if _, ok := field.Tag.Lookup("cmd"); ok {
			list = append(list, command{field.Name, cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name))})
		}
	}
	return list
}

// NotNeeded are the fields of the commands other than the one that the arguments begin
// with, or all if they only ask for the version: kong takes half a millisecond to describe each of them to itself. The parser of
// everything else, such as sotto --help or a misspelled command, has all.
func (p *Program) NotNeeded(args []string) []string {
	if len(args) == 0 || args[0] == "completion" { // which prints all commands
		return nil
	}
	var others []string
	found := len(args) == 1 && args[0] == "--version"
	for _, c := range p.commands() {
		if c.name == args[0] {
			found = true
		} else {
			others = append(others, c.field)
		}
	}
	if !found {
		return nil
	}
	return others
}

// Variables are the environment variables that set flags or hold secrets of the gateway.
func (p *Program) Variables() []string {
	list := append(environment.Settings(p.Line), settings.Variables()...)
	slices.Sort(list)
	return slices.Compact(list)
}

// Tree returns all commands with their flags and help, for pages that describe them.
func (p *Program) Tree() (*kong.Application, error) {
	parser, err := p.Parser(p.New(nil), shell.New(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" }))
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// parseError turns an error of kong into a usage error, with the help that applies.
func (p *Program) parseError(err error, first string) error {
	if slices.Contains(p.Elsewhere, first) {
		return shell.Missing(first)
	}
	help := fmt.Sprintf(`run "%s --help"`, p.Name)
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Selected() != nil {
		help = fmt.Sprintf("run %q", parse.Context.Selected().FullPath()+" --help")
	}
	return errorhint.Usage(err, help)
}

// own returns what changes the texts of commands, which name the program [Whole], so
// that they name the commands of this one.
func (p *Program) own() func(string) string {
	var names []string
	for _, c := range p.commands() {
		names = append(names, regexp.QuoteMeta(c.name))
	}
	named := regexp.MustCompile(`\b` + Whole + ` (` + strings.Join(names, "|") + `)\b`)
	return func(text string) string {
		if !strings.Contains(text, Whole+" ") { // most texts, of the log too
			return text
		}
		return named.ReplaceAllString(text, p.Name+" $1")
	}
}

// rename lets the help of all commands name this program.
func (p *Program) rename(app *kong.Application) error {
	own := p.own()
	return kong.Visit(app, func(v kong.Visitable, next kong.Next) error {
		switch v := v.(type) {
		case *kong.Application:
			v.Help, v.Detail = own(v.Help), own(v.Detail)
		case *kong.Node:
			v.Help, v.Detail = own(v.Help), own(v.Detail)
		case *kong.Flag:
			v.Help = own(v.Help)
		case *kong.Positional:
			v.Help = own(v.Help)
		}
		return next(nil)
	})
}
