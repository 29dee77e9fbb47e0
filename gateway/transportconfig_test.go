package gateway

import (
	"net/http"
	"reflect"
	"testing"
)

// TestTransportConfig: each field of a TransportConfig is one of Config with the same
// name and type, and arrives there.
func TestTransportConfig(t *testing.T) {
	var c TransportConfig
	given := reflect.ValueOf(&c).Elem()
	for i := range given.NumField() {
		f := given.Field(i)
		name := given.Type().Field(i).Name
		switch f.Kind() {
		case reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), nil))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("x")
		case reflect.Int64:
			f.SetInt(1)
		case reflect.Struct:
			set := false
			for j := range f.NumField() {
				if k := f.Field(j); !set && k.CanInt() {
					k.SetInt(1)
					set = true
				} else if !set && k.Kind() == reflect.String {
					k.SetString("x")
					set = true
				}
			}
			if !set {
				t.Fatalf("%s: the test cannot set it", name)
			}
		case reflect.Interface:
			switch name {
			case "Transport":
				c.Transport = roundTripperStub{}
			case "Recorder":
				c.Recorder = recorderStub{}
			case "Shared":
				c.Shared = sharedStub{}
			}
		}
		if f.IsZero() {
			t.Fatalf("%s: the test does not set it", name)
		}
	}
	all := reflect.ValueOf(c.config())
	for i := range given.NumField() {
		name := given.Type().Field(i).Name
		got := all.FieldByName(name)
		if !got.IsValid() || got.Type() != given.Field(i).Type() {
			t.Errorf("Config has no field %s of that type", name)
			continue
		}
		if same := got.Kind() == reflect.Func && got.Pointer() == given.Field(i).Pointer() || reflect.DeepEqual(got.Interface(), given.Field(i).Interface()); !same {
			t.Errorf("%s does not arrive", name)
		}
	}
}

type roundTripperStub struct{ http.RoundTripper }
type recorderStub struct{ Recorder }
type sharedStub struct{ Shared }
