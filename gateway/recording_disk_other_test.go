//go:build !linux

package gateway_test

import "testing"

func smallDisk(t *testing.T) string {
	t.Skip("a small file system is mounted on Linux only")
	return ""
}
