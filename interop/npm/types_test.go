package npm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/interop/internal/displays"
)

// speaks are the folders that know the members of an API, below the module.
var speaks = map[string][]string{
	"chat": {"wire/openai"}, "responses": {"wire/openai/responses", "wire/openai"}, "messages": {"wire/anthropic"}, "gemini": {"wire/gemini"},
	"bedrock": {"wire/bedrock"}, "cohere": {"wire/cohere"}, "ollama": {"wire/ollama"},
}

// TestTypes: the members that the SDKs' types declare, and that Sotto does not know, are those that
// docs/members.md lists. A new version of an SDK with another member fails here.
func TestTypes(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	known := map[string][]string{}
	for api, folders := range speaks {
		names := map[string]bool{}
		for _, folder := range append(folders, "internal/data/chatjson", "wire/shown", "wire/switches") {
			readSource(t, filepath.Join("../..", folder), names)
		}
		for _, kind := range []string{"members", "replies", "ordinary"} {
			data, err := os.ReadFile(filepath.Join("../../gateway/internal/bridging/testdata", kind, api+".json"))
			if err != nil {
				t.Fatal(err)
			}
			addNames(names, string(data))
		}
		known[api] = slices.Sorted(maps.Keys(names))
	}
	in, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./node/run", "types.js")
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(in)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	var found map[string]map[string]map[string][]string
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| API | of requests | of replies |\n| --- | --- | --- |\n")
	for _, api := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "| `%s` |", api)
		for _, side := range []string{"request", "reply"} {
			names := slices.Sorted(maps.Keys(found[api][side]))
			for i, name := range names {
				names[i] = "`" + name + "`"
			}
			fmt.Fprintf(&b, " %s |", strings.Join(names, ", "))
		}
		b.WriteString("\n")
	}
	displays.CheckDocument(t, "../../docs/members.md", "members that are not known, from: go test ./npm -run Types -update", b.String(), *update)
}

// wordLike is a name in the code of a codec or in a sample.
var wordLike = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.-]*`)

func addNames(names map[string]bool, text string) {
	for _, word := range wordLike.FindAllString(text, -1) {
		for _, part := range strings.Split(word, ".") {
			names[part] = true
		}
		names[word] = true
	}
}

// readSource adds the words in the texts of a folder's code.
func readSource(t *testing.T, folder string, names map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range textLike.FindAllString(string(src), -1) {
			addNames(names, text)
		}
	}
}

var textLike = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`")
