package settings

import (
	"testing"
)

func TestIsLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true, "LOCALHOST:1": true, "::1": true, "localhost": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "example.com:1": false, "10.0.0.1:1": false, "": false, "127.0.0.1.example.com:1": false,
	} {
		if got := IsLoopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
