// Command table writes dialects.json as Go values: table.go has what a reading needs, and
// notes.go what is for people. It runs in the folder of package dialect, by go generate.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
)

// notes are what a dialect has for people. Package dialect has the same type.
type notes struct {
	Title         string
	Sources       []string
	PreOpensSince string
	Prompt        string
}

func main() {
	log.SetFlags(0)
	data, err := os.ReadFile("dialects.json")
	if err != nil {
		log.Fatal(err)
	}
	list, err := dialectfile.Parse(data)
	if err != nil {
		log.Fatalf("dialects.json: %v", err)
	}
	var people []notes
	for i := range list {
		d := &list[i]
		people = append(people, notes{d.Title, d.Sources, d.PreOpensSince, d.Prompt})
		d.Title, d.Sources, d.PreOpensSince, d.Prompt = "", nil, "", ""
	}
	write("table.go", "", "// table is initialised by the linker, except its maps.\nvar table = ", list)
	write("notes.go", "//go:build !sotto_shipped\n\n", `func init() {
		for i, n := range allNotes {
			d := &table[i]
			d.Title, d.Sources, d.PreOpensSince, d.Prompt = n.Title, n.Sources, n.PreOpensSince, n.Prompt
		}
	}

	var allNotes = `, people)
}

// write writes a file with one variable.
func write(name, constraint, before string, list any) {
	var out bytes.Buffer
	out.WriteString("// Code generated from dialects.json by go generate. DO NOT EDIT.\n\n" + constraint + "package dialect\n\n" + before)
	value(&out, reflect.ValueOf(list))
	out.WriteString("\n")
	source, err := format.Source(out.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(name, source, 0o644); err != nil {
		log.Fatal(err)
	}
}

// value writes a value as Go source. Fields that have their zero value are left out.
func value(out *bytes.Buffer, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		fmt.Fprintf(out, "%q", v.String())
	case reflect.Bool, reflect.Int:
		fmt.Fprint(out, v.Interface())
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Bool {
			fmt.Fprint(out, map[bool]string{true: "&on", false: "new(false)"}[v.Elem().Bool()])
			return
		}
		out.WriteString("&")
		value(out, v.Elem())
	case reflect.Slice:
		fmt.Fprintf(out, "[]%s{", v.Type().Elem().Name())
		for _, e := range v.Seq2() {
			if e.Kind() == reflect.Struct {
				out.WriteString("\n")
				fields(out, e)
			} else {
				value(out, e)
			}
			out.WriteString(",")
		}
		out.WriteString("}")
	case reflect.Map:
		fmt.Fprintf(out, "map[string]%s{", v.Type().Elem().Name())
		roles := v.Interface().(map[string]dialect.Role)
		for _, name := range slices.Sorted(maps.Keys(roles)) {
			fmt.Fprintf(out, "%q: %q,", name, roles[name])
		}
		out.WriteString("}")
	case reflect.Struct:
		out.WriteString(v.Type().Name())
		fields(out, v)
	default:
		log.Fatalf("a field of type %s: write how it looks in Go source", v.Type())
	}
}

// fields writes the fields of a struct in braces.
func fields(out *bytes.Buffer, v reflect.Value) {
	out.WriteString("{")
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		fmt.Fprintf(out, "\n%s: ", v.Type().Field(i).Name)
		value(out, v.Field(i))
		out.WriteString(",")
	}
	out.WriteString("\n}")
}
