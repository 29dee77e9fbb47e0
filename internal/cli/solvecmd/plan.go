package solvecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/base/spelling"
	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/model"
)

// studyFlags are the flags that a study sets itself, or that a cell has no use for.
var studyFlags = []string{"help", "output", "resume", "memory", "data", "csv", "html", "json", "quiet", "record", "record-recipient", "identity"}

// placeFlags say where something is, or how much is done. They do not decide the
// results of a problem.
var placeFlags = []string{"url", "key-file", "budget-tokens", "budget-cost", "budget-time"}

// Planner plans the cells of a study whose base is a stream: the keys of its settings
// are the flags of sotto solve stream.
func Planner(sh *shell.Shell, names *dialectset.Set, f *study.File) study.Planner {
	counts := map[string]func() (int, error){}
	return func(c study.Case) (*study.Plan, error) {
		x, flags, args, err := parseCase(sh, f, c)
		if err != nil {
			return nil, err
		}
		p := describe(f, c, flags)
		p.Args = append([]string{"solve", "stream"}, args...)
		key := fmt.Sprint(x.Task, x.TaskFile, x.Problems, x.Replies, x.InputField, x.GoldField, x.Field, x.Where)
		count := counts[key]
		if count == nil {
			n, err := x.checked(sh, names)
			count = func() (int, error) { return n, err }
			counts[key] = count
		}
		n, err := count()
		if err != nil {
			return nil, &study.Faulty{Faults: []yamlfile.Fault{faultOf(f, c, err)}}
		}
		if x.Limit > 0 {
			n = min(n, x.Limit)
		}
		p.Remembers = x.remembers()
		p.Calls = int64(n) * int64(len(x.Temperatures))
		x.ask(p)
		return p, nil
	}
}

// parseCase parses the flags of a cell as the command would. It returns the flags
// that a cell can have, by name, and the arguments.
func parseCase(sh *shell.Shell, f *study.File, c study.Case) (*streamCommand, map[string]*kong.Flag, []string, error) {
	x := &streamCommand{}
	parser, err := kong.New(x, kong.Name("sotto solve stream"), kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard),
		kong.Resolvers(environment.Resolver(sh.Getenv)))
	if err != nil {
		return nil, nil, nil, err
	}
	flags := map[string]*kong.Flag{}
	var known []string
	for _, flag := range parser.Model.Flags {
		if !slices.Contains(studyFlags, flag.Name) {
			flags[flag.Name] = flag
			known = append(known, flag.Name)
		}
	}
	var args []string
	var faults []yamlfile.Fault
	for _, s := range c.Settings {
		flag := flags[s.Key]
		switch {
		case slices.Contains(studyFlags, s.Key):
			faults = append(faults, s.Fault(fmt.Errorf("the study sets %s itself", s.Key)))
			continue
		case flag == nil:
			faults = append(faults, s.Fault(fmt.Errorf("unknown flag of sotto solve: %s", spelling.DidYouMean(s.Key, known, "the flags are"))))
			continue
		}
		words, err := s.Words()
		if err != nil {
			faults = append(faults, s.Fault(err))
		}
		for _, word := range words {
			args = append(args, flagOf(f, flag, s, word))
		}
	}
	if len(faults) > 0 {
		return nil, nil, nil, &study.Faulty{Faults: faults}
	}
	if _, err := parser.Parse(args); err != nil {
		return nil, nil, nil, &study.Faulty{Faults: []yamlfile.Fault{faultOf(f, c, err)}}
	}
	return x, flags, args, nil
}

// flagOf writes a flag. A file is relative to the study's file, and to the working
// directory if --set names it.
func flagOf(f *study.File, flag *kong.Flag, s study.Setting, word string) string {
	if isFile(flag) && !strings.HasPrefix(s.At, "--set ") {
		word = f.Path(word)
	}
	return "--" + flag.Name + "=" + word
}

func isFile(flag *kong.Flag) bool { return flag.PlaceHolder == "FILE" }

// faultOf finds the setting that an error is about, by the flag that it names.
func faultOf(f *study.File, c study.Case, err error) yamlfile.Fault {
	for _, s := range c.Settings {
		if strings.Contains(err.Error(), "--"+s.Key) {
			return s.Fault(err)
		}
	}
	return f.BaseFault(err)
}

// describe says what the settings of a cell are, and which files they name.
func describe(f *study.File, c study.Case, flags map[string]*kong.Flag) *study.Plan {
	p := &study.Plan{Roles: map[string]string{}}
	settings := map[string][]string{}
	sorted := slices.Clone(c.Settings)
	slices.SortFunc(sorted, func(a, b study.Setting) int { return cmp.Compare(a.Key, b.Key) })
	for _, s := range sorted {
		words, _ := s.Words() // parseCase has checked them
		switch {
		case slices.Contains(placeFlags, s.Key):
		case isFile(flags[s.Key]):
			for _, word := range words {
				_, name, _ := strings.Cut(flagOf(f, flags[s.Key], s, word), "=")
				p.Files = append(p.Files, name)
				p.Roles[name] = s.Key
			}
			settings[s.Key] = []string{"file"}
		default:
			settings[s.Key] = words
		}
	}
	p.Settings = settings
	return p
}

// checked reads the problems and the replies, and returns the number of problems.
func (x *streamCommand) checked(sh *shell.Shell, names *dialectset.Set) (int, error) {
	if x.Problems == "-" || x.Replies == "-" {
		return 0, errors.New("--problems, --replies: a study reads files, not standard input")
	}
	task, err := findTask(x.Task, x.TaskFile)
	if err != nil {
		return 0, err
	}
	list, err := x.problems(sh, task)
	if err != nil {
		return 0, err
	}
	_, err = x.options(sh, names, task)
	return len(list), err
}

// ask says which server the stream needs.
func (x *streamCommand) ask(p *study.Plan) {
	if x.Replies != "" || x.Script != "" || x.Model == "" || x.Model == scriptedName {
		return
	}
	p.Server, p.Model = cmp.Or(x.URL, x.Provider), x.Model
	p.CheckKey = fmt.Sprint(x.Provider, " ", x.URL, " ", x.KeyFile, " ", x.Model, " ", x.Embed)
	p.Check = func(ctx context.Context) error {
		for _, name := range []string{x.Model, x.Embed} {
			if name == "" {
				continue
			}
			m, err := x.modelFlags.Open(name)
			if err != nil {
				return err
			}
			if c, ok := m.(model.Checker); ok {
				if _, err := c.Check(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	}
}
