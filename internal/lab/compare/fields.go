package compare

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonpath"
)

// NewFields returns fields whose paths are checked.
func NewFields(f Fields) (*Fields, error) {
	for _, path := range []*string{&f.Arm, &f.Task, &f.Problem, &f.Cluster} {
		if err := checkPath(path); err != nil {
			return nil, err
		}
	}
	verdicts := make([]string, len(f.Verdicts))
	for i, field := range f.Verdicts {
		name, path, has := strings.Cut(field, "=")
		if !has {
			name, path = "", field
		}
		if !has && len(f.Verdicts) > 1 {
			name, has = field, true
		}
		if err := checkPath(&path); err != nil {
			return nil, err
		}
		if has {
			path = name + "=" + path
		}
		verdicts[i] = path
	}
	f.Verdicts = verdicts
	return &f, nil
}

// checkPath makes a path one whose names mean nothing but themselves.
func checkPath(path *string) error {
	if *path == "" {
		return nil
	}
	steps, err := jsonpath.Parse(*path)
	if err != nil {
		return err
	}
	if jsonpath.Many(steps) {
		return fmt.Errorf("field %q: want the path of one field", *path)
	}
	names := make([]string, len(steps))
	for i, step := range steps {
		names[i] = gjson.Escape(step.Name)
	}
	*path = strings.Join(names, ".")
	return nil
}
