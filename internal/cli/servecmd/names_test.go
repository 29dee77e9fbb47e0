package servecmd

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/explain"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// TestNames: each name has an entry. One that is found by its message has a message.
func TestNames(t *testing.T) {
	for _, n := range slices.Concat(ofFaults, ofWarnings) {
		if e, ok := explain.Find(string(n)); !ok || e.Name != string(n) || len(e.Messages) == 0 {
			t.Errorf("%s: %t, with the messages %q", n, ok, e.Messages)
		}
	}
	for _, n := range []name{fileUnreadable, settingInvalid, settingRemark} {
		if e, ok := explain.Find(string(n)); !ok || e.Name != string(n) {
			t.Errorf("%s has no entry", n)
		}
	}
}

// TestNameOfFault: a fault has the name of its kind. What it quotes of the user's is not taken
// for an error of something else.
func TestNameOfFault(t *testing.T) {
	for text, want := range map[string]name{
		`unknown key: did you mean "display"?`: "unknown-key", "not valid YAML: did not find expected node content": "not-yaml",
		"appears twice, first in line 1": "setting-twice", "http://localhost:8383 is the gateway's own address": "own-address",
		`unknown dialect "nope"`: "unknown-dialect", "this file may not hold secrets: use key-file or key-env": "secret-in-file",
		`"upstream: another writer has the record open": want one of field, hide`: settingInvalid,
	} {
		if got := nameOfFault(&settings.Fault{Err: errors.New(text)}); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, err := range []error{fs.ErrNotExist, fs.ErrPermission} {
		if got := nameOfFault(&settings.Fault{Err: fmt.Errorf("read x: %w", err)}); got != fileUnreadable {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// TestWarningsHaveNames: each warning of the settings has a name of its own, except those here.
func TestWarningsHaveNames(t *testing.T) {
	remarks := map[string]bool{
		"exact: always lets parts of the upstream's frames pass that no guard has seen, and no guard can cut a part of a reply: the next release has no such setting": true,
	}
	files, _ := filepath.Glob("../../serve/settings/*.go")
	found := 0
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if fun, ok := call.Fun.(*ast.SelectorExpr); !ok || fun.Sel.Name != "warn" {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			if text == "%s" || text == "%v" { // made elsewhere
				return true
			}
			found++
			if (nameOfWarning(text) == settingRemark) != remarks[text] {
				t.Errorf("%s: the name of %q is %s", file, text, nameOfWarning(text))
			}
			return true
		})
	}
	if found < 10 {
		t.Errorf("only %d warnings", found)
	}
	for text, want := range map[string]name{
		"f.yaml:2:5: routes[0]: matches every model, so the routes after it are never used": "setting-unused",
		"guard.yaml:13:18: routes[2].guard-every: does nothing, because there is no guard":  "setting-unused",
		"x holds a secret and can be read by every user of this machine: chmod o-rwx it":    "file-open",
		"the certificate c.pem expires on 2026-12-01":                                       "expires-soon",
		settings.ShutText: "no-valid-token",
		"the token a has no scope operator: it can no longer pull or delete models": "scope-operator-missing",
	} {
		if got := nameOfWarning(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
