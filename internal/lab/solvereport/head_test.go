package solvereport

import (
	"reflect"
	"strings"
	"testing"
)

// Every setting that decides results is compared, and named as its flag is. The
// rest may change.
func TestChangesNameEverySetting(t *testing.T) {
	was := Head{Run: "a", Task: "game24", Settings: &Settings{}}
	if list := was.Changes(&Head{Run: "b", Task: "game24", Sotto: "v2", Settings: &Settings{Count: 7}, Place: &Place{URL: "u"}, Bounds: &Bounds{Limit: 9}}); len(list) > 0 {
		t.Errorf("changed: %v", list)
	}
	fields := reflect.TypeFor[Settings]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if name == "count" { // the digest of the problems says it
			continue
		}
		now := Head{Task: "game24", Settings: &Settings{}}
		v := reflect.ValueOf(now.Settings).Elem().Field(i)
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Int:
			v.SetInt(3)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(0.5)
		case reflect.Pointer: // a seed of 0 is not the same as none
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{"x"}))
		default:
			t.Fatalf("%s is of kind %v", name, v.Kind())
		}
		if list := was.Changes(&now); len(list) != 1 || list[0].Name != name || list[0].Was != "not set" || list[0].Is == "not set" {
			t.Errorf("%s: %v", name, list)
		}
	}
}
