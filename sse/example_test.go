package sse_test

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sotto-llm/sotto/sse"
)

// A proxy reads into a buffer, takes the frames from its beginning, and edits
// one in place. Every other byte stays as it came.
func Example() {
	upstream := strings.NewReader(": hello\n\nid: 7\ndata: <think>a\n\ndata: [DONE]")
	var (
		s    sse.Scanner
		b    []byte
		read = make([]byte, 10)
	)
	forward := func(f sse.Frame) {
		if text := string(f.Data); f.At >= 0 && strings.HasPrefix(text, "<think>") {
			edited := strings.TrimPrefix(text, "<think>")
			fmt.Printf("%q\n", string(f.Raw[:f.At])+edited+string(f.Raw[f.At+len(text):]))
			return
		}
		fmt.Printf("%q\n", f.Raw)
	}
	for {
		n, err := upstream.Read(read)
		b = append(b, read[:n]...)
		for {
			f, ok := s.Next(b)
			if !ok {
				break
			}
			forward(f)
			b = b[len(f.Raw):]
		}
		if err == io.EOF {
			break
		}
	}
	f, ok := s.Last(b)
	if ok {
		forward(f)
	}
	// Output:
	// ": hello\n\n"
	// "id: 7\ndata: a\n\n"
	// "data: [DONE]"
}

func ExampleScanner_Next() {
	var s sse.Scanner
	f, ok := s.Next([]byte("event: delta\nda"))
	fmt.Println(ok)
	f, ok = s.Next([]byte("event: delta\ndata: {\ndata: }\n\n"))
	fmt.Println(ok)
	fmt.Printf("%s %q at %d of %d bytes\n", f.Type, f.Data, f.At, len(f.Raw))
	// Output:
	// false
	// true
	// delta "{\n}" at -1 of 30 bytes
}

func ExampleScanner_Last() {
	b := []byte("data: [DONE]\n")
	var s sse.Scanner
	f, ok := s.Next(b)
	fmt.Printf("%q %v\n", f.Data, ok)
	f, ok = s.Last(b)
	fmt.Printf("%q %v\n", f.Data, ok)
	// Output:
	// "" false
	// "[DONE]" true
}

func ExampleAppend() {
	b := sse.AppendComment(nil, "keep-alive")
	b = sse.Append(b, "", []byte(`{"text":"hi"}`))
	b = sse.Append(b, "note", []byte("two\nlines"))
	os.Stdout.Write(b)
	// Output:
	// : keep-alive
	//
	// data: {"text":"hi"}
	//
	// event: note
	// data: two
	// data: lines
}
