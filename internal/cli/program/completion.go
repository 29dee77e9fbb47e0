package program

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/explain"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// Completion is the command that prints what a shell completes.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" placeholder:"SHELL" help:"bash, zsh or fish."`
}

// Help shows examples.
func (Completion) Help() string {
	return `Examples:

    source <(sotto completion bash)
    sotto completion zsh > "${fpath[1]}/_sotto"
    sotto completion fish > ~/.config/fish/completions/sotto.fish`
}

// Run prints the script.
func (c Completion) Run(sh *shell.Shell, names *dialectset.Set, app *kong.Application, p *Program) error {
	sets := map[string][]string{
		"start":     {"outside", "inside", "auto"},
		"end":       {"stopped", "cut", "aborted", "unknown"},
		"narration": {"text", "drop"},
	}
	for _, f := range settings.Flags() {
		if f.Words != nil {
			sets["serve "+f.Name] = f.Words
		}
	}
	// A shell expands these words again, so names that it would expand are left
	// out.
	rows := slices.DeleteFunc(names.Dialects(), func(d dialect.Dialect) bool { return !plainName.MatchString(d.Name) })
	for _, d := range rows {
		sets["dialect"] = append(sets["dialect"], d.Name)
	}
	if p.Words != nil {
		maps.Copy(sets, p.Words(rows))
	}
	sets["NAME"] = sets["dialect"] // of sotto dialects
	sets["ERROR"] = explain.Names()
	sets["SHELL"] = []string{"bash", "zsh", "fish"}
	var b strings.Builder
	m := &completionModel{name: app.Name, commands: commands(app.Node, nil), words: sets}
	switch c.Shell {
	case "bash":
		m.bash(&b)
	case "zsh":
		m.zsh(&b)
	case "fish":
		m.fish(&b)
	}
	_, err := io.WriteString(sh.Out, b.String())
	return err
}

var plainName = lazyregexp.New(`^[A-Za-z0-9._-]+$`)

// A completionModel is the data for the scripts: the commands, their flags from
// kong's model, and the words that a flag or argument takes.
type completionModel struct {
	name     string // of the program
	commands []completed
	words    map[string][]string // by "COMMAND FLAG" or "FLAG"
}

// A completed is a command, or the line before one. Its words are those of the
// command that runs if no other is named.
type completed struct {
	path []string // its words; none for the whole line
	node *kong.Node
}

func (c completed) name() string { return strings.Join(c.path, " ") }

// commands returns a node and all nodes below it.
func commands(node *kong.Node, path []string) []completed {
	own := node
	if node.DefaultCmd != nil {
		own = node.DefaultCmd
	}
	list := []completed{{path, own}}
	for _, child := range node.Children {
		if !child.Hidden {
			list = append(list, commands(child, append(slices.Clip(path), child.Name))...)
		}
	}
	return list
}

// below returns the commands that may follow one.
func (m *completionModel) below(cmd completed) []completed {
	var list []completed
	for _, c := range m.commands {
		if len(c.path) == len(cmd.path)+1 && slices.Equal(c.path[:len(cmd.path)], cmd.path) {
			list = append(list, c)
		}
	}
	return list
}

// next returns the words of the commands that may follow one.
func (m *completionModel) next(cmd completed) []string {
	var names []string
	for _, c := range m.below(cmd) {
		names = append(names, c.path[len(c.path)-1])
	}
	return names
}

// function is the name of the function in a script.
func (m *completionModel) function() string { return "_" + strings.ReplaceAll(m.name, "-", "_") }

// pattern matches the names of all commands, in the syntax of a shell's case.
func (m *completionModel) pattern() string {
	var names []string
	for _, c := range m.commands[1:] {
		names = append(names, single(c.name()))
	}
	return strings.Join(names, "|")
}

// of returns the words that a flag of a command accepts.
func (m *completionModel) of(cmd completed, f *kong.Flag) []string {
	if own, ok := m.words[cmd.name()+" "+f.Name]; ok {
		return own
	}
	return m.words[f.Name]
}

// flags returns the flags of a command, including those of the whole line.
func (c completed) flags() []*kong.Flag {
	var list []*kong.Flag
	for _, group := range c.node.AllFlags(true) {
		list = append(list, group...)
	}
	return list
}

// takesFile reports whether the value of a flag is a file.
func takesFile(f *kong.Flag) bool {
	return f.PlaceHolder == "FILE" || f.PlaceHolder == "DIR" || f.Name == "reasoning-to"
}

// argument returns the words that may follow a command, and whether a file may
// follow.
func (m *completionModel) argument(cmd completed) (words []string, file bool) {
	words = m.next(cmd)
	if len(cmd.node.Positional) == 0 {
		return words, false
	}
	name := cmd.node.Positional[0].Name
	return append(words, m.words[strings.ToUpper(name)]...), name == "file" || name == "dir"
}

func (m *completionModel) bash(b *strings.Builder) {
	fmt.Fprintf(b, `# bash completion for %s
%s() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${cmd:+$cmd }${COMP_WORDS[i]}" in
        %s) cmd="${cmd:+$cmd }${COMP_WORDS[i]}" ;;
        *) break ;;
        esac
    done
    case $cmd,$prev in
`, m.name, m.function(), m.pattern())
	for _, cmd := range m.commands {
		for _, f := range cmd.flags() {
			if f.IsBool() {
				continue
			}
			source := fmt.Sprintf("-W %q", strings.Join(m.of(cmd, f), " "))
			if takesFile(f) {
				source = "-f"
			}
			fmt.Fprintf(b, "    %s,--%s) COMPREPLY=($(compgen %s -- \"$cur\")); return ;;\n", single(cmd.name()), f.Name, source)
		}
	}
	b.WriteString("    esac\n    local flags= words= file=\n    case $cmd in\n")
	for _, cmd := range m.commands {
		var list []string
		for _, f := range cmd.flags() {
			list = append(list, "--"+f.Name)
		}
		words, file := m.argument(cmd)
		fmt.Fprintf(b, "    %s) flags=%q words=%q", single(cmd.name()), strings.Join(list, " "), strings.Join(words, " "))
		if file {
			b.WriteString(" file=1")
		}
		b.WriteString(" ;;\n")
	}
	fmt.Fprintf(b, `    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
        return
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ $file ]]; then
        COMPREPLY+=($(compgen -f -- "$cur"))
    fi
}
complete -o filenames -F %s %s
`, m.function(), m.name)
}

func (m *completionModel) zsh(b *strings.Builder) {
	fmt.Fprintf(b, `#compdef %s
%s() {
    local cmd= i
    local -a commands
    for ((i = 2; i < CURRENT; i++)); do
        case "${cmd:+$cmd }$words[i]" in
        %s) cmd="${cmd:+$cmd }$words[i]" ;;
        *) break ;;
        esac
    done
    shift $((i - 2)) words
    ((CURRENT -= i - 2))
    case $cmd in
`, m.name, m.function(), m.pattern())
	for _, cmd := range m.commands {
		fmt.Fprintf(b, "    %s)\n", single(cmd.name()))
		if below := m.below(cmd); below != nil {
			b.WriteString("        if ((CURRENT == 2)); then\n            commands=(\n")
			for _, c := range below {
				fmt.Fprintf(b, "                %s\n", single(c.path[len(c.path)-1]+":"+c.node.Help))
			}
			b.WriteString("            )\n            _describe command commands\n        fi\n")
		}
		b.WriteString("        _arguments")
		for _, f := range cmd.flags() {
			spec := "--" + f.Name
			help := "[" + zshText(f.Help) + "]"
			if f.IsBool() {
				spec += help
			} else {
				spec += "=" + help + ":" + f.Name + ":" + zshAction(m.of(cmd, f), takesFile(f))
			}
			b.WriteString(" \\\n        " + single(spec))
		}
		if words, file := m.argument(cmd); file || words != nil {
			b.WriteString(" \\\n        " + single("1:argument:"+zshAction(words, file)))
		}
		b.WriteString(" ;;\n")
	}
	fmt.Fprintf(b, "    esac\n}\nif [[ $funcstack[1] == %[1]s ]]; then %[1]s \"$@\"; else compdef %[1]s %[2]s; fi\n", m.function(), m.name)
}

func zshAction(words []string, file bool) string {
	if file {
		return "_files"
	}
	return "(" + strings.Join(words, " ") + ")"
}

// zshText escapes the characters in a description that are special to _arguments.
func zshText(s string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}

func (m *completionModel) fish(b *strings.Builder) {
	fmt.Fprintf(b, "# fish completion for %[1]s\ncomplete -c %[1]s -f\n", m.name)
	for _, cmd := range m.commands {
		var seen []string
		for _, word := range cmd.path {
			seen = append(seen, "__fish_seen_subcommand_from "+word)
		}
		before := slices.Clone(seen)
		if next := m.next(cmd); next != nil {
			before = append(before, "not __fish_seen_subcommand_from "+strings.Join(next, " "))
		}
		for _, c := range m.below(cmd) {
			fmt.Fprintf(b, "complete -c %s -n %s -a %s -d %s\n",
				m.name, single(strings.Join(before, "; and ")), c.path[len(c.path)-1], single(c.node.Help))
		}
		if len(cmd.path) == 0 {
			continue
		}
		when := "complete -c " + m.name + " -n " + single(strings.Join(seen, "; and "))
		for _, f := range cmd.flags() {
			fmt.Fprintf(b, "%s -l %s -d %s", when, f.Name, single(f.Help))
			switch {
			case takesFile(f):
				b.WriteString(" -r -F")
			case !f.IsBool():
				fmt.Fprintf(b, " -x -a %s", single(strings.Join(m.of(cmd, f), " ")))
			}
			b.WriteByte('\n')
		}
		words, file := m.argument(cmd)
		words = words[len(m.next(cmd)):]
		if file {
			fmt.Fprintf(b, "%s -F\n", when)
		} else if words != nil {
			fmt.Fprintf(b, "%s -a %s\n", when, single(strings.Join(words, " ")))
		}
	}
}

// single quotes a word for a shell.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
