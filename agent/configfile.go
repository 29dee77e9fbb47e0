package agent

import (
	"path/filepath"
	"reflect"
	"time"

	"github.com/sotto-llm/sotto/internal/yamlfile"
)

// ReadConfig reads an experiment's file: YAML with the keys of [Config]. All its
// faults are in one [*ConfigError].
func ReadConfig(name string) (*Config, error) {
	data, err := yamlfile.Load(name)
	if err != nil {
		return nil, err
	}
	return ParseConfig(name, data)
}

// ParseConfig reads the bytes of an experiment's file. Paths in the file are
// relative to the folder of its name.
func ParseConfig(name string, data []byte) (*Config, error) {
	c := &Config{document: yamlfile.Document{Name: name}, folder: filepath.Dir(name)}
	if n := c.document.Read(data); n != nil {
		c.document.Decode(n, "", c)
	}
	if c.V != 1 && len(c.document.Faults) == 0 {
		c.document.FaultAt("v", "want 1, the only version there is")
	}
	if len(c.document.Faults) > 0 {
		return nil, configError(c.document.Faults)
	}
	return c, nil
}

var durationType = reflect.TypeFor[time.Duration]()

// plainOf returns a struct of the file as keys and values, without the keys that
// are not set.
func plainOf(s any) map[string]any {
	v := reflect.ValueOf(s)
	out := map[string]any{}
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Tag.Get("yaml"), v.Field(i)
		if name == "" || f.IsZero() {
			continue
		}
		switch {
		case f.Kind() == reflect.Struct:
			out[name] = plainOf(f.Interface())
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			var list []any
			for j := range f.Len() {
				list = append(list, plainOf(f.Index(j).Interface()))
			}
			out[name] = list
		case f.Type() == durationType:
			out[name] = f.Interface().(time.Duration).String()
		default:
			out[name] = f.Interface()
		}
	}
	return out
}

// File is the name of the file.
func (c *Config) File() string { return c.document.Name }
