package servecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/explain"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// A name is the stable name of what --check prints, which sotto explain says more about.
type name string

const (
	fileUnreadable name = "file-unreadable"
	settingInvalid name = "setting-invalid" // a fault without a name of its own
	settingRemark  name = "setting-remark"  // a warning without one
)

// ofFaults and ofWarnings are found by their messages, which are in package explain.
var (
	ofFaults   = []name{"json-too-deep", "not-yaml", "open-without-token", "own-address", "secret-in-file", "setting-twice", "unknown-dialect", "unknown-key"}
	ofWarnings = []name{"expires-soon", "file-open", "no-valid-token", "open-to-everybody", "scope-operator-missing", "sent-unencrypted", "setting-unused", "token-weak"}
)

// nameOfFault returns the name of a fault.
func nameOfFault(f *settings.Fault) name {
	if errors.Is(f.Err, fs.ErrNotExist) || errors.Is(f.Err, fs.ErrPermission) {
		return fileUnreadable
	}
	return byMessage(f.Err.Error(), ofFaults, settingInvalid)
}

// nameOfWarning returns the name of a warning.
func nameOfWarning(text string) name { return byMessage(text, ofWarnings, settingRemark) }

func byMessage(text string, among []name, otherwise name) name {
	if e, ok := explain.OfTextAmong(text, func(n string) bool { return slices.Contains(among, name(n)) }); ok {
		return name(e.Name)
	}
	return otherwise
}

// named writes the name of a diagnostic after its text.
func named(text string, n name) string { return fmt.Sprintf("%s [%s]", text, n) }
