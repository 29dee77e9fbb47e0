package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" placeholder:"SHELL" help:"bash, zsh or fish."`
}

// Help shows examples.
func (completionCommand) Help() string {
	return `Examples:

    source <(sotto completion bash)
    sotto completion zsh > "${fpath[1]}/_sotto"
    sotto completion fish > ~/.config/fish/completions/sotto.fish`
}

// Run prints the script.
func (c completionCommand) Run(sh *shell, names *catalogue, app *kong.Application) error {
	sets := map[string][]string{
		"start":     {"outside", "inside", "auto"},
		"end":       {"stopped", "cut", "aborted", "unknown"},
		"narration": {"text", "drop"},

		"serve narration": words(gateway.Narrations),
		"display":         words(gateway.Displays),
		"history":         words(gateway.Policies),
		"log-format":      {"text", "json"},
	}
	// A shell reads the words once more: names that it would expand stay out.
	rows := slices.DeleteFunc(names.dialects(), func(d sotto.Dialect) bool { return !plainName.MatchString(d.Name) })
	for _, d := range rows {
		sets["dialect"] = append(sets["dialect"], d.Name)
	}
	sets["prompt"] = withPrompt(rows)
	sets["NAME"] = sets["dialect"] // of sotto dialects
	sets["SHELL"] = []string{"bash", "zsh", "fish"}
	var b strings.Builder
	m := &completionModel{commands: app.Leaves(true), words: sets}
	switch c.Shell {
	case "bash":
		m.bash(&b)
	case "zsh":
		m.zsh(&b)
	case "fish":
		m.fish(&b)
	}
	_, err := io.WriteString(sh.out, b.String())
	return err
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// A completionModel is what the scripts know: the commands, their flags from
// kong's model, and the words that a flag or argument takes.
type completionModel struct {
	commands []*kong.Node
	words    map[string][]string // by "COMMAND FLAG" or "FLAG"
}

// of returns the words that a flag of a command takes.
func (m *completionModel) of(cmd *kong.Node, f *kong.Flag) []string {
	if own, ok := m.words[cmd.Name+" "+f.Name]; ok {
		return own
	}
	return m.words[f.Name]
}

// flags returns the flags of a command, those of the whole line included.
func flags(cmd *kong.Node) []*kong.Flag {
	var list []*kong.Flag
	for _, group := range cmd.AllFlags(true) {
		list = append(list, group...)
	}
	return list
}

// takesFile reports whether the value of a flag is a file.
func takesFile(f *kong.Flag) bool { return f.PlaceHolder == "FILE" || f.Name == "reasoning-to" }

// argument returns the words of a command's argument, and whether it is a file.
func (m *completionModel) argument(cmd *kong.Node) (words []string, file bool) {
	if len(cmd.Positional) == 0 {
		return nil, false
	}
	name := cmd.Positional[0].Name
	return m.words[strings.ToUpper(name)], name == "file"
}

func (m *completionModel) names() []string {
	var names []string
	for _, cmd := range m.commands {
		names = append(names, cmd.Name)
	}
	return names
}

func (m *completionModel) bash(b *strings.Builder) {
	b.WriteString("# bash completion for sotto\n_sotto() {\n")
	b.WriteString("    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]}\n")
	b.WriteString("    COMPREPLY=()\n")
	fmt.Fprintf(b, "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W %q -- \"$cur\"))\n        return\n    fi\n", strings.Join(m.names(), " "))
	b.WriteString("    case $cmd,$prev in\n")
	for _, cmd := range m.commands {
		for _, f := range flags(cmd) {
			if f.IsBool() {
				continue
			}
			source := fmt.Sprintf("-W %q", strings.Join(m.of(cmd, f), " "))
			if takesFile(f) {
				source = "-f"
			}
			fmt.Fprintf(b, "    %s,--%s) COMPREPLY=($(compgen %s -- \"$cur\")); return ;;\n", cmd.Name, f.Name, source)
		}
	}
	b.WriteString("    esac\n    local flags= words= file=\n    case $cmd in\n")
	for _, cmd := range m.commands {
		var list []string
		for _, f := range flags(cmd) {
			list = append(list, "--"+f.Name)
		}
		words, file := m.argument(cmd)
		fmt.Fprintf(b, "    %s) flags=%q words=%q", cmd.Name, strings.Join(list, " "), strings.Join(words, " "))
		if file {
			b.WriteString(" file=1")
		}
		b.WriteString(" ;;\n")
	}
	b.WriteString(`    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    elif [[ $file ]]; then
        COMPREPLY=($(compgen -f -- "$cur"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}
complete -o filenames -F _sotto sotto
`)
}

func (m *completionModel) zsh(b *strings.Builder) {
	b.WriteString("#compdef sotto\n_sotto() {\n    if ((CURRENT == 2)); then\n        local -a commands=(\n")
	for _, cmd := range m.commands {
		fmt.Fprintf(b, "            %s\n", single(cmd.Name+":"+cmd.Help))
	}
	b.WriteString("        )\n        _describe command commands\n        return\n    fi\n    local cmd=$words[2]\n    shift words\n    ((CURRENT--))\n    case $cmd in\n")
	for _, cmd := range m.commands {
		fmt.Fprintf(b, "    %s) _arguments", cmd.Name)
		for _, f := range flags(cmd) {
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
	b.WriteString("    esac\n}\nif [[ $funcstack[1] == _sotto ]]; then _sotto \"$@\"; else compdef _sotto sotto; fi\n")
}

func zshAction(words []string, file bool) string {
	if file {
		return "_files"
	}
	return "(" + strings.Join(words, " ") + ")"
}

// zshText escapes what _arguments reads in a description.
func zshText(s string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}

func (m *completionModel) fish(b *strings.Builder) {
	b.WriteString("# fish completion for sotto\ncomplete -c sotto -f\n")
	for _, cmd := range m.commands {
		fmt.Fprintf(b, "complete -c sotto -n __fish_use_subcommand -a %s -d %s\n", cmd.Name, single(cmd.Help))
	}
	for _, cmd := range m.commands {
		when := fmt.Sprintf("complete -c sotto -n '__fish_seen_subcommand_from %s'", cmd.Name)
		for _, f := range flags(cmd) {
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
		if file {
			fmt.Fprintf(b, "%s -F\n", when)
		} else if words != nil {
			fmt.Fprintf(b, "%s -a %s\n", when, single(strings.Join(words, " ")))
		}
	}
}

// single quotes a word for a shell.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
