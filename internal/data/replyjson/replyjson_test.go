package replyjson_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
)

// TestAppendTakesRoomOnce: the object of a long reply is not copied while it grows, so that it
// takes no more memory than the reply. The id is inserted into it at the end.
func TestAppendTakesRoomOnce(t *testing.T) {
	text := "<think>" + strings.Repeat("A thought. ", 1<<16) + "</think>" + strings.Repeat("An answer. ", 1<<16)
	reply := sotto.Parse(text, sotto.EndStopped)
	object := replyjson.Append(nil, []byte(`"a"`), reply)
	if want := `{"v":1,"id":"a","visible":"An answer. `; !strings.HasPrefix(string(object), want) {
		t.Errorf("the object begins with %.60s, want %s", object, want)
	}
	if most := len(text) + 16<<10; cap(object) > most {
		t.Errorf("the object of a reply of %d bytes has room for %d, want at most %d", len(text), cap(object), most)
	}
}
