package ndjson_test

import (
	"fmt"

	"github.com/sotto-llm/sotto/ndjson"
)

func ExampleScanner() {
	var s ndjson.Scanner
	b := []byte("{\"a\": 1}\r\n\n{\"a\": 2}")
	for {
		line, ok := s.Next(b)
		if !ok {
			break
		}
		fmt.Printf("%q: %q at %d\n", line.Raw, line.Data, line.At)
		b = b[len(line.Raw):]
	}
	if line, ok := s.Last(b); ok {
		fmt.Printf("%q: %q at %d\n", line.Raw, line.Data, line.At)
	}
	// Output:
	// "{\"a\": 1}\r\n": "{\"a\": 1}" at 0
	// "\n": "" at -1
	// "{\"a\": 2}": "{\"a\": 2}" at 0
}
