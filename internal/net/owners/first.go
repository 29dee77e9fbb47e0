package owners

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// FirstFile is the name of the file in its first format, which was written whole each time. It
// is read if there is no other one.
const FirstFile = "owners.json"

// takeOver adds the owners that a file of the first format has.
func (s *Store) takeOver(name string) error {
	data, err := files.ReadRegular(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	var c struct {
		V      int                 `json:"v"`
		Owners map[string][]string `json:"owners"`
	}
	if err := (foreignjson.Limits{Depth: 8, Members: mostKinds*Most + mostKinds + 16}).Check(data); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	if json.Unmarshal(data, &c) != nil {
		return fmt.Errorf("%s %w", name, errOdd)
	}
	if err := datafolder.CheckVersion(name, c.V, 1); err != nil {
		return err
	}
	if c.V != 1 || len(c.Owners) > mostKinds {
		return fmt.Errorf("%s %w", name, errOdd)
	}
	for kind, entries := range c.Owners {
		for _, e := range entries {
			id, caller, _ := strings.Cut(e, " ")
			raw, err := base64.RawURLEncoding.DecodeString(id)
			if err != nil || len(raw) != len(digest{}) || !isName(kind) || !isName(caller) {
				return fmt.Errorf("%s %w", name, errOdd)
			}
			s.put(kind, digest(raw), caller)
		}
	}
	return nil
}
