package runcmd

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/cli/consolecmd"
)

// The inbox of a run has a port of its own: the gateway, its scripted upstream and the
// console may run beside it with their defaults.
func TestInboxHasItsOwnPort(t *testing.T) {
	settings, err := os.ReadFile("../../../api/promises/settings.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(settings), "127.0.0.1:8383") || !strings.Contains(string(settings), "127.0.0.1:8385") {
		t.Fatal("the settings have other defaults: the test sees too little")
	}
	field, _ := reflect.TypeFor[consolecmd.Command]().FieldByName("Listen")
	for _, taken := range []string{string(settings), field.Tag.Get("default")} {
		if taken == "" || strings.Contains(taken, defaultInbox) {
			t.Errorf("%s is the default of another server", defaultInbox)
		}
	}
}
