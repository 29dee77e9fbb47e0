package servecmd

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// Flags makes the flags of all settings, for [Command]: a structure with a field for each,
// as kong reads it.
func Flags() kong.Plugins {
	var fields []reflect.StructField
	for i, f := range settings.Flags() {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Flag%d", i), Type: typeOf(f), Tag: tagOf(f)})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

func typeOf(f settings.Flag) reflect.Type {
	switch {
	case f.List:
		return reflect.TypeFor[[]string]()
	case f.Placeholder == "":
		return reflect.TypeFor[toggle]()
	}
	return reflect.TypeFor[string]()
}

func tagOf(f settings.Flag) reflect.StructTag {
	var b strings.Builder
	add := func(name, text string) { fmt.Fprintf(&b, " %s:%q", name, text) }
	add("name", f.Name)
	add("help", strings.ReplaceAll(f.Help, "$", "$$")) // kong expands ${…}
	if f.Short != "" {
		add("short", f.Short)
	}
	if f.Placeholder != "" {
		add("placeholder", f.Placeholder)
	}
	if f.Negatable {
		add("negatable", "")
	}
	if f.List {
		add("sep", "none")
	}
	if !commas(f) {
		add("setting", f.Variable)
	}
	return reflect.StructTag(b.String()[1:])
}

// commas reports whether the items in a flag's variable have commas between them. The
// others are read by [environment.Resolver].
func commas(f settings.Flag) bool { return f.List && !f.Colons }

// settings collects the settings from the command line and from all lower levels.
func (c *Command) settings(names *dialectset.Set, ctx *kong.Context, getenv func(string) string) (*settings.Setup, error) {
	sources := settings.Sources{
		File: c.Config, Getenv: getenv, Overrides: c.overrides(ctx, getenv), NoAgents: c.Agents == nil,
		Given: func(flag string) bool { return environment.Given(ctx, flag) },
	}
	c.again = func(running *settings.Setup) (*settings.Setup, error) {
		from := sources
		from.Running = running
		return settings.Read(from, names)
	}
	c.old = func(file string) (*settings.Setup, error) { return settings.ReadOld(sources, file) }
	return settings.Read(sources, names)
}

// overrides are the settings that flags and their variables make.
func (c *Command) overrides(ctx *kong.Context, getenv func(string) string) []settings.Override {
	var list []settings.Override
	values := reflect.ValueOf(c.Settings[0]).Elem()
	for i, f := range settings.Flags() {
		var texts []string
		switch v := values.Field(i).Interface().(type) {
		case string:
			texts = []string{v}
		case toggle:
			texts = []string{string(v)}
		case []string:
			texts = v
		}
		if text := getenv(f.Variable); len(texts) == 0 && commas(f) && text != "" {
			texts = strings.Split(text, ",") // an origin contains colons
		}
		if len(texts) == 0 || texts[0] == "" {
			continue
		}
		name := f.Variable
		if environment.Given(ctx, f.Name) {
			name = "--" + f.Name
		}
		list = append(list, settings.Override{Key: f.Key, Name: name, Texts: texts})
	}
	return list
}
