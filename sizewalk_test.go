package sotto

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestSize: Size is what a walk over all that a splitter refers to finds, within a tenth,
// whatever it reads.
func TestSize(t *testing.T) {
	effort.OneGoroutine(t)
	random := rand.New(rand.NewPCG(1, 2))
	forms := []string{"<think>", "</think>", "<scratch_pad>", "</scratch_pad>", "<output>", "</output>", "<tool_call>", "</tool_call>",
		"<narrate>", "</narrate>", "`", "``", "\n```\n", "\n", "\n\n", " ", "word ", "<th", "<think a=\"", "<", strings.Repeat("text ", 50), strings.Repeat("`", 40)}
	for range 300 {
		s, err := Default().NewSplitter(Options{Start: []Beginning{"", BeginAuto, BeginOutside}[random.IntN(3)], MaxHold: -random.IntN(2)})
		if err != nil {
			t.Fatal(err)
		}
		var fed strings.Builder
		for range random.IntN(60) {
			delta := forms[random.IntN(len(forms))]
			fed.WriteString(delta)
			s.FeedString(delta)
			size, walked := s.Size(), walk(s)
			if size < walked*9/10 || size > walked*11/10 {
				t.Fatalf("%q: Size is %d, and a walk finds %d", fed.String(), size, walked)
			}
		}
	}
}

// walk returns how many bytes a splitter takes with all that it alone refers to.
func walk(s *Splitter) int {
	seen := map[uintptr]bool{}
	var under func(v reflect.Value) int
	under = func(v reflect.Value) (n int) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				switch name := v.Type().Field(i).Name; {
				case name == "g", name == "t", name == "callable", name == "kinds": // shared with other splitters
				case name == "full", name == "data", name == "one", name == "Bytes", name == "Visible": // parts of the delta or of buf
				case name == "ts", name == "blank" && v.Field(i).Kind() == reflect.Pointer: // inside the splitter
				default:
					n += under(v.Field(i))
				}
			}
		case reflect.Array:
			for i := range v.Len() {
				n += under(v.Index(i))
			}
		case reflect.Pointer:
			if !v.IsNil() && !seen[v.Pointer()] {
				seen[v.Pointer()] = true
				n += int(v.Elem().Type().Size()) + under(v.Elem())
			}
		case reflect.Slice:
			if v.Cap() > 0 && !seen[v.Pointer()] {
				seen[v.Pointer()] = true
				n += v.Cap() * int(v.Type().Elem().Size())
				for i := range v.Len() {
					n += under(v.Index(i))
				}
			}
		case reflect.Map:
			if !v.IsNil() && !seen[v.Pointer()] {
				seen[v.Pointer()] = true
				n += mapSize + v.Len()*2*int(v.Type().Key().Size()+v.Type().Elem().Size())
			}
		}
		return n
	}
	return int(reflect.TypeOf(*s).Size()) + under(reflect.ValueOf(s).Elem())
}
